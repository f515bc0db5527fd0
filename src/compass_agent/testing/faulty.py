"""A transport that misbehaves as it is told to, so that a sender's patience can be tested."""

from __future__ import annotations

__all__ = ("Fault", "FaultyTransport")

from enum import Enum
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import anyio

from compass_agent.errors.codes import ErrorCode, OperationError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from compass_agent.sink import Publisher
    from compass_agent.wire import Answer, Batch, SessionMeta


class Fault(Enum):
    """What becomes of one try to publish a batch."""

    NONE = "it passes, and its answer comes back"
    FAIL = "nothing is stored, and the sender is told: unavailable"
    REFUSE = "nothing is stored, and the sender is told: refused for good"
    STALL = "it hangs until `release()`, then passes"
    DONE_UNKNOWN = "it is stored, but the sender gets a broken connection instead of the answer"
    NOT_DONE_UNKNOWN = "nothing is stored, and the sender gets a broken connection"
    TWICE = "it is delivered twice; the sender gets the second answer"
    LATE = "the sender gets a broken connection; it is delivered once a later batch has passed"


@runtime_checkable
class _Opens(Protocol):
    """What a transport has beside `publish`, when it is one of ours."""

    async def open(
        self, session: str, epoch: str, meta: SessionMeta | None = None, *, recovered: bool = False
    ) -> None: ...

    async def renew(self, epochs: Iterable[tuple[str, str]], seconds: float = 10.0) -> None: ...


class FaultyTransport:
    """Hands batches on to `transport`, with the faults of `plan`, one for each try, in order.

    Once the plan is used up everything passes. The same plan gives the same faults: there is
    neither chance nor time in it. `open` and `renew` are handed on as they are, when the transport
    has them.

    Args:
        transport: What carries batches: a transport, or a publisher of your own.
        plan: The faults; may be endless, as `itertools.cycle` is.

    Attributes:
        tries: Every batch that was to be published, in order, repeats too.
        delivered: Every batch that was handed on, in order, repeats too.
        stalled: Set while a try hangs.
    """

    def __init__(self, transport: Publisher, plan: Iterable[Fault] = ()) -> None:
        self._transport = transport
        self._plan = iter(plan)
        self._held_back: list[Batch] = []
        self._go_on = anyio.Event()
        self.stalled = anyio.Event()
        self.tries: list[Batch] = []
        self.delivered: list[Batch] = []

    def release(self) -> None:
        """Let the try that hangs pass; the next one that stalls hangs anew."""
        self._go_on.set()
        self._go_on = anyio.Event()
        self.stalled = anyio.Event()

    async def open(
        self, session: str, epoch: str, meta: SessionMeta | None = None, *, recovered: bool = False
    ) -> None:
        """As the transport's own."""
        if isinstance(self._transport, _Opens):
            await self._transport.open(session, epoch, meta, recovered=recovered)

    async def renew(self, epochs: Iterable[tuple[str, str]], seconds: float = 10.0) -> None:
        """As the transport's own."""
        if isinstance(self._transport, _Opens):
            await self._transport.renew(epochs, seconds)

    async def publish(self, batch: Batch) -> Answer:
        """Publish, with the next fault of the plan.

        Raises:
            OperationError: `unavailable` (FAIL), `unsupported_input` (REFUSE), and what the
                transport raises.
            ConnectionResetError: DONE_UNKNOWN, NOT_DONE_UNKNOWN and LATE.
        """
        self.tries.append(batch)
        fault = next(self._plan, Fault.NONE)
        match fault:
            case Fault.FAIL:
                raise OperationError(ErrorCode.UNAVAILABLE)
            case Fault.REFUSE:
                raise OperationError(ErrorCode.UNSUPPORTED_INPUT)
            case Fault.STALL:
                go_on = self._go_on
                self.stalled.set()
                await go_on.wait()
            case Fault.DONE_UNKNOWN:
                await self._deliver(batch)
            case Fault.TWICE:
                await self._deliver(batch)
            case Fault.LATE:
                self._held_back.append(batch)
            case _:
                pass
        if fault in (Fault.DONE_UNKNOWN, Fault.NOT_DONE_UNKNOWN, Fault.LATE):
            raise ConnectionResetError(f"as planned: {fault.value}")
        answer = await self._deliver(batch)
        await self._deliver_held_back(batch)
        return answer

    async def _deliver(self, batch: Batch) -> Answer:
        self.delivered.append(batch)
        return await self._transport.publish(batch)

    async def _deliver_held_back(self, passed: Batch) -> None:
        """Deliver what was held back before a batch that has passed; nobody waits for an answer."""
        due = [batch for batch in self._held_back if batch.number < passed.number]
        self._held_back = [batch for batch in self._held_back if batch not in due]
        for batch in due:
            await self._deliver(batch)
