"""The log's file against plain SQLite: appending batches, and reading a session."""

from __future__ import annotations

__all__ = ("append_row", "read_row")

import sqlite3
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
from floors import PlainTable
from frames import encoded_frames
from measure import Row, compare

from compass_agent.log.sqlite import SqliteLog
from compass_agent.wire import Batch

if TYPE_CHECKING:
    from collections.abc import Sequence

BATCH = 256
_EPOCH = "0" * 16


def append_row(frames: int = 51_200) -> Row:
    """Append batches of 256 frames, against as many inserts in one transaction each."""
    ready = encoded_frames(frames)
    with tempfile.TemporaryDirectory() as folder:
        count = 0

        def fresh() -> Path:
            nonlocal count
            count += 1
            return Path(folder) / f"{count}.db"

        def plain() -> float:
            with PlainTable(fresh()) as table:
                before = time.perf_counter()
                for first in range(0, frames, BATCH):
                    table.insert(first + 1, ready[first : first + BATCH])
                return frames / (time.perf_counter() - before)

        def ours() -> float:
            return anyio.run(_append, fresh(), ready)

        return compare("SQLite append", plain, ours, limit=0.5)


def read_row(frames: int = 1_000_000) -> Row:
    """Read a session of a million frames, against one SELECT of the same rows."""
    with tempfile.TemporaryDirectory() as folder:
        ready = encoded_frames(BATCH)
        ours_path, plain_path = Path(folder) / "ours.db", Path(folder) / "plain.db"
        frames -= frames % BATCH
        anyio.run(_append, ours_path, ready * (frames // BATCH))
        with PlainTable(plain_path) as table:
            for first in range(0, frames, BATCH):
                table.insert(first + 1, ready)

        def plain() -> float:
            connection = sqlite3.connect(plain_path)
            before = time.perf_counter()
            rows = connection.execute("SELECT seq, data FROM frames WHERE id = 1 ORDER BY seq")
            assert sum(1 for _ in rows) == frames
            spent = time.perf_counter() - before
            connection.close()
            return frames / spent

        def ours() -> float:
            return anyio.run(_read, ours_path, frames)

        return compare("log.read of 1M frames", plain, ours, limit=0.5)


async def _append(path: Path, ready: Sequence[bytes]) -> float:
    log = SqliteLog(path)
    await log.open("s", _EPOCH)
    before = time.perf_counter()
    for first in range(0, len(ready), BATCH):
        trace = [
            (first + place + 1, data) for place, data in enumerate(ready[first : first + BATCH])
        ]
        await log.append(Batch("s", _EPOCH, first // BATCH + 1, [], trace, trace[-1][0]))
    spent = time.perf_counter() - before
    await log.aclose()
    return len(ready) / spent


async def _read(path: Path, frames: int) -> float:
    log = SqliteLog(path)
    before = time.perf_counter()
    found = 0
    async for page in log.read("s", follow=False):
        found += sum(1 for _ in page.items)
    spent = time.perf_counter() - before
    await log.aclose()
    assert found >= frames
    return frames / spent
