"""Many who want the same done share a run that began after they asked, and how it ended."""

from __future__ import annotations

import anyio
import pytest

from compass_agent.errors.codes import ErrorCode, OperationError
from compass_agent.runtime.joining import Joined

PATIENCE_S = 10


class Work:
    """Counts its runs; each goes on until it is let go."""

    def __init__(self) -> None:
        self.runs = 0
        self.begun = anyio.Event()
        self.go = anyio.Event()
        self.error: OperationError | None = None

    async def __call__(self) -> None:
        self.runs += 1
        self.begun.set()
        await self.go.wait()
        if self.error is not None:
            raise self.error


@pytest.mark.requirement("G-PUMP-6")
async def test_who_asks_during_a_run_shares_the_next_one() -> None:
    joined, work = Joined(), Work()
    with anyio.fail_after(PATIENCE_S):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(joined.run, work)
            await work.begun.wait()
            for _ in range(20):
                tasks.start_soon(joined.run, work)
            await anyio.wait_all_tasks_blocked()
            assert work.runs == 1
            work.go.set()
    assert work.runs == 2
    await joined.run(work)
    assert work.runs == 3


async def test_a_failure_is_told_to_all_who_share_it() -> None:
    joined, work = Joined(), Work()
    work.error = OperationError(ErrorCode.UNAVAILABLE)
    failed: list[ErrorCode] = []

    async def ask() -> None:
        with anyio.fail_after(PATIENCE_S):
            try:
                await joined.run(work)
            except OperationError as error:
                failed.append(error.code)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ask)
        await work.begun.wait()
        for _ in range(5):
            tasks.start_soon(ask)
        await anyio.wait_all_tasks_blocked()
        work.go.set()
    assert failed == [ErrorCode.UNAVAILABLE] * 6
    assert work.runs == 2
    work.error = None
    await joined.run(work)
    assert work.runs == 3


async def test_who_is_cancelled_takes_nobody_along() -> None:
    joined, work = Joined(), Work()
    scope = anyio.CancelScope()

    async def ask_and_leave() -> None:
        with scope:
            await joined.run(work)

    with anyio.fail_after(PATIENCE_S):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask_and_leave)
            await work.begun.wait()
            tasks.start_soon(joined.run, work)
            await anyio.wait_all_tasks_blocked()
            scope.cancel()
            await anyio.wait_all_tasks_blocked()
            assert work.runs == 2
            work.go.set()


async def test_who_waited_for_a_run_that_was_cancelled_gets_one_of_its_own() -> None:
    joined, work = Joined(), Work()
    scope = anyio.CancelScope()

    async def ask_and_leave() -> None:
        with scope:
            await joined.run(work)

    with anyio.fail_after(PATIENCE_S):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(joined.run, work)
            await work.begun.wait()
            tasks.start_soon(ask_and_leave)
            await anyio.wait_all_tasks_blocked()
            tasks.start_soon(joined.run, work)  # asks before the run begins that is cancelled
            await anyio.wait_all_tasks_blocked()
            work.go.set()
            work.go = anyio.Event()
            work.begun = anyio.Event()
            await work.begun.wait()
            scope.cancel()
            await anyio.wait_all_tasks_blocked()
            assert work.runs == 3
            work.go.set()
