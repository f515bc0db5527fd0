"""`Session.drive`: the stream's events at its own speed, its end, and its exception unchanged."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Coroutine
from typing import Any

import anyio
import pytest

from command_runs import command_run
from compass_agent import Session, open_session
from compass_agent.adapters import events_of
from compass_agent.events import (
    Failure,
    MessageFailed,
    RunEnded,
    RunStarted,
    TextDelta,
    ToolEnded,
    ToolStarted,
)
from compass_agent.frames import AgentSessionState
from compass_agent.runtime import driving
from compass_agent.testing import CapturedFrames, capture_frames
from reading_frames import described

pytestmark = pytest.mark.requirement("G-AGENT-2")
STREAM = "The agent's stream ended in the middle of its work"


async def stream(*events: object, then: BaseException | None = None) -> AsyncGenerator[object]:
    for event in events:
        yield event
    if then is not None:
        raise then


async def driven(*events: object, then: BaseException | None = None) -> CapturedFrames:
    """Drive a session with these events; what they raise must come out as the same object."""
    caught: BaseException | None = None
    with capture_frames() as frames:
        try:
            async with open_session("s1") as session:
                await session.drive(stream(*events, then=then))
        except Exception as error:  # noqa: BLE001 - whatever it is, it is compared
            caught = error
    assert caught is then
    return frames


async def test_events_are_fed_and_a_clean_end_is_clean() -> None:
    frames = await driven(RunStarted(), TextDelta("hi"), RunEnded())
    assert described(frames) == [
        "state STARTING",
        "state WORKING",
        "text 0 hi",
        "state READY",
        "state STOPPED",
    ]


@pytest.mark.requirement("G-TURN-3")
async def test_a_stream_that_ends_at_work_is_a_failure() -> None:
    frames = await driven(RunStarted(), TextDelta("hi"))
    (error,) = frames.errors()
    assert (error.message, error.code) == (STREAM, "adapter.no_terminal")
    assert frames.states()[-1] == "ERRORED"


async def test_what_it_raises_is_told_once_and_goes_on_unchanged() -> None:
    frames = await driven(RunStarted(), then=ConnectionResetError("the socket was cut"))
    assert [error.message for error in frames.errors()] == ["the socket was cut"]
    assert frames.states()[-1] == "ERRORED"


async def test_what_it_told_before_it_raises_is_not_told_again() -> None:
    told = MessageFailed(Failure(aborted=False, message="Too many requests", status=429))
    frames = await driven(RunStarted(), told, then=RuntimeError("the run failed"))
    assert [error.message for error in frames.errors()] == ["Too many requests"]


async def test_a_stop_that_it_told_is_not_told_again() -> None:
    told = MessageFailed(Failure(aborted=True, message="Interrupted"))
    frames = await driven(RunStarted(), told, then=RuntimeError("the run was cancelled"))
    assert [error.message for error in frames.errors()] == ["Interrupted"]
    assert "ERRORED" not in frames.states()


async def test_a_host_may_catch_it_and_go_on() -> None:
    with capture_frames() as frames:
        async with open_session("s1") as session:
            with pytest.raises(ValueError, match="first"):
                await session.drive(stream(RunStarted(), then=ValueError("first")))
            await session.drive(stream(RunStarted(), RunEnded()))
    assert frames.states() == ["STARTING", "WORKING", "ERRORED", "WORKING", "READY", "STOPPED"]


class Endless:
    """A source that gives events until nobody asks; it knows when it was closed."""

    def __init__(self) -> None:
        self.given = 0
        self.waiting = anyio.Event()
        self.closed = False

    async def events(self) -> AsyncGenerator[object]:
        try:
            yield RunStarted()
            self.given += 1
            self.waiting.set()
            await anyio.sleep_forever()
        finally:
            self.closed = True


async def test_a_cancellation_is_a_stop_and_closes_the_stream() -> None:
    source = Endless()
    with capture_frames() as frames:
        async with anyio.create_task_group() as tasks:

            async def work() -> None:
                async with open_session("s1") as session:
                    await session.drive(source.events())

            tasks.start_soon(work)
            with anyio.fail_after(5):
                await source.waiting.wait()
            tasks.cancel_scope.cancel()
    assert source.closed
    assert source.given == 1
    assert described(frames)[2:] == ["ABORTED - The host stopped the work", "state STOPPED"]


@pytest.mark.parametrize("anyio_backend", ["asyncio"])  # trio cancels again and again
async def test_a_tool_that_swallows_the_cancellation_does_not_hold_the_session_at_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(driving, "_LOOK_S", 0.01)
    monkeypatch.setattr(driving, "_PATIENCE_S", 0.02)
    begun, swallowed, told = anyio.Event(), anyio.Event(), anyio.Event()

    async def stubborn() -> AsyncGenerator[object]:
        yield RunStarted()
        yield ToolStarted("t1", "look")
        begun.set()
        try:
            await anyio.sleep_forever()
        except asyncio.CancelledError:
            swallowed.set()
            await told.wait()
        yield ToolEnded("t1", "look", failed=False, result="late")
        yield RunEnded()

    with capture_frames() as frames, anyio.fail_after(5):
        async with open_session("s1") as session:
            driven = asyncio.ensure_future(session.drive(stubborn()))
            await begun.wait()
            driven.cancel()
            await swallowed.wait()
            while session.last_error is None:
                await anyio.lowlevel.checkpoint()
            assert session.state != AgentSessionState.AGENT_SESSION_STATE_READY
            told.set()
            await driven
            assert session.late_results == 1
    assert described(frames)[2:] == [
        "tool t1 IN_PROGRESS look",
        "update t1 INTERRUPTED",
        "ABORTED - The host stopped the work",
        "state READY",
        "state STOPPED",
    ]


@pytest.mark.parametrize("anyio_backend", ["asyncio"])  # trio lets nobody raise in its place
async def test_what_a_library_makes_of_a_cancellation_is_a_stop() -> None:
    begun = anyio.Event()

    async def closes() -> AsyncGenerator[object]:
        yield RunStarted()
        begun.set()
        try:
            await anyio.sleep_forever()
        except asyncio.CancelledError:
            raise ConnectionError("the connection was closed") from None

    async def work() -> None:
        async with open_session("s1") as session:
            await session.drive(closes())

    with capture_frames() as frames, anyio.fail_after(5):
        driven = asyncio.ensure_future(work())
        await begun.wait()
        driven.cancel()
        with pytest.raises(ConnectionError, match="the connection was closed"):
            await driven
    assert described(frames)[2:] == ["ABORTED - The host stopped the work", "state STOPPED"]


async def deadline(how: str, work: Coroutine[Any, Any, None]) -> None:
    """Do work that does not end until its deadline."""
    match how:
        case "wait_for":
            await asyncio.wait_for(work, 0.05)
        case "timeout":
            async with asyncio.timeout(0.05):
                await work
        case _:
            with anyio.fail_after(0.05):
                await work


@pytest.mark.parametrize("asked", [False, True])
@pytest.mark.parametrize("how", ["wait_for", "timeout", "fail_after"])
def test_a_deadline_within_the_session_is_one_stop(how: str, asked: bool) -> None:
    async def main() -> None:
        async with open_session("s1") as session:
            if asked:
                session.request_stop("user")
            await deadline(how, session.drive(Endless().events()))

    with capture_frames() as frames, pytest.raises(TimeoutError):
        asyncio.run(main())
    told = "Stopped by user" if asked else "The host stopped the work"
    assert described(frames)[2:] == [f"ABORTED - {told}", "state STOPPED"]
    assert [error.stopped_by for error in frames.errors()] == ["user" if asked else "host"]


@pytest.mark.parametrize("how", ["wait_for", "timeout", "fail_after"])
def test_a_deadline_around_the_hosts_own_loop_is_a_stop(how: str) -> None:
    async def loop(session: Session) -> None:
        async for event in Endless().events():
            session.feed(event)

    async def main() -> None:
        async with open_session("s1") as session:
            await deadline(how, loop(session))

    with capture_frames() as frames, pytest.raises(TimeoutError):
        asyncio.run(main())
    assert described(frames)[2:] == ["ABORTED - The host stopped the work", "state STOPPED"]


def test_a_deadline_of_a_loop_in_a_task_group_is_a_stop() -> None:
    async def loop(session: Session) -> None:
        async with asyncio.timeout(0.05):
            async for event in Endless().events():
                session.feed(event)

    async def main() -> None:
        async with open_session("s1") as session, asyncio.TaskGroup() as tasks:
            tasks.create_task(loop(session))

    with capture_frames() as frames, pytest.raises(ExceptionGroup):
        asyncio.run(main())
    assert described(frames)[2:] == ["ABORTED - The host stopped the work", "state STOPPED"]


@pytest.mark.parametrize("how", ["wait_for", "timeout", "fail_after"])
def test_a_deadline_that_a_tool_set_for_itself_is_a_failure(how: str) -> None:
    async def main() -> None:
        async with open_session("s1") as session:
            session.feed(RunStarted())
            await deadline(how, anyio.Event().wait())

    with capture_frames() as frames, pytest.raises(TimeoutError):
        asyncio.run(main())
    assert described(frames)[2:] == ["ERROR - TimeoutError", "state ERRORED"]


async def wrapped(cause: bool, *then: object) -> None:
    """Be a host that raises an exception of its own for what it drove, after `then`."""
    async with open_session("s1") as session:
        try:
            await session.drive(stream(RunStarted(), then=ValueError("no")))
        except ValueError as error:
            for event in then:
                session.feed(event)
            raise RuntimeError("the app failed") from (error if cause else None)


@pytest.mark.parametrize(
    ("cause", "then", "messages"),
    [
        (True, [], ["no"]),
        (False, [], ["no", "the app failed"]),
        (True, [RunStarted()], ["no", "the app failed"]),
    ],
)
async def test_what_is_raised_because_of_what_was_told_is_not_told(
    cause: bool,
    then: list[object],
    messages: list[str],
) -> None:
    with capture_frames() as frames, pytest.raises(RuntimeError):
        await wrapped(cause, *then)
    assert [error.message for error in frames.errors()] == messages


class Source:
    """An iterator of its own kind, which is no generator."""

    def __init__(self) -> None:
        self.closed = False

    def __aiter__(self) -> Source:
        return self

    async def __anext__(self) -> object:
        await anyio.lowlevel.checkpoint()
        raise KeyError("key")

    async def aclose(self) -> None:
        self.closed = True


async def test_any_stream_is_closed() -> None:
    source = Source()
    with capture_frames():
        async with open_session("s1") as session:
            with pytest.raises(KeyError):
                await session.drive(source)
    assert source.closed


async def test_nothing_is_told_when_recording_is_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMPASS_OFF", "1")
    frames = await driven(RunStarted(), then=ValueError("no"))
    assert list(frames) == []


@pytest.mark.parametrize("agent", ["claude-code", "codex", "gemini"])
async def test_the_bytes_of_a_command_can_be_driven(agent: str) -> None:
    async def chunks() -> AsyncIterator[Any]:
        data = command_run(agent, "text").data
        for at in range(0, len(data), 100):
            yield data[at : at + 100]

    with capture_frames() as frames:
        async with open_session("s1") as session:
            await session.drive(events_of(chunks()))
    assert "".join(frames.texts()) == "Hello wörld 👋"
    assert frames.states() == ["STARTING", "WORKING", "READY", "STOPPED"]
