"""The memory log and the SQLite log, driven by hand from a test that has no event loop."""

from __future__ import annotations

__all__ = ("RealLogs", "RealReader")

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import pytest
from anyio.from_thread import start_blocking_portal

from compass_agent.errors.codes import OperationError
from compass_agent.log.memory import MemoryLog
from compass_agent.log.retention import Retention
from compass_agent.log.sqlite import SqliteLog
from writing_logs import Clock, S

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anyio.from_thread import BlockingPortal

    from compass_agent.errors.codes import ErrorCode
    from compass_agent.frames import Cursor
    from compass_agent.log import Pages, SessionLog
    from compass_agent.wire import Answer, Batch, Item
    from model.log_sketch import EpochSketch


class RealReader:
    """One reader that follows."""

    def __init__(self, portal: BlockingPortal, pages: Pages) -> None:
        self._portal = portal
        self._pages = pages

    def take(self, count: int) -> list[Item]:
        """Read until there are `count` items; a log that has fewer is given five seconds."""
        return self._portal.call(self._take, count)

    async def _take(self, count: int) -> list[Item]:
        found: list[Item] = []
        with anyio.move_on_after(5):
            while len(found) < count:
                found += (await anext(self._pages)).items
        return found


class RealLogs:
    """Both logs, with one clock that stands still until it is told."""

    def __init__(self) -> None:
        self.clock = Clock()
        self._folder = tempfile.TemporaryDirectory()
        self._running = start_blocking_portal("asyncio")
        self._portal = self._running.__enter__()
        self._logs = self._portal.call(self.make_logs, Path(self._folder.name))

    async def make_logs(self, folder: Path) -> list[SessionLog]:
        """The logs to compare, empty."""
        return [
            MemoryLog(now_ms=self.clock, ahead_s=0),
            SqliteLog(folder / "log.db", now_ms=self.clock, ahead_s=0),
        ]

    def open(self, epoch: str, *, recovered: bool) -> None:
        async def call() -> None:
            for log in self._logs:
                await log.open(S, epoch, recovered=recovered)

        self._portal.call(call)

    def append(self, batch: Batch) -> list[Answer]:
        async def call() -> list[Answer]:
            return [await log.append(batch) for log in self._logs]

        return self._portal.call(call)

    def renew(self, epoch: str) -> None:
        async def call() -> None:
            for log in self._logs:
                await log.renew([(S, epoch)])

        self._portal.call(call)

    def delete(self) -> None:
        async def call() -> None:
            for log in self._logs:
                await log.delete(S)

        self._portal.call(call)

    def trim(self, most: int, went: int) -> None:
        keep = Retention(trace_frames=most, ended_age_s=None, total_bytes=None)

        async def call() -> None:
            for log in self._logs:
                pruned = await log.prune(keep)
                assert sum(pruned.trimmed.values()) == went
                assert pruned.removed == ()

        self._portal.call(call)

    def read(self, after: Cursor | None, page: int) -> Iterator[tuple[list[Item], Cursor | None]]:
        """For each log: what there is behind `after`, and the cursor after it."""
        for log in self._logs:
            yield self._portal.call(_read, log, after, page)

    def cannot_read(self, after: Cursor | None, code: ErrorCode) -> None:
        for log in self._logs:
            with pytest.raises(OperationError) as caught:
                self._portal.call(_read, log, after, 1)
            assert caught.value.code is code

    def follow(self, after: Cursor | None, page: int) -> list[RealReader]:
        return [
            RealReader(self._portal, log.read(S, after, page_frames=page)) for log in self._logs
        ]

    def stored(self) -> object:
        async def call() -> object:
            return [await log.sessions() for log in self._logs]

        return self._portal.call(call)

    def is_listed_as(self, epoch: EpochSketch, state: int, frames: int) -> None:
        async def call() -> None:
            for log in self._logs:
                (summary,) = await log.sessions()
                found = (summary.epoch, summary.cursor.seq, summary.frames, summary.state)
                assert found == (epoch.name, epoch.through, frames, state)
                assert summary.ended == (epoch.end is not None)

        self._portal.call(call)

    def close(self) -> None:
        async def call() -> None:
            for log in self._logs:
                await log.aclose()

        try:
            self._portal.call(call)
        finally:
            self._running.__exit__(None, None, None)
            self._folder.cleanup()


async def _read(
    log: SessionLog, after: Cursor | None, page: int
) -> tuple[list[Item], Cursor | None]:
    items: list[Item] = []
    cursor = after
    async for found in log.read(S, after, follow=False, page_frames=page):
        items += found.items
        cursor = found.cursor
    return items, cursor
