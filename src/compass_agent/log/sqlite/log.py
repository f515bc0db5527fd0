"""The log of one SQLite file for asyncio and trio: work in threads, one writer at a time."""

from __future__ import annotations

__all__ = ("SqliteLog",)

import threading
import time
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar
from weakref import WeakValueDictionary

import anyio
from anyio.to_thread import run_sync

from compass_agent.errors.codes import ErrorCode, OperationError
from compass_agent.frames import check_session_id
from compass_agent.log.retention import Pruned, Retention
from compass_agent.log.rules import check_epoch
from compass_agent.log.sqlite.connect import BUSY_S, connect, prepare, writing
from compass_agent.log.sqlite.faults import reported
from compass_agent.log.sqlite.statements import (
    append_batch,
    close_epoch,
    doom_session,
    list_sessions,
    look_behind,
    open_epoch,
    read_version,
    renew_leases,
    sweep,
)
from compass_agent.log.stream import PageStream, wall_ms
from compass_agent.log.wake import Wake

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from sqlite3 import Connection

    from compass_agent.frames import Cursor
    from compass_agent.log.read import SessionSummary
    from compass_agent.log.reading import Place, View
    from compass_agent.log.sqlite.keeper import Keeper
    from compass_agent.wire import Answer, Batch, SessionMeta

_T = TypeVar("_T")

_WAKES: WeakValueDictionary[Path, Wake] = WeakValueDictionary()
"""The readers of each file in this process, whichever log object they came through."""

_IDLE_READERS = 4
_ASK_EVERY_S = 0.004


class SqliteLog:
    """Implements `AppendLog` and `ReadLog`; threads, event loops and processes may share the file.

    Making one opens the file, and makes it where there is none; this blocks for a few milliseconds.

    Args:
        path: The file; its folder must be there.
        durability: `"normal"`: a power failure may take the last moments, never order or
            consistency; a killed process loses nothing. `"full"`: what was answered is on disk.
        retention: What is kept while this log object appends; None: what `Retention()` says.
        now_ms: Gives milliseconds since 1970-01-01 UTC.
        ahead_s: How long to wait for a watermark that is below a reader's cursor, in seconds.

    Raises:
        OperationError: `unsupported_input`: the path cannot be used, or the file is not ours.
            `permission_denied`, `unavailable`, `storage_failed`.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        durability: Literal["normal", "full"] = "normal",
        retention: Retention | None = None,
        now_ms: Callable[[], int] | None = None,
        ahead_s: float = 2.0,
    ) -> None:
        self._path = Path(path)
        self._writer: Connection | None = prepare(self._path, durability)
        self._write_lock = threading.Lock()
        self._pool_lock = threading.Lock()
        self._pool: list[Connection] = []
        self._closed = False
        self._ask_lock = threading.Lock()
        self._ask_after = 0.0
        self._asker: Connection | None = None
        self._version = -1
        self.wake = _WAKES.setdefault(self._path.resolve(), Wake())
        self.now_ms = now_ms or wall_ms
        self.ahead_s = ahead_s
        self.retention = retention or Retention()

    @cached_property
    def _keeper(self) -> Keeper:
        # With the first append: who only reads, such as a tail, waits for its first line.
        from compass_agent.log.sqlite.keeper import Keeper  # noqa: PLC0415 - dear to import

        return Keeper(self.retention, self._read, self._write, self.now_ms)

    async def open(
        self, session: str, epoch: str, meta: SessionMeta | None = None, *, recovered: bool = False
    ) -> None:
        """As in `AppendLog`."""
        check_session_id(session)
        check_epoch(epoch)
        now = self.now_ms()
        await self._write(
            lambda db: open_epoch(db, session, epoch, meta, now, recovered=recovered),
            (session,),
        )

    async def append(self, batch: Batch) -> Answer:
        """As in `AppendLog`."""
        now = self.now_ms()
        answer = await self._write(lambda db: append_batch(db, batch, now), (batch.session,))
        await self._keeper.appended(batch)
        return answer

    async def renew(self, epochs: Iterable[tuple[str, str]], seconds: float = 10.0) -> None:
        """As in `AppendLog`."""
        known = list(epochs)
        until = self.now_ms() + round(seconds * 1000)
        await self._write(
            lambda db: renew_leases(db, known, until), [session for session, _ in known]
        )

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
        return await self._read(lambda db: look_behind(db, session, place, page_frames))

    async def sessions(self) -> list[SessionSummary]:
        """As in `ReadLog`."""
        return await self._read(lambda db: list_sessions(db, self.now_ms()))

    async def delete(self, session: str) -> None:
        """As in `ReadLog`. Gone at once; its frames are removed in steps that writers bear."""
        await self._write(lambda db: doom_session(db, session), (session,))
        while await self._write(sweep, ()):
            pass

    async def prune(self, retention: Retention | None = None, *, dry_run: bool = False) -> Pruned:
        """As in `KeepLog`."""
        return await self._keeper.prune(retention, dry_run=dry_run)

    async def close_below(self, session: str, epoch: str) -> None:
        """As in `ReadLog`."""
        now = self.now_ms()
        await self._write(lambda db: close_epoch(db, session, epoch, now), (session,))

    async def ask(self) -> None:
        """As in `Source`. Whatever the number of readers, the file is asked at a bounded rate."""
        if self._asker is not None and time.monotonic() < self._ask_after:
            return
        self._ask_after = time.monotonic() + _ASK_EVERY_S
        await run_sync(self._ask_now)

    async def aclose(self) -> None:
        """As in `ReadLog`. What is asked of the log later is `unavailable`."""
        with anyio.CancelScope(shield=True):
            await run_sync(self._close)

    async def _write(self, work: Callable[[Connection], _T], sessions: Iterable[str]) -> _T:
        # A cancelled writer leaves at once, without knowing; the same batch may come again.
        return await run_sync(partial(self._write_now, work, sessions), abandon_on_cancel=True)

    def _write_now(self, work: Callable[[Connection], _T], sessions: Iterable[str]) -> _T:
        if not self._write_lock.acquire(timeout=BUSY_S):
            raise OperationError(ErrorCode.UNAVAILABLE)
        try:
            db = self._writer
            if db is None:
                raise OperationError(ErrorCode.UNAVAILABLE)
            with reported(), writing(db):
                result = work(db)
        finally:
            self._write_lock.release()
        for session in sessions:
            self.wake.fire(session)
        return result

    async def _read(self, work: Callable[[Connection], _T]) -> _T:
        return await run_sync(self._read_now, work)

    def _read_now(self, work: Callable[[Connection], _T]) -> _T:
        with self._pool_lock:
            if self._closed:
                raise OperationError(ErrorCode.UNAVAILABLE)
            db = self._pool.pop() if self._pool else None
        with reported():
            db = db or connect(self._path, read_only=True)
            try:
                return work(db)
            finally:
                self._give_back(db)

    def _give_back(self, db: Connection) -> None:
        with self._pool_lock:
            if not self._closed and len(self._pool) < _IDLE_READERS:
                self._pool.append(db)
                return
        db.close()

    def _ask_now(self) -> None:
        with self._ask_lock, reported():
            if self._closed:
                raise OperationError(ErrorCode.UNAVAILABLE)
            if self._asker is None:
                self._asker = connect(self._path, read_only=True)
            version = read_version(self._asker)
            if version == self._version:
                return
            self._version = version
        self.wake.fire()

    def _close(self) -> None:
        with self._write_lock, self._ask_lock, self._pool_lock:
            self._closed = True
            idle = [db for db in (*self._pool, self._asker, self._writer) if db is not None]
            self._pool = []
            self._asker = self._writer = None
            for db in idle:
                db.close()
        self.wake.fire()
