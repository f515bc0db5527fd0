"""Moves a sink's batches to a log until the sink is drained. Sends again what was not answered."""

from __future__ import annotations

__all__ = ("Pump", "delay_before")

import logging
import random
from typing import TYPE_CHECKING

import anyio

from compass_agent.errors.codes import ErrorCode, OperationError
from compass_agent.errors.logged import cause_text
from compass_agent.publish.wake import waker_of
from compass_agent.wire import Answer

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from anyio.abc import TaskGroup

    from compass_agent.sink import FrameSink, Publisher
    from compass_agent.wire import Batch

_logger = logging.getLogger("compass_agent.publish")

_FIRST_DELAYS = (0.05, 0.2, 0.8)
_LONGEST_DELAY = 30.0


def delay_before(attempt: int) -> float:
    """Return the seconds to wait before attempt 2, 3, …: 0.05, 0.2, 0.8, then doubled, up to 30."""
    if attempt - 2 < len(_FIRST_DELAYS):
        return _FIRST_DELAYS[attempt - 2]
    return min(_LONGEST_DELAY, _FIRST_DELAYS[-1] * 2.0 ** min(attempt - 1 - len(_FIRST_DELAYS), 16))


class Pump:
    """Publishes the batches of one sink, one at a time.

    Use it as an async context manager; leaving the block drains the sink for up to five seconds.
    An exception of the block leaves it unchanged.

    Args:
        sink: Where the batches come from.
        publisher: What carries them.
    """

    def __init__(self, sink: FrameSink, publisher: Publisher) -> None:
        self._sink = sink
        self._publisher = publisher
        self._tasks: TaskGroup | None = None
        self._scope = anyio.CancelScope(shield=True)
        self._closing = anyio.Event()
        self._done = anyio.Event()
        self._woken = anyio.Event()
        self._complained = False

    async def __aenter__(self) -> Self:
        self._tasks = anyio.create_task_group()
        await self._tasks.__aenter__()
        self._tasks.start_soon(self._run)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            await self.aclose()
            if self._tasks is not None:
                # The block's own exception is not handed to the task group, which would wrap it.
                await self._tasks.__aexit__(None, None, None)
        finally:
            self._sink.give_up()

    async def aclose(self, timeout: float = 5.0) -> None:  # noqa: ASYNC109 - a limit, not a failure
        """Flush priority, then trace, then the end mark, and stop.

        Args:
            timeout: Seconds; it returns within them even when the far side hangs. Trace frames that
                wait by then are lost and counted. Cancellation does not shorten it.
        """
        with anyio.move_on_after(timeout, shield=True):
            self._closing.set()
            self._woken.set()
            await self._done.wait()
        self._scope.cancel()
        self._sink.lose_trace()

    async def _run(self) -> None:
        try:
            # Cancelling the host must not keep what it did from the log: only `aclose` stops this.
            with self._scope:
                await self._publish_all()
        except Exception as error:  # noqa: BLE001 - it must not take the host's task down with it
            # As text: a logging handler prints all of an exception, secrets too.
            session, cause = self._sink.session_id, cause_text(error)
            _logger.error("the pump of session %s stopped:\n%s", session, cause)  # noqa: TRY400 - as above
        finally:
            self._done.set()

    async def _publish_all(self) -> None:
        while True:
            batch = self._sink.take()
            if batch is not None:
                self._sink.settle(batch, await self._send(batch))
            elif self._closing.is_set():
                return
            else:
                await self._wait_for_work()

    async def _wait_for_work(self) -> None:
        self._woken = anyio.Event()
        if self._sink.park(waker_of(self._woken)):
            await self._woken.wait()

    async def _send(self, batch: Batch) -> Answer:
        attempt = 1
        while True:
            try:
                answer = await self._publisher.publish(batch)
            except OperationError as error:
                if error.code is ErrorCode.UNSUPPORTED_INPUT:
                    return Answer(batch.number, last_priority=0, through=0, code=error.code)
                self._complain(error)
                wait = error.retry_after_s
            except Exception as error:  # noqa: BLE001 - unknown outcome: the same bytes go again
                self._complain(error)
                wait = None
            else:
                self._complained = False
                return answer
            attempt += 1
            self._sink.note_retry()
            await self._back_off(attempt, wait)

    def _complain(self, error: Exception) -> None:
        """Log the first failure of a series; the text of a cause stays out of the session."""
        if not self._complained:
            # A host's own publisher may put anything into its exceptions.
            from compass_agent.errors.redaction import redact  # noqa: PLC0415 - with the first failure
            from compass_agent.errors.worded import words_of  # noqa: PLC0415 - likewise

            if isinstance(error, OperationError):
                shown = words_of(error)
            else:
                shown = redact(f"{type(error).__name__}: {error}")
            _logger.warning("frames could not be published, trying again: %s", shown)
        self._complained = True

    async def _back_off(self, attempt: int, at_least: float | None) -> None:
        delay = max(delay_before(attempt), min(at_least or 0.0, _LONGEST_DELAY))
        delay *= 1.0 + random.random() / 4  # noqa: S311 - jitter is no secret
        if self._closing.is_set():
            await anyio.sleep(min(delay, _FIRST_DELAYS[0]))
            return
        with anyio.move_on_after(delay):
            await self._closing.wait()
