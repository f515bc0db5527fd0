"""Captured frames: what the code under test told, at once, and without a log."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from compass_agent import open_session
from compass_agent.errors.codes import ErrorCode, OperationError
from compass_agent.log import default_path
from compass_agent.testing import capture_frames
from inner_events import assistant_end, delta, message_start
from reading_frames import described


def an_agent(session_id: str = "s1", *, log: str | None = None) -> None:
    with open_session(session_id, secrets=["hunter2"], log=log) as session:
        session.feed(message_start())
        session.feed(delta("the password is hunter2"))
        session.feed(assistant_end("error", errorMessage="Overloaded", errorStatus=529))


def test_every_frame_is_there_in_the_order_in_which_it_was_told() -> None:
    with capture_frames() as frames:
        an_agent()

    assert described(frames) == [
        "state STARTING",
        "state WORKING",
        "text 1 the password is [redacted]",
        "ERROR 529 Overloaded",
        "state ERRORED",
    ]
    assert frames.states() == ["STARTING", "WORKING", "ERRORED"]
    assert [error.status for error in frames.errors()] == [529]
    assert frames.texts() == ["the password is [redacted]"]


def test_a_frame_is_there_as_soon_as_the_call_that_told_it_returns() -> None:
    with capture_frames() as frames, open_session("s1") as session:
        session.notice("hello")
        assert described(frames)[-1] == "notice hello"
        assert session.statistics().trace.delivered == 1


async def test_async_sessions_are_captured_too() -> None:
    with capture_frames() as frames:
        async with open_session("s1") as session:
            session.notice("hello")

    assert described(frames) == ["state STARTING", "notice hello", "state STOPPED"]


def test_nothing_is_stored_and_no_thread_is_started(tmp_path: Path) -> None:
    before = threading.active_count()
    with capture_frames(), open_session("s1", log=f"sqlite:{tmp_path}/log.db"):
        assert threading.active_count() == before

    assert not (tmp_path / "log.db").exists()
    assert not default_path().exists()


def test_more_trace_than_a_lane_holds_is_captured_whole() -> None:
    with capture_frames() as frames, open_session("s1", trace_capacity=10) as session:
        for number in range(500):
            session.notice(str(number))

    assert len(frames) == 502
    assert session.statistics().trace.lost == 0


def test_sessions_and_threads_are_told_apart() -> None:
    with capture_frames() as frames:
        threads = [threading.Thread(target=an_agent, args=(name,)) for name in ("a", "b")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert len(frames) == 10
    assert {name: len(mine) for name, mine in frames.by_session.items()} == {"a": 5, "b": 5}


def test_the_inner_of_two_blocks_gets_the_frames() -> None:
    with capture_frames() as outer, open_session("before"):
        with capture_frames() as inner:
            an_agent("inside")
        an_agent("after")

    assert [*inner.by_session] == ["inside"]
    assert [*outer.by_session] == ["before", "after"]


def test_after_the_block_sessions_go_to_their_log_again() -> None:
    with pytest.raises(RuntimeError), capture_frames():
        raise RuntimeError
    an_agent()

    assert default_path().exists()


def test_a_log_that_could_not_be_opened_is_refused_as_without_capture() -> None:
    with capture_frames(), pytest.raises(OperationError) as caught:
        an_agent(log="nonsense")
    assert caught.value.code is ErrorCode.UNSUPPORTED_INPUT


def test_a_session_that_is_off_tells_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMPASS_OFF", "1")
    with capture_frames() as frames:
        an_agent()

    assert frames == []
