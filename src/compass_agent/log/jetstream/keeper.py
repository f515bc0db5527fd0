"""Lists sessions, removes them, and keeps them small. On the engine's event loop alone.

Removing is two steps: first it is written down that something goes, fenced as every write, and then
the engine is asked to purge what stands before that. So nothing goes that was written meanwhile,
and whoever reads is told a reason.
"""

from __future__ import annotations

__all__ = ("Keeper",)

import logging
import math
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import anyio

from compass_agent.errors.codes import ErrorCode, OperationError
from compass_agent.errors.worded import words_of
from compass_agent.frames import check_session_id
from compass_agent.log.jetstream.faults import ConflictError, DamagedError
from compass_agent.log.jetstream.heads import SessionState
from compass_agent.log.jetstream.losses import unreadable
from compass_agent.log.jetstream.pages import trace_sizes
from compass_agent.log.jetstream.records import BLOCK, encode_sheet
from compass_agent.log.retention import (
    KeptSession,
    Pruned,
    Retention,
    expired,
    how_many,
    oldest_first,
    over_since,
)
from compass_agent.log.rules import bytes_of, summarise
from compass_agent.log.schedule import Due, Schedule

if TYPE_CHECKING:
    from collections.abc import Callable

    from compass_agent.log.jetstream.cache import CachedSession
    from compass_agent.log.jetstream.heads import KeptEpoch
    from compass_agent.log.jetstream.store import Store
    from compass_agent.log.jetstream.writer import Writer
    from compass_agent.log.read import SessionSummary
    from compass_agent.wire import Batch

_AT_ONCE, _AT_ONCE_BESIDE = 8, 2
_TOGETHER = 128
_REST = 20
"""Looking after all sessions is followed by so many times as long without: it slows writers."""

_LEAST_ROOM = 64 * 1024
_logger = logging.getLogger("compass_agent.log")


@dataclass(frozen=True, slots=True)
class _Cut:
    """Trace of one epoch that goes: up to which place, how many frames, how many bytes."""

    kept: KeptEpoch
    last: int
    frames: int
    size: int


class Keeper:
    """Looks after all sessions.

    Args:
        store: The sessions.
        writer: What changes them.
        retention: What is kept when nobody says otherwise.

    Attributes:
        clock: Gives seconds that only rise.
    """

    def __init__(self, store: Store, writer: Writer, retention: Retention) -> None:
        self.clock: Callable[[], float] = time.monotonic
        self._store = store
        self._writer = writer
        self._retention = retention
        self._schedule = Schedule(retention)
        self._at_it = False
        self._due = Due.NOTHING
        self._rests_until = -math.inf
        writer.make_room = self.make_room

    def appended(self, batch: Batch) -> bool:
        """Tell whether `tend` is due behind an append."""
        weighs = self._retention.trace_bytes is not None
        size = bytes_of(batch.trace) if weighs else 0
        now_ms = self._store.now_ms()
        due = self._schedule.appended(batch.session, len(batch.trace), size, now_ms)
        if not self._retention.removes or self.clock() < self._rests_until:
            due &= ~Due.TEND
        self._due |= due
        return bool(due)

    async def tend(self, session: str) -> None:
        """Do what is due. A failure is logged: it can wait."""
        if self._at_it:
            return
        self._at_it = True
        due, self._due = self._due, Due.NOTHING
        try:
            if Due.TEND in due:
                began = self.clock()
                try:
                    await self._prune(self._retention, dry_run=False, at_once=_AT_ONCE_BESIDE)
                finally:
                    spent = self.clock() - began
                    self._rests_until = began + spent + _REST * spent
            else:
                await self._trim(session, self._retention, self._store.now_ms(), dry_run=False)
        except OperationError as error:
            # A user that may not remove leaves it to those who may.
            if error.code is not ErrorCode.PERMISSION_DENIED and not self._store.engine.closed:
                why = words_of(error)
                _logger.warning("what is not to be kept could not be removed now: %s", why)
        finally:
            self._at_it = False

    async def sessions(self) -> list[SessionSummary]:
        """As in `ReadLog`."""
        now_ms = self._store.now_ms()
        states, damaged = await self._all(damaged=True)
        found = [
            summarise(session, state.epochs[-1].head, state.frames, now_ms)
            for session, state in states.items()
        ]
        found += [unreadable(session) for session in damaged]
        return sorted(found, key=lambda summary: (-summary.updated_ms, summary.session))

    async def delete(self, session: str) -> None:
        """As in `ReadLog`."""
        if not await self._remove(session, None):
            raise OperationError(ErrorCode.NOT_FOUND)

    async def prune(self, retention: Retention | None, *, dry_run: bool = False) -> Pruned:
        """As in `KeepLog`."""
        return await self._prune(retention or self._retention, dry_run=dry_run, at_once=_AT_ONCE)

    async def _prune(self, keep: Retention, *, dry_run: bool, at_once: int) -> Pruned:
        now_ms = self._store.now_ms()
        states, _ = await self._all(at_once)
        kept = [
            KeptSession(session, _over_since(state, now_ms)) for session, state in states.items()
        ]
        late = {one.session for one in expired(kept, keep, now_ms)}
        before = after = await self._store.engine.bytes()
        removed: list[str] = []
        for one in oldest_first(kept):
            is_large = keep.total_bytes is not None and after > keep.total_bytes
            if one.session not in late and not is_large:
                continue
            if dry_run:
                after -= states[one.session].size
            elif await self._removed(one):
                after = await self._store.engine.bytes()
            else:
                continue
            removed.append(one.session)
        trimmed: dict[str, int] = {}
        for session in sorted(states.keys() - {*removed}) if keep.trims else ():
            try:
                frames, size = await self._trim(session, keep, now_ms, dry_run=dry_run)
            except DamagedError as error:
                self._store.tell(error)
                continue
            after -= size
            if frames:
                trimmed[session] = frames
        if not dry_run:
            after = await self._store.engine.bytes()
        return Pruned(tuple(removed), trimmed, before, max(0, after))

    async def make_room(self, cached: CachedSession, size: int) -> bool:
        """Remove the oldest trace of a session that is as large; False: it has none.

        The engine is full. The session's lock is held.
        """
        state = cached.known.state if cached.known else None
        if state is None:
            return False
        amounts = [await trace_sizes(self._store, cached, kept.head) for kept in state.epochs]
        there = sum(weight for trace in amounts for _, weight, _ in trace)
        less = Retention(trace_bytes=max(0, there - max(size, _LEAST_ROOM)))
        cuts = await self._cuts(cached, state, less, self._store.now_ms())
        if not cuts:
            return False
        # First, since nothing can be written down before there is room for that.
        await self._purge([await self._first_kept(cached, cut) for cut in cuts])
        cached.drop_frames()
        await self._cut(cached, state, cuts)
        return True

    async def _names(self, *, damaged: bool) -> list[str]:
        """Return the sessions that have a sheet; and those that lost it, which takes longer."""
        engine, subjects = self._store.engine, self._store.subjects
        names: set[str] = set()
        start, more = 1, True
        while more:
            found, more = await engine.page(subjects.sheet("*"), start)
            names.update(subjects.session_of(one.subject) for one in found)
            start = found[-1].pos + 1 if found else start
        if damaged:
            names.update(map(subjects.session_of, await engine.subjects(subjects.session("*"))))
        return sorted(filter(_is_id, names))

    async def _all(
        self, at_once: int = _AT_ONCE, *, damaged: bool = False
    ) -> tuple[dict[str, SessionState], list[str]]:
        """Return all sessions as the engine has them now, and those that cannot be read.

        Args:
            at_once: How many questions may be open at a time.
            damaged: Of sessions that cannot be read, look for all.
        """
        states: dict[str, SessionState | None] = {}
        failed: list[OperationError] = []
        limit = anyio.Semaphore(at_once)

        async def some(sessions: list[str]) -> None:
            async with limit:
                if failed:
                    return
                try:
                    states.update(await self._store.newest(sessions))
                except OperationError as error:
                    failed.append(error)

        unique = await self._names(damaged=damaged)
        async with anyio.create_task_group() as tasks:
            for begin in range(0, len(unique), _TOGETHER):
                tasks.start_soon(some, unique[begin : begin + _TOGETHER])
        if failed:
            raise failed[0]
        known = {session: state for session, state in states.items() if state and state.epochs}
        return known, [session for session in sorted(states) if states[session] is None]

    async def _remove(self, session: str, over_ms: int | None) -> bool:
        """Remove a session, if it is over since then (None: whatever it does); tell whether."""

        def gone(state: SessionState) -> SessionState | None:
            now_ms = self._store.now_ms()
            if over_ms is not None and _over_since(state, now_ms) != over_ms:
                return None
            return SessionState(gone=True)

        try:
            if await self._writer.change(session, gone) is None:
                return False
        except DamagedError:
            if over_ms is not None:
                raise
            await self._remove_unread(session)
            return True
        cached = self._store.session(session)
        below = cached.known.pos + 1 if cached.known else 0
        engine, everything = self._store.engine, self._store.subjects.session(session)
        await engine.purge(everything, below)
        if await engine.counted(everything) and await engine.last(everything) is None:
            with suppress(ConflictError):  # Somebody has opened it anew.
                await self._remove_unread(session)
        return True

    async def _remove_unread(self, session: str) -> None:
        """Remove what cannot be read, since somebody wants it to go, whatever it is.

        That it is gone stays written: a message that the engine lost cannot be purged either. Nor
        can it be replaced, so the sheets of that session are taken for harmed from now on.
        """
        engine, subjects = self._store.engine, self._store.subjects
        everything = subjects.session(session)
        last = await engine.last(everything)
        prev = last.pos if last else 0
        sheet = encode_sheet(prev, self._store.now_ms(), SessionState(gone=True), harmed=True)
        pos = await engine.publish(subjects.sheet(session), sheet, (everything, prev), harmed=True)
        await engine.purge(everything, pos)
        self._store.session(session).forget()

    async def _removed(self, over: KeptSession) -> bool:
        try:
            return await self._remove(over.session, over.over_ms)
        except DamagedError as error:
            self._store.tell(error)
            return False

    async def _trim(
        self, session: str, retention: Retention, now_ms: int, *, dry_run: bool
    ) -> tuple[int, int]:
        """Remove trace that is not to be kept, oldest first; return how many frames and bytes."""
        cached = self._store.session(session)
        async with cached.lock:
            state = (await self._store.look_up(cached)).state
            if state is None:
                return 0, 0
            cuts = await self._cuts(cached, state, retention, now_ms)
            if cuts and not dry_run:
                await self._cut(cached, state, cuts)
        return sum(cut.frames for cut in cuts), sum(cut.size for cut in cuts)

    async def _cuts(
        self, cached: CachedSession, state: SessionState, retention: Retention, now_ms: int
    ) -> list[_Cut]:
        traces = [
            (kept, await trace_sizes(self._store, cached, kept.head)) for kept in state.epochs
        ]
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

    async def _cut(self, cached: CachedSession, state: SessionState, cuts: list[_Cut]) -> None:
        after = state
        for cut in cuts:
            head = cut.kept.head
            head = replace(head, trimmed=cut.last, frames=head.frames - cut.frames)
            after = after.with_epoch(replace(cut.kept, head=head))
        size = max(0, state.size - sum(cut.size for cut in cuts))
        firsts = [await self._first_kept(cached, cut) for cut in cuts]
        await self._store.put_sheet(cached, replace(after, size=size, loose=None))
        await self._purge(firsts)

    async def _purge(self, places: list[dict[str, int]]) -> None:
        for below in places:
            for subject, place in below.items():
                await self._store.engine.purge(subject, place)

    async def _first_kept(self, cached: CachedSession, cut: _Cut) -> dict[str, int]:
        """Return the subjects of the trace that goes, and below which place it does.

        The last message of the session stays in any case: what is known stands in it.
        """
        pos = cached.known.pos if cached.known else 0
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


def _over_since(state: SessionState, now_ms: int) -> int | None:
    stored_ms = max(kept.head.updated_ms for kept in state.epochs)
    return over_since(state.epochs[-1].head, stored_ms, now_ms)


def _is_id(text: str) -> bool:
    """Tell whether a session can have that name; what others put into the stream is no session."""
    try:
        check_session_id(text)
    except OperationError:
        return False
    return True
