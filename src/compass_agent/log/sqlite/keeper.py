"""Applies retention to the file: a little behind some appends, or all that is due at once.

Between two steps other writers get their turn. What a process that was killed left half done, the
next one finishes.
"""

from __future__ import annotations

__all__ = ("Keeper",)

import logging
import threading
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeVar

from compass_agent.errors.codes import OperationError
from compass_agent.errors.worded import words_of
from compass_agent.log.retention import KeptSession, Pruned, Retention, expired, oldest_first
from compass_agent.log.rules import bytes_of
from compass_agent.log.schedule import Due, Schedule
from compass_agent.log.sqlite.retention import (
    foresee,
    give_back,
    has_doomed,
    live_bytes,
    remove_over,
    sessions_kept,
    sessions_to_trim,
    trim_session,
)
from compass_agent.log.sqlite.statements import sweep

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterable
    from sqlite3 import Connection

    from compass_agent.wire import Batch

_T = TypeVar("_T")
_logger = logging.getLogger("compass_agent.log")

_STEPS = 2
"""Transactions that one append bears: more is removed than was appended meanwhile."""


class _Read(Protocol):
    async def __call__(self, work: Callable[[Connection], _T]) -> _T: ...


class _Write(Protocol):
    async def __call__(self, work: Callable[[Connection], _T], sessions: Iterable[str]) -> _T: ...


@dataclass(slots=True)
class _Done:
    """What was done until now."""

    removed: list[str] = field(default_factory=list[str])
    trimmed: dict[str, int] = field(default_factory=dict[str, int])


class Keeper:
    """Keeps one file as small as `retention` says.

    Args:
        retention: What is kept when nobody says otherwise.
        read: Has something done on a connection that reads.
        write: Has something done in one write transaction, and wakes the readers of sessions.
        now_ms: Gives milliseconds since 1970-01-01 UTC.
    """

    def __init__(
        self, retention: Retention, read: _Read, write: _Write, now_ms: Callable[[], int]
    ) -> None:
        self._retention = retention
        self._schedule = Schedule(retention)
        self._read = read
        self._write = write
        self._now_ms = now_ms
        self._at_it = threading.Lock()

    async def appended(self, batch: Batch) -> None:
        """Do what is due behind an append, mostly nothing. A failure is logged: it can wait."""
        weighs = self._retention.trace_bytes is not None
        size = bytes_of(batch.trace) if weighs else 0
        due = self._schedule.appended(batch.session, len(batch.trace), size, self._now_ms())
        if not due or not self._at_it.acquire(blocking=False):
            return
        try:
            await self._do(due, batch.session)
        except OperationError as error:
            _logger.warning("what is not to be kept could not be removed now: %s", words_of(error))
        finally:
            self._at_it.release()

    async def prune(self, retention: Retention | None = None, *, dry_run: bool = False) -> Pruned:
        """As in `KeepLog`."""
        keep = retention or self._retention
        if dry_run:
            return await self._read(lambda db: foresee(db, keep, self._now_ms()))
        done = _Done()
        before = await self._read(live_bytes)
        async with aclosing(self._steps(keep, done)) as steps:
            async for _ in steps:
                pass
        while await self._write(give_back, ()):
            pass
        after = await self._read(live_bytes)
        return Pruned(tuple(done.removed), done.trimmed, before, after)

    async def _do(self, due: Due, session: str) -> None:
        done = _Done()
        steps = self._steps(self._retention, done)
        if Due.TEND not in due:
            steps = self._trim(session, self._retention, done)
        left = _STEPS
        async with aclosing(steps):
            async for _ in steps:
                left -= 1
                if not left:
                    break
        if Due.TEND in due:
            self._schedule.fell_behind(behind=not left)

    async def _steps(self, retention: Retention, done: _Done) -> AsyncGenerator[None]:
        """Do all that is due, one write transaction after the other."""
        async with aclosing(self._sweep()) as steps:
            async for _ in steps:
                yield
        now_ms = self._now_ms()
        kept = await self._read(lambda db: sessions_kept(db, now_ms))
        late = expired(kept, retention, now_ms)
        for one in [*late, *(one for one in oldest_first(kept) if one not in late)]:
            if one not in late and not await self._is_large(retention):
                break
            async with aclosing(self._remove(one, now_ms, done)) as steps:
                async for _ in steps:
                    yield
        if not retention.trims:
            return
        for session in await self._read(lambda db: sessions_to_trim(db, retention, now_ms)):
            async with aclosing(self._trim(session, retention, done)) as steps:
                async for _ in steps:
                    yield

    async def _is_large(self, retention: Retention) -> bool:
        most = retention.total_bytes
        return most is not None and await self._read(live_bytes) > most

    async def _remove(self, kept: KeptSession, now_ms: int, done: _Done) -> AsyncGenerator[None]:
        if await self._write(lambda db: remove_over(db, kept, now_ms), (kept.session,)):
            done.removed.append(kept.session)
        yield
        async with aclosing(self._sweep()) as steps:
            async for _ in steps:
                yield

    async def _sweep(self) -> AsyncGenerator[None]:
        while await self._read(has_doomed):
            await self._write(sweep, ())
            yield

    async def _trim(self, session: str, retention: Retention, done: _Done) -> AsyncGenerator[None]:
        more = True
        while more:
            now_ms = self._now_ms()
            removed, more = await self._write(
                lambda db, at=now_ms: trim_session(db, session, retention, at), ()
            )
            if removed:
                done.trimmed[session] = done.trimmed.get(session, 0) + removed
            yield
