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
from typing import TYPE_CHECKING

import anyio

from compass_agent.errors.codes import ErrorCode, OperationError
from compass_agent.errors.worded import words_of
from compass_agent.frames import check_session_id
from compass_agent.log.jetstream.faults import BusyError, ConflictError, DamagedError
from compass_agent.log.jetstream.heads import SessionState
from compass_agent.log.jetstream.losses import unreadable
from compass_agent.log.jetstream.records import encode_sheet
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
        busy: list[str] = []
        before = await self._store.engine.bytes()
        removed, after = await self._remove_old(states, keep, before, busy, dry_run=dry_run)
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

    async def _removed(self, over: KeptSession, busy: list[str]) -> bool:
        try:
            return await self._remove(over.session, over.over_ms)
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
