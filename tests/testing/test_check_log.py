"""Every log of the project passes the check, and the check tells what a broken log does wrong."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from compass_agent.errors.codes import ErrorCode, OperationError
from compass_agent.log.memory import MemoryLog
from compass_agent.log.sqlite import SqliteLog
from compass_agent.testing import check_log

if TYPE_CHECKING:
    from collections.abc import Callable

    from compass_agent.frames import Cursor
    from compass_agent.log import SessionSummary
    from compass_agent.log.stream import PageStream
    from compass_agent.wire import Answer, Batch


@pytest.mark.requirement(
    "G-LOG-1",
    "G-LOG-2",
    "G-LOG-3",
    "G-LOG-4",
    "G-LOG-5",
    "G-LOG-6",
    "G-READ-1",
    "G-READ-2",
    "G-READ-3",
    "G-KEEP-1",
    "G-KEEP-2",
)
async def test_the_memory_log_keeps_every_promise() -> None:
    await check_log(lambda: MemoryLog(ahead_s=0.05))


@pytest.mark.requirement(
    "G-LOG-1",
    "G-LOG-2",
    "G-LOG-3",
    "G-LOG-4",
    "G-LOG-5",
    "G-LOG-6",
    "G-READ-1",
    "G-READ-2",
    "G-READ-3",
    "G-KEEP-1",
    "G-KEEP-2",
)
async def test_the_sqlite_log_keeps_every_promise(tmp_path: Path) -> None:
    numbers = itertools.count()

    async def factory() -> SqliteLog:
        return SqliteLog(tmp_path / f"{next(numbers)}.db", ahead_s=0.05)

    await check_log(factory)


class Forgetful(MemoryLog):
    """Never says that frames came too late."""

    async def append(self, batch: Batch) -> Answer:
        answer = await super().append(batch)
        return replace(answer, late_trace=0)


class Skipping(MemoryLog):
    async def append(self, batch: Batch) -> Answer:
        return await super().append(replace(batch, prev_priority=0, end=None))


class Hasty(MemoryLog):
    """Lets readers read beyond the watermark."""

    async def append(self, batch: Batch) -> Answer:
        highest = max([seq for seq, _ in [*batch.priority, *batch.trace]], default=0)
        return await super().append(replace(batch, through=max(batch.through, highest)))


class Refusing(MemoryLog):
    async def sessions(self) -> list[SessionSummary]:
        raise OperationError(ErrorCode.STORAGE_FAILED)


class Restarting(MemoryLog):
    """Every reading begins at the beginning."""

    def read(
        self,
        session: str,
        after: Cursor | None = None,
        *,
        follow: bool = True,
        page_frames: int = 4096,
    ) -> PageStream:
        del after
        return super().read(session, None, follow=follow, page_frames=page_frames)


@pytest.mark.parametrize(
    ("broken", "told"),
    [
        (Forgetful, "The same batch twice changes nothing. This log: trace that came too late"),
        (Skipping, "A priority frame is never skipped. This log: from where on"),
        (Hasty, "A batch is stored, and answered with what is stored then. This log: the answer"),
        (Refusing, "The same batch twice changes nothing. This log raised 'storage_failed'"),
        (Restarting, "A reading resumes without hole or repeat. This log: what follows"),
    ],
)
async def test_a_log_that_breaks_a_promise_is_told_which(
    broken: Callable[..., MemoryLog], told: str
) -> None:
    with pytest.raises(AssertionError) as caught:
        await check_log(lambda: broken(ahead_s=0.05))
    assert str(caught.value).startswith(told)
