"""Readers that count: every place of an epoch is read once, as a frame or within a gap."""

from __future__ import annotations

__all__ = ("HubReader", "Tally", "faults")

from contextlib import suppress
from itertools import cycle
from typing import TYPE_CHECKING, Any

import anyio
from grpc import StatusCode, aio

from compass.v1.compass_pb2 import AgentSessionFrame, SubscribeAgentSessionRequest
from compass_agent.wire import FrameItem, Gap, decode_frame
from compass_agent.wire.relay import SUBSCRIBE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from compass_agent.wire import Item

_OPTIONS = (
    ("grpc.initial_reconnect_backoff_ms", 50),
    ("grpc.min_reconnect_backoff_ms", 50),
    ("grpc.max_reconnect_backoff_ms", 200),
    ("grpc.use_local_subchannel_pool", 1),
)
# A call that comes at the moment in which a hub's server closes is cancelled by gRPC itself.
_COMES_BACK = {StatusCode.UNAVAILABLE, StatusCode.NOT_FOUND, StatusCode.CANCELLED}
_BETWEEN_HUBS_S = 0.05


class Tally:
    """What one reader was told of a session.

    Attributes:
        received: How many frames it got, an epoch.
        missing: How many places lay within gaps, an epoch.
        last: The last place of each epoch.
        injected: The ids of the injections, in order.
        ended: The place of the end; None: it was not told.
    """

    def __init__(self) -> None:
        self.received: dict[str, int] = {}
        self.missing: dict[str, int] = {}
        self.last: dict[str, int] = {}
        self.injected: list[str] = []
        self.ended: int | None = None
        self.epoch = ""

    def note(self, message: AgentSessionFrame) -> None:
        """Count one message, and those that ride on it; each has to be at its place."""
        self._note_one(message)
        for more in message.more:
            self._note_one(more)

    def _note_one(self, frame: AgentSessionFrame) -> None:
        assert not frame.late
        epoch = frame.epoch
        last = self.last.setdefault(epoch, 0)
        if frame.HasField("gap"):
            gap = frame.gap
            assert gap.first_seq == last + 1, f"a gap at {gap.first_seq} behind {last}"
            assert gap.count == gap.last_seq - gap.first_seq + 1
            self.missing[epoch] = self.missing.get(epoch, 0) + gap.count
            last = gap.last_seq
        if frame.HasField("event") or (frame.state and frame.seq):
            assert frame.seq == last + 1, f"{frame.seq} behind {last}"
            self.received[epoch] = self.received.get(epoch, 0) + 1
            last = frame.seq
        if frame.event.HasField("session_injection"):
            self.injected.append(frame.event.session_injection.message_id)
        if frame.HasField("end"):
            self.ended = frame.end.last_seq
        self.epoch, self.last[epoch] = epoch, last

    def check(self) -> None:
        """Check that frames and gaps are all that there is, in every epoch."""
        for epoch, last in self.last.items():
            assert self.received.get(epoch, 0) + self.missing.get(epoch, 0) == last


class HubReader:
    """Reads a session from a hub that comes and goes, always on after its cursor.

    Args:
        target: The hub, as gRPC names it.
        session: The session; it need not be there yet.
        max_batch: As in the request.
        others: More hubs of the same log: a call that breaks is followed by one at the next.
        progress: Called after each message.

    Attributes:
        tally: What it was told.
        calls: How many calls it made.
        moves: How often it went from one hub to another in the middle of the session.
        at: The hub that it reads at now.
    """

    def __init__(
        self,
        target: str,
        session: str,
        *,
        max_batch: int = 0,
        others: Sequence[str] = (),
        progress: Callable[[], None],
    ) -> None:
        self.tally = Tally()
        self.calls = self.moves = 0
        self.at = target
        self._targets = (target, *others)
        self._progress = progress
        self._request: dict[str, Any] = {"session_id": session, "max_batch": max_batch}

    async def read(self, *, leave_after: int) -> None:
        """Read to the end of the session, with a new call after so many messages, or a break."""
        for target in cycle(self._targets):
            self.at = target
            async with aio.insecure_channel(target, options=_OPTIONS) as channel:
                ask: aio.UnaryStreamMultiCallable[bytes, bytes] = channel.unary_stream(
                    "/{}/{}".format(*SUBSCRIBE)
                )
                while await self._read_some(ask, leave_after):
                    if self.tally.ended is not None:
                        return
            self.moves += bool(self.tally.epoch)
            with anyio.move_on_after(_BETWEEN_HUBS_S):
                await anyio.Event().wait()

    async def _read_some(self, ask: aio.UnaryStreamMultiCallable[bytes, bytes], most: int) -> bool:
        """Make one call; tell whether to make the next one at the same hub."""
        if epoch := self.tally.epoch:
            self._request.update(after_epoch=epoch, after_seq=self.tally.last[epoch])
        message = SubscribeAgentSessionRequest(**self._request).SerializeToString()
        alone = len(self._targets) == 1
        call = ask(message, wait_for_ready=alone)
        self.calls += 1
        try:
            for _ in range(most):
                data: Any = await call.read()
                if not isinstance(data, bytes):
                    break
                self.tally.note(AgentSessionFrame.FromString(data))
                self._progress()
        except aio.AioRpcError as error:
            if error.code() not in _COMES_BACK:
                raise
            return alone
        finally:
            with suppress(aio.UsageError):
                call.cancel()
        return True


def faults(told: int, tally: Tally, stored: Sequence[Item]) -> list[str]:
    """What is wrong with a session of one epoch; nothing is, if the list is empty.

    Args:
        told: How many injections its agent told: those with the ids "0", "1", …
        tally: What its reader got.
        stored: What can be read of it afterwards.
    """
    wanted = [str(number) for number in range(told)]
    frames = [item for item in stored if isinstance(item, FrameItem)]
    events = [decode_frame(frame.data).typed_event for frame in frames]
    kept = [one.session_injection.message_id for one in events if one.HasField("session_injection")]
    places = [frame.seq for frame in frames]
    lost = sum(item.count for item in stored if isinstance(item, Gap))
    (received,) = tally.received.values() or (0,)
    missing = sum(tally.missing.values())
    found = {
        "its agent told nothing": not told,
        "its reader was not told the end": tally.ended is None,
        "its reader lacks injections, or has some twice": tally.injected != wanted,
        "injections are not stored, or twice": kept != wanted,
        "what its reader got and its gaps are not all": received + missing != tally.ended,
        "what is stored and its gaps are not all": len(frames) + lost != tally.ended,
        "what is stored is not in order": places != sorted(set(places)),
    }
    return [fault for fault, is_so in found.items() if is_so]
