"""A session log in the memory of this process: the reference that other backends are held to."""

from __future__ import annotations

__all__ = ("MemoryLog",)

import threading
from dataclasses import replace
from typing import TYPE_CHECKING

from anyio.lowlevel import checkpoint

from compass_agent.errors.codes import ErrorCode, OperationError
from compass_agent.frames import check_session_id
from compass_agent.log.memory_epoch import MemoryEpoch, MemorySession
from compass_agent.log.reading import View
from compass_agent.log.retention import KeptSession, Pruned, Retention, expired, oldest_first
from compass_agent.log.rules import (
    bytes_of,
    check_epoch,
    close_head,
    decide,
    goes_behind,
    new_head,
    seal,
    summarise,
)
from compass_agent.log.schedule import Due, Schedule
from compass_agent.log.stream import PageStream, wall_ms
from compass_agent.log.wake import Wake

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from compass_agent.frames import Cursor
    from compass_agent.log.read import SessionSummary
    from compass_agent.log.reading import Place
    from compass_agent.wire import Answer, Batch, SessionMeta


class MemoryLog:
    """Implements `AppendLog` and `ReadLog`; several threads and event loops may share it.

    Args:
        now_ms: Gives milliseconds since 1970-01-01 UTC.
        ahead_s: How long to wait for a watermark that is below a reader's cursor, in seconds.
        retention: What is kept; None: what `Retention()` says.
    """

    def __init__(
        self,
        *,
        now_ms: Callable[[], int] | None = None,
        ahead_s: float = 2.0,
        retention: Retention | None = None,
    ) -> None:
        self._lock = threading.Lock()
        self._sessions: dict[str, MemorySession] = {}
        self.wake = Wake()
        self.now_ms = now_ms or wall_ms
        self.ahead_s = ahead_s
        self.keep(retention or Retention())

    def keep(self, retention: Retention) -> None:
        """Keep what `retention` says from now on."""
        self.retention = retention
        self._schedule = Schedule(retention)

    async def open(
        self, session: str, epoch: str, meta: SessionMeta | None = None, *, recovered: bool = False
    ) -> None:
        """As in `AppendLog`."""
        check_session_id(session)
        check_epoch(epoch)
        await checkpoint()
        now = self.now_ms()
        with self._lock:
            known = self._sessions.setdefault(session, MemorySession())
            if known.index(epoch) is not None:
                return
            new = MemoryEpoch(new_head(epoch, meta, now))
            current = known.epochs[-1].head if known.epochs else None
            if goes_behind(current, now, recovered=recovered):
                new.head = seal(new.head)
                known.epochs.insert(-1, new)
            else:
                for older in known.epochs:
                    older.head = seal(older.head)
                known.epochs.append(new)
        self.wake.fire(session)

    async def append(self, batch: Batch) -> Answer:
        """As in `AppendLog`."""
        await checkpoint()
        with self._lock:
            known = self._sessions.get(batch.session)
            epoch = known.epoch(batch.epoch) if known else None
            if known is None or epoch is None:
                raise OperationError(ErrorCode.NOT_FOUND)
            now = self.now_ms()
            applied = decide(epoch.head, batch, now)
            if applied.head is None:
                return applied.answer
            stored = epoch.store(applied.priority, priority=True)
            stored += epoch.store(applied.trace, priority=False)
            if applied.trace:
                epoch.note_time(applied.trace[-1][0], now)
            epoch.head = replace(applied.head, frames=epoch.head.frames + stored)
            if applied.behind:
                known.behind += [epoch.frames[s]._replace(late=True) for s, _ in applied.priority]
            gone = self._keep_small(batch, now)
        for session in (batch.session, *gone):
            self.wake.fire(session)
        return applied.answer

    async def renew(self, epochs: Iterable[tuple[str, str]], seconds: float = 10.0) -> None:
        """As in `AppendLog`."""
        await checkpoint()
        until = self.now_ms() + round(seconds * 1000)
        for session, name in epochs:
            with self._lock:
                known = self._sessions.get(session)
                epoch = known.epoch(name) if known else None
                if epoch is not None:
                    epoch.head = replace(epoch.head, lease_ms=until)
            self.wake.fire(session)

    def read(
        self,
        session: str,
        after: Cursor | None = None,
        *,
        follow: bool = True,
        page_frames: int = 4096,
    ) -> PageStream:
        """As in `ReadLog`."""
        return PageStream(self, session, after, follow=follow, page_frames=page_frames)

    async def look(self, session: str, place: Place, page_frames: int) -> View | None:
        """As in `Source`."""
        await checkpoint()
        with self._lock:
            known = self._sessions.get(session)
            if known is None:
                return None
            index = known.index(place.epoch)
            if index is None:
                return View(None, known.epochs[0].head.epoch, arrivals=len(known.behind))
            epoch = known.epochs[index]
            following = known.epochs[index + 1 : index + 2]
            rows, complete = epoch.page(place.seq, page_frames)
            # At every look: what comes late is late by where the reader stands now. Asked later, a
            # frame that the reader meets at its place meanwhile would be told twice.
            return View(
                epoch.head,
                following[0].head.epoch if following else None,
                rows,
                complete,
                late=known.passed(index, place),
                arrivals=len(known.behind),
            )

    async def ask(self) -> None:
        """As in `Source`: no other process has this memory."""

    async def sessions(self) -> list[SessionSummary]:
        """As in `ReadLog`."""
        await checkpoint()
        now = self.now_ms()
        with self._lock:
            found = [
                summarise(
                    session, known.epochs[-1].head, sum(e.head.frames for e in known.epochs), now
                )
                for session, known in self._sessions.items()
            ]
        return sorted(found, key=lambda summary: (-summary.updated_ms, summary.session))

    async def delete(self, session: str) -> None:
        """As in `ReadLog`."""
        await checkpoint()
        with self._lock:
            if self._sessions.pop(session, None) is None:
                raise OperationError(ErrorCode.NOT_FOUND)
        self.wake.fire(session)

    async def prune(self, retention: Retention | None = None, *, dry_run: bool = False) -> Pruned:
        """As in `KeepLog`."""
        await checkpoint()
        with self._lock:
            pruned = self._prune(retention or self.retention, self.now_ms(), dry_run=dry_run)
        for session in () if dry_run else pruned.removed:
            self.wake.fire(session)
        return pruned

    def _keep_small(self, batch: Batch, now_ms: int) -> tuple[str, ...]:
        """Do what is due behind an append; return the sessions that are gone. Locked."""
        size = bytes_of(batch.trace)
        due = self._schedule.appended(batch.session, len(batch.trace), size, now_ms)
        if Due.TEND in due:
            return self._prune(self.retention, now_ms).removed
        if Due.TRIM in due:
            self._sessions[batch.session].trim(self.retention, now_ms)
        return ()

    def _prune(self, retention: Retention, now_ms: int, *, dry_run: bool = False) -> Pruned:
        kept = [
            KeptSession(session, known.over_since(now_ms))
            for session, known in self._sessions.items()
        ]
        late = expired(kept, retention, now_ms)
        before = after = sum(known.size for known in self._sessions.values())
        most = retention.total_bytes
        removed: list[str] = []
        for one in oldest_first(kept):
            if one in late or (most is not None and after > most):
                after -= self._sessions[one.session].size
                removed.append(one.session)
        trimmed: dict[str, int] = {}
        for session in self._sessions.keys() - removed if retention.trims else ():
            known = self._sessions[session]
            frames, size = known.trim(retention, now_ms, dry_run=dry_run)
            after -= size
            if frames:
                trimmed[session] = frames
        for session in () if dry_run else removed:
            del self._sessions[session]
        return Pruned(tuple(removed), trimmed, before, after)

    async def close_below(self, session: str, epoch: str) -> None:
        """As in `ReadLog`."""
        await checkpoint()
        with self._lock:
            known = self._sessions.get(session)
            found = known.epoch(epoch) if known else None
            closed = close_head(found.head, self.now_ms()) if found else None
            if found is None or closed is None:
                return
            found.head = closed
        self.wake.fire(session)

    async def aclose(self) -> None:
        """As in `ReadLog`: the memory goes when the log does."""
        await checkpoint()
