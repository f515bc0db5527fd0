"""Lists sessions, and says which of them go, or become smaller. On the engine's event loop alone.

How they do, `removals` and `trims` know.
"""

from __future__ import annotations

__all__ = ("Keeper",)

import logging
import math
import time
from typing import TYPE_CHECKING

import anyio

from compass_agent.errors.codes import ErrorCode, OperationError
from compass_agent.errors.worded import words_of
from compass_agent.frames import check_session_id
from compass_agent.log.jetstream.faults import BusyError, DamagedError
from compass_agent.log.jetstream.losses import half_removed, unreadable
from compass_agent.log.jetstream.removals import Remover
from compass_agent.log.jetstream.trims import Trimmer
from compass_agent.log.retention import (
    KeptSession,
    Pruned,
    Retention,
    expired,
    oldest_first,
    over_since,
)
from compass_agent.log.rules import bytes_of, summarise
from compass_agent.log.schedule import Due, Schedule

if TYPE_CHECKING:
    from collections.abc import Callable

    from compass_agent.log.jetstream.cache import Snapshot
    from compass_agent.log.jetstream.heads import SessionState
    from compass_agent.log.jetstream.store import Store
    from compass_agent.log.jetstream.writer import Writer
    from compass_agent.log.read import SessionSummary
    from compass_agent.wire import Batch

_AT_ONCE, _AT_ONCE_BESIDE = 8, 2
_TOGETHER = 128
_REST = 20
"""Looking after all sessions is followed by so many times as long without: it slows writers."""

_logger = logging.getLogger("compass_agent.log")


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
        self._trimmer = Trimmer(store)
        self._remover = Remover(store, writer)
        writer.make_room, writer.settle = self._trimmer.make_room, self._trimmer.settle
        writer.owed = self._trimmer.owed

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
                await self._trimmer.trim(
                    session, self._retention, self._store.now_ms(), dry_run=False
                )
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
        states, gone, damaged = await self._all(damaged=True)
        found = [
            summarise(session, state.epochs[-1].head, state.frames, now_ms)
            for session, state in states.items()
        ]
        found += [unreadable(session) for session in damaged]
        found += [half_removed(session, now_ms) for session, stays in gone.items() if not stays]
        return sorted(found, key=lambda summary: (-summary.updated_ms, summary.session))

    async def delete(self, session: str) -> None:
        """As in `ReadLog`."""
        if not await self._remover.remove(session):
            raise OperationError(ErrorCode.NOT_FOUND)

    async def prune(self, retention: Retention | None, *, dry_run: bool = False) -> Pruned:
        """As in `KeepLog`."""
        return await self._prune(retention or self._retention, dry_run=dry_run, at_once=_AT_ONCE)

    async def _prune(self, keep: Retention, *, dry_run: bool, at_once: int) -> Pruned:
        now_ms = self._store.now_ms()
        states, gone, _ = await self._all(at_once)
        busy: list[str] = []
        before = size = await self._store.engine.bytes()
        begun = [] if dry_run else await self._finish(sorted(gone))
        if begun:
            size = await self._store.engine.bytes()
        removed, after = await self._remove_old(states, keep, size, busy, dry_run=dry_run)
        removed = [*begun, *removed]
        trimmed: dict[str, int] = {}
        stay = sorted(states.keys() - {*removed, *busy})
        for session in stay if keep.trims else ():
            try:
                frames, size = await self._trimmer.trim(session, keep, now_ms, dry_run=dry_run)
            except DamagedError as error:
                self._store.tell(error)
                continue
            except BusyError:
                busy.append(session)
                continue
            after -= size
            if frames:
                trimmed[session] = frames
        if busy:
            why = f"nothing was removed of {', '.join(busy)}: others write to it all the time"
            if not removed and not trimmed:
                raise BusyError(why)
            _logger.warning("%s", why)
        if not dry_run:
            after = await self._store.engine.bytes()
        return Pruned(tuple(removed), trimmed, before, max(0, after))

    async def _finish(self, gone: list[str]) -> list[str]:
        """Finish removals that were cut off; return of which sessions."""
        finished: list[str] = []
        for session in gone:
            try:
                if await self._remover.finish(session):
                    finished.append(session)
            except DamagedError as error:
                self._store.tell(error)
        return finished

    async def _remove_old(
        self,
        states: dict[str, SessionState],
        keep: Retention,
        size: int,
        busy: list[str],
        *,
        dry_run: bool,
    ) -> tuple[list[str], int]:
        """Remove sessions that are not to be kept; return them, and how large the log is then.

        Those to which others write all the time stay, and go into `busy`.
        """
        now_ms = self._store.now_ms()
        kept = [
            KeptSession(session, _over_since(state, now_ms)) for session, state in states.items()
        ]
        late = {one.session for one in expired(kept, keep, now_ms)}
        removed: list[str] = []
        for one in oldest_first(kept):
            is_large = keep.total_bytes is not None and size > keep.total_bytes
            if one.session not in late and not is_large:
                continue
            if dry_run:
                size -= states[one.session].size
            elif await self._removed(one, busy):
                size = await self._store.engine.bytes()
            else:
                continue
            removed.append(one.session)
        return removed, size

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
    ) -> tuple[dict[str, SessionState], dict[str, bool], list[str]]:
        """Return all sessions as the engine has them now, and those that cannot be read.

        In between: those that are gone, though it is still written so, and whether that stays.

        Args:
            at_once: How many questions may be open at a time.
            damaged: Of sessions that cannot be read, look for all.
        """
        found: dict[str, Snapshot | None] = {}
        failed: list[OperationError] = []
        limit = anyio.Semaphore(at_once)

        async def some(sessions: list[str]) -> None:
            async with limit:
                if failed:
                    return
                try:
                    found.update(await self._store.newest(sessions))
                except OperationError as error:
                    failed.append(error)

        unique = await self._names(damaged=damaged)
        async with anyio.create_task_group() as tasks:
            for begin in range(0, len(unique), _TOGETHER):
                tasks.start_soon(some, unique[begin : begin + _TOGETHER])
        if failed:
            raise failed[0]
        states: dict[str, SessionState] = {}
        gone: dict[str, bool] = {}
        for session, known in found.items():
            if known is None:
                continue
            if known.state is None:
                gone[session] = known.harmed
            elif known.state.epochs:
                states[session] = known.state
        return states, gone, [session for session in sorted(found) if found[session] is None]

    async def _removed(self, over: KeptSession, busy: list[str]) -> bool:
        def is_over(state: SessionState) -> bool:
            return _over_since(state, self._store.now_ms()) == over.over_ms

        try:
            return await self._remover.remove(over.session, is_over)
        except DamagedError as error:
            self._store.tell(error)
        except BusyError:
            busy.append(over.session)
        return False


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
