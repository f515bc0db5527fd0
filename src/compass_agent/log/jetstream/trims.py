"""Removes trace of sessions that stay. On the engine's event loop alone.

First it is written down that it goes, fenced as every write, and then the engine is asked to purge
it. So whoever reads is told a reason. What goes is looked for once: while others write, only the
writing down is tried again, since what they write lies behind what goes.
"""

from __future__ import annotations

__all__ = ("Trimmer",)

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from compass_agent.log.jetstream.faults import ConflictError, FullError
from compass_agent.log.jetstream.pages import trace_sizes
from compass_agent.log.jetstream.records import BLOCK
from compass_agent.log.jetstream.turns import Turns
from compass_agent.log.retention import Retention, how_many

if TYPE_CHECKING:
    from compass_agent.log.jetstream.cache import CachedSession
    from compass_agent.log.jetstream.heads import KeptEpoch, SessionState
    from compass_agent.log.jetstream.store import Store

    _Trace: TypeAlias = tuple[KeptEpoch, list[tuple[int, int, int]]]
    """An epoch, and of each frame of its trace the place, the bytes and the time, in order."""

_LEAST_ROOM = 64 * 1024


@dataclass(frozen=True, slots=True)
class _Cut:
    """Trace of one epoch that goes: up to which place, how many frames, how many bytes."""

    kept: KeptEpoch
    last: int
    frames: int
    size: int


class Trimmer:
    """Removes the oldest trace.

    Args:
        store: The sessions.

    Attributes:
        owed: Of which sessions something had to go first, and is not written down yet.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self.owed: dict[str, list[_Cut]] = {}

    async def trim(
        self, session: str, retention: Retention, now_ms: int, *, dry_run: bool
    ) -> tuple[int, int]:
        """Remove trace that is not to be kept, oldest first; return how many frames and bytes.

        Raises:
            BusyError: Others write to the session all the time.
            OperationError: As `Engine.publish`.
        """
        cached = self._store.session(session)
        turns = Turns()
        async with cached.lock:
            if not dry_run:
                await self.settle(cached)
            while True:
                known = await self._store.look_up(cached)
                state = known.state
                traces = [] if state is None else await self._traces(cached, state)
                cuts = _cuts(traces, retention, now_ms)
                if not cuts or dry_run:
                    break
                places = [await self._first_kept(cached, cut, known.pos) for cut in cuts]
                if await self._write_down(cached, cuts):
                    await self._purge(places)
                    break
                await turns.lost()
        return sum(cut.frames for cut in cuts), sum(cut.size for cut in cuts)

    async def make_room(self, cached: CachedSession, size: int) -> bool:
        """Remove the oldest trace of a session that is as large; False: it has none.

        The engine is full. The session's lock is held.

        Raises:
            BusyError: Others write to the session all the time.
            OperationError: As `Engine.publish`.
        """
        await self.settle(cached)
        known = cached.known
        state = known.state if known else None
        if known is None or state is None:
            return False
        traces = await self._traces(cached, state)
        there = sum(weight for _, trace in traces for _, weight, _ in trace)
        less = Retention(trace_bytes=max(0, there - max(size, _LEAST_ROOM)))
        cuts = _cuts(traces, less, self._store.now_ms())
        if not cuts:
            return False
        places = [await self._first_kept(cached, cut, known.pos) for cut in cuts]
        try:
            if await self._write_down(cached, cuts):
                await self._purge(places)
        except FullError:
            # There is not even room to write it down.
            self.owed[cached.session] = cuts
            await self._purge(places)
            cached.drop_frames()
            await self.settle(cached)
        return True

    async def settle(self, cached: CachedSession) -> None:
        """Write down what went already, where that could not be done; the lock is held.

        Raises:
            OperationError: As `Engine.publish`.
        """
        cuts = self.owed.get(cached.session)
        if cuts is not None:
            await self._write_down(cached, cuts)
            self.owed.pop(cached.session, None)

    async def _traces(self, cached: CachedSession, state: SessionState) -> list[_Trace]:
        return [(kept, await trace_sizes(self._store, cached, kept.head)) for kept in state.epochs]

    async def _write_down(self, cached: CachedSession, cuts: list[_Cut]) -> bool:
        """Write down what goes, whoever else writes; False: the cuts do not fit any more."""
        turns = Turns()
        while True:
            known = cached.known or await self._store.look_up(cached)
            after = None if known.state is None else _without(known.state, cuts)
            if after is None:
                return False
            try:
                await self._store.put_sheet(cached, after)
            except ConflictError:
                await turns.lost()
            else:
                return True

    async def _purge(self, places: list[dict[str, int]]) -> None:
        for below in places:
            for subject, place in below.items():
                await self._store.engine.purge(subject, place)

    async def _first_kept(self, cached: CachedSession, cut: _Cut, pos: int) -> dict[str, int]:
        """Return the subjects of the trace that goes, and below which place it does.

        The last message of the session, at `pos`, stays in any case: what is known stands in it.
        """
        epoch = cut.kept.head.epoch
        found: dict[str, int] = {}
        for block in sorted((await self._store.blocks.names(cached)).get(epoch, ())):
            if block * BLOCK > cut.last:
                break
            records, _ = await self._store.blocks.block(cached, epoch, block, pos)
            trace = [record for record in records if not record.priority]
            if trace:
                subject = self._store.subjects.record(
                    cached.session, epoch, priority=False, block=block
                )
                stays = [record.pos for record in trace if record.last > cut.last]
                found[subject] = min([*stays, pos])
        return found


def _cuts(traces: list[_Trace], retention: Retention, now_ms: int) -> list[_Cut]:
    """Return what is not to be kept, oldest first."""
    frames = sum(len(trace) for _, trace in traces)
    size = sum(weight for _, trace in traces for _, weight, _ in trace)
    old_ms = retention.too_old_ms(now_ms)
    gone = gone_bytes = 0
    cuts: list[_Cut] = []
    for kept, trace in traces:
        old = max((seq for seq, _, at_ms in trace if at_ms <= old_ms), default=0)
        amounts = (frames - gone, size - gone_bytes)
        weights = [(seq, weight) for seq, weight, _ in trace]
        count, weight = how_many(weights, retention, amounts, old)
        if count:
            cuts.append(_Cut(kept, trace[count - 1][0], count, weight))
        gone, gone_bytes = gone + count, gone_bytes + weight
    return cuts


def _without(state: SessionState, cuts: list[_Cut]) -> SessionState | None:
    """Return the session without what goes; None: somebody else removed trace of it."""
    after = state
    for cut in cuts:
        kept = state.find(cut.kept.head.epoch)
        if kept is None or kept.head.trimmed != cut.kept.head.trimmed:
            return None
        head = replace(kept.head, trimmed=cut.last, frames=kept.head.frames - cut.frames)
        after = after.with_epoch(replace(kept, head=head))
    size = max(0, state.size - sum(cut.size for cut in cuts))
    return replace(after, size=size, loose=None)
