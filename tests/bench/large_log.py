"""A log of many sessions: what appending and listing cost there."""

from __future__ import annotations

__all__ = ("large_log_rows",)

import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
from frames import encoded_frames
from measure import PAIRS, Row, compared

from compass_agent.log.retention import Retention
from compass_agent.log.sqlite import SqliteLog
from compass_agent.services.listing import SessionQuery, find_sessions
from compass_agent.wire import Batch

if TYPE_CHECKING:
    from collections.abc import Sequence

_EPOCH = "0" * 16
_KEEP_ALL = Retention(ended_age_s=None, total_bytes=None)
_BATCH = 64
_BATCHES = 400
_PAGE = 100


def large_log_rows(sessions: int = 100_000) -> list[Row]:
    """Append to a new session of a log with so many, against one with 100; list a page of it."""
    with tempfile.TemporaryDirectory() as folder:
        return anyio.run(_measure, Path(folder), sessions)


async def _measure(folder: Path, sessions: int) -> list[Row]:
    few, many = (SqliteLog(folder / name, retention=_KEEP_ALL) for name in ("few.db", "many.db"))
    ready = encoded_frames(_BATCH)
    for log, count in ((few, _PAGE), (many, sessions)):
        for number in range(count):
            await log.open(f"old{number}", _EPOCH)
            trace = [*enumerate(ready[:3], 1)]
            await log.append(Batch(f"old{number}", _EPOCH, 1, [], trace, 3))
    appends: list[tuple[float, float]] = []
    for number in range(PAIRS):
        plain = await _append(few, f"new{number}", ready)
        appends.append((plain, await _append(many, f"new{number}", ready)))
    lists = [(await _list(few), await _list(many)) for _ in range(PAIRS)]
    for log in (few, many):
        await log.aclose()
    return [
        compared(f"append, {sessions:,} sessions", "k/s", appends, limit=0.5, at_least=True),
        compared(f"list of 100, {sessions:,}", "ms", lists, limit=2.0),
    ]


async def _append(log: SqliteLog, session: str, ready: Sequence[bytes]) -> float:
    """Return thousands of frames a second."""
    await log.open(session, _EPOCH)
    before = time.perf_counter()
    for number in range(_BATCHES):
        first = number * _BATCH + 1
        trace = [*enumerate(ready, first)]
        await log.append(Batch(session, _EPOCH, number + 1, [], trace, trace[-1][0]))
    return _BATCHES * _BATCH / (time.perf_counter() - before) / 1_000


async def _list(log: SqliteLog) -> float:
    """Return how long the first page takes, in milliseconds."""
    before = time.perf_counter()
    page = await find_sessions(log, SessionQuery(limit=_PAGE))
    assert len(page.rows) == _PAGE
    return (time.perf_counter() - before) * 1e3
