"""`wait_session` answers once what it waits for is stored, and not before, or in the end."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from mcp import Client

from compass_agent.log.memory import MemoryLog
from compass_agent.services.mcp import mcp_server
from writing_logs import E1, E2, S, aborted, batch, end, failed, state, text

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

READY, WORKING, ERRORED = state(2), state(3), state(5)


class Waiting:
    """One wait, and the session that it waits for."""

    def __init__(self, log: MemoryLog, client: Client) -> None:
        self.log = log
        self.client = client
        self.number = 1
        self.seq = 1
        self.priority = 1

    async def begin(self, first: bytes = WORKING) -> None:
        await self.log.open(S, E1)
        await self.log.append(batch(1, priority={1: first}, through=1))

    async def store(self, *frames: bytes) -> None:
        """Store priority frames, a batch each."""
        for frame in frames:
            self.number += 1
            self.seq += 1
            before, self.priority = self.priority, self.seq
            here = {self.seq: frame}
            await self.log.append(
                batch(self.number, priority=here, through=self.seq, prev_priority=before)
            )

    async def end(self) -> None:
        await self.log.append(end(self.number + 1, self.seq, self.priority))

    async def wait(self, **arguments: Any) -> dict[str, Any]:
        given = {"session_id": S, "timeout_s": 10.0} | arguments
        result = await self.client.call_tool("wait_session", given)
        assert not result.is_error, result.content
        return result.structured_content


@asynccontextmanager
async def waiting() -> AsyncGenerator[Waiting]:
    log = MemoryLog()
    with anyio.fail_after(20):
        async with Client(mcp_server(log, report_every_s=0.01)) as client:
            yield Waiting(log, client)


@pytest.mark.requirement("G-MCP-4")
@pytest.mark.parametrize(
    ("until", "before", "that", "reason"),
    [
        ("any", [], text(), "changed"),
        ("turn_end", [text(), WORKING], READY, "turn_end"),
        ("turn_end", [text()], aborted("Stopped"), "turn_end"),
        ("error", [text(), aborted("Stopped"), READY], failed("Overloaded"), "error"),
        ("error", [READY], ERRORED, "error"),
    ],
)
async def test_a_wait_answers_once_what_it_waits_for_is_stored(
    until: str, before: list[bytes], that: bytes, reason: str
) -> None:
    async with waiting() as one:
        await one.begin()
        told: list[dict[str, Any]] = []

        async def wait() -> None:
            # From a place, so that nothing which holds already answers it.
            told.append(await one.wait(until=until, after=f"{E1}-1"))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait)
            await one.store(*before)
            await anyio.wait_all_tasks_blocked()
            assert told == []
            await one.store(that)
    assert told[0]["reason"] == reason
    assert told[0]["items"]
    assert told[0]["next"] == f"{E1}-{len(before) + 2}"


async def test_a_wait_for_the_end_is_answered_by_the_end() -> None:
    async with waiting() as one:
        await one.begin()
        told: list[dict[str, Any]] = []

        async def wait() -> None:
            told.append(await one.wait(until="ended"))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait)
            await one.store(READY)
            await one.end()
    assert (told[0]["reason"], told[0]["items"][-1]["kind"]) == ("ended", "end")


@pytest.mark.requirement("G-MCP-4")
@pytest.mark.parametrize(
    ("until", "reason"),
    [("any", "ended"), ("turn_end", "ended"), ("error", "error"), ("ended", "ended")],
)
async def test_what_holds_already_is_answered_at_once(until: str, reason: str) -> None:
    async with waiting() as one:
        await one.begin()
        await one.store(failed("Overloaded"), ERRORED)
        await one.end()
        told = await one.wait(until=until, timeout_s=50.0)
        again = await one.wait(until=until, after=told["next"], timeout_s=50.0)
    assert told["reason"] == reason
    assert told["lastError"]["message"] == "Overloaded"
    assert told["state"] == "AGENT_SESSION_STATE_ERRORED"
    # Nothing can come any more, and the one who waits on is told so.
    assert again["reason"] == "ended"


async def test_a_turn_that_is_over_is_not_waited_for() -> None:
    async with waiting() as one:
        await one.begin(READY)
        told = await one.wait(until="turn_end", timeout_s=50.0)
    assert (told["reason"], told["items"]) == ("turn_end", [])


async def test_a_failure_of_a_later_run_is_waited_for_over_an_end() -> None:
    async with waiting() as one:
        await one.begin()
        await one.store(READY)
        await one.end()
        await one.log.open(S, E2)
        await one.log.append(batch(1, priority={1: failed("Gone")}, through=1, epoch=E2))
        told = await one.wait(until="error", after=f"{E1}-1")
    assert (told["reason"], told["lastError"]["message"]) == ("error", "Gone")


@pytest.mark.requirement("G-MCP-4")
async def test_a_wait_is_over_when_its_time_is_and_tells_that_it_goes_on() -> None:
    async with waiting() as one:
        await one.begin()
        reports: list[tuple[float, float | None]] = []

        async def report(progress: float, total: float | None, message: str | None) -> None:
            assert message == "waiting"
            reports.append((progress, total))

        given = {"session_id": S, "until": "ended", "timeout_s": 0.2}
        result = await one.client.call_tool("wait_session", given, progress_callback=report)
    assert not result.is_error
    assert result.structured_content["reason"] == "timeout"
    assert result.structured_content["items"] == []
    assert len(reports) > 1
    assert {total for _, total in reports} == {0.2}
    assert reports == sorted(reports)
