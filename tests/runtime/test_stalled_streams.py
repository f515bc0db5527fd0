"""`Session.drive` of a stream that says nothing: told after a minute, stopped when asked."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import suppress

import anyio
import pytest

from compass_agent import open_session
from compass_agent.events import Failure, MessageFailed, RunEnded, RunStarted, TextDelta
from compass_agent.runtime import stalls
from compass_agent.testing import CapturedFrames, capture_frames
from reading_frames import described

pytestmark = pytest.mark.requirement("G-AGENT-2")
STALLED = ["ABORTED - Stalled: no output for 0.1 s", "state STOPPED"]


async def silent(*events: object, swallows: bool = False) -> AsyncGenerator[object]:
    for event in events:
        yield event
    if not swallows:
        await anyio.sleep_forever()
    with suppress(BaseException):
        await anyio.sleep_forever()
    yield MessageFailed(Failure(aborted=True, message="The agent's own words"))


async def driven(stream: AsyncGenerator[object], stall: float | None) -> CapturedFrames:
    with capture_frames() as frames, anyio.fail_after(5):
        async with open_session("s1") as session:
            with pytest.raises(TimeoutError, match=r"no output for 0\.1 s"):
                await session.drive(stream, stall=stall)
    return frames


def without_notice(frames: CapturedFrames) -> list[str]:
    return [line for line in described(frames) if line != "notice No output for 0.05 s"]


async def test_a_stream_that_stalls_is_stopped_and_told_once() -> None:
    frames = await driven(silent(RunStarted(), TextDelta("hi")), 0.1)
    assert without_notice(frames)[1:] == ["state WORKING", "text 0 hi", *STALLED]
    (error,) = frames.errors()
    assert (error.code, error.stopped_by) == ("adapter.stalled", "watchdog")


async def test_a_stream_that_never_says_a_word_stalls() -> None:
    assert described(await driven(silent(), 0.1)) == ["state STARTING", *STALLED]


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_what_a_stream_says_of_its_stop_does_not_hide_why() -> None:
    frames = await driven(silent(RunStarted(), swallows=True), 0.1)
    assert described(frames)[2:] == ["notice No output for 0.05 s", *STALLED]
    assert len(frames.errors()) == 1


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_silent_stream_is_told_once_for_each_silence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(stalls, "_QUIET_S", 0.03)
    notice = "notice No output for 0.03 s"
    with capture_frames() as frames, anyio.fail_after(5):

        async def told(times: int) -> None:
            while described(frames).count(notice) < times:
                await anyio.lowlevel.checkpoint()

        async def stream() -> AsyncGenerator[object]:
            yield RunStarted()
            await told(1)
            yield TextDelta("one")
            await told(2)
            yield RunEnded()

        async with open_session("s1") as session:
            await session.drive(stream())
    assert described(frames)[2:] == [
        notice,
        "text 0 one",
        notice,
        "state READY",
        "state STOPPED",
    ]


async def test_a_stream_that_is_silent_between_its_runs_does_not_stall() -> None:
    async def stream() -> AsyncGenerator[object]:
        yield RunStarted()
        yield RunEnded()
        with anyio.move_on_after(0.15):
            await anyio.sleep_forever()
        yield RunStarted()
        yield RunEnded()

    with capture_frames() as frames, anyio.fail_after(5):
        async with open_session("s1") as session:
            await session.drive(stream(), stall=0.05)
    assert frames.errors() == []


async def test_a_session_goes_on_after_a_stall() -> None:
    async def good() -> AsyncGenerator[object]:
        yield RunStarted()
        yield MessageFailed(Failure(aborted=False, message="no"))
        yield RunEnded()

    with capture_frames() as frames, anyio.fail_after(5):
        async with open_session("s1") as session:
            with pytest.raises(TimeoutError):
                await session.drive(silent(RunStarted()), stall=0.1)
            await session.drive(good())
    assert described(frames)[-2:] == ["ERROR - no", "state ERRORED"]
