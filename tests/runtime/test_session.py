"""A session in the host's process: three lines, never waiting, never raising."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio import to_thread

from compass_agent import ErrorCode, OperationError, Session, open_session
from compass_agent.events import RunStarted, ToolStarted
from compass_agent.log import default_path
from compass_agent.wire import End, FrameItem
from inner_events import Json, assistant_end, delta, message_start, run_end
from reading_frames import errors_of
from stored import frames_in, lines_in, read_items

RATE_LIMIT = assistant_end("error", errorMessage="Rate limit reached", errorStatus=429)


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:{tmp_path / 'log.db'}"


async def agent_events() -> AsyncIterator[Json]:
    for event in ({"type": "agent_start"}, message_start(), delta("hello"), RATE_LIMIT):
        yield event


async def test_three_lines_embed_it() -> None:
    async with open_session("s1") as session:  # SQLite in the state folder
        async for event in agent_events():
            session.feed(event)

    lines = await to_thread.run_sync(lines_in, f"sqlite:{default_path()}", "s1")
    assert lines == [
        "state STARTING",
        "state WORKING",
        "text 1 hello",
        "ERROR 429 Rate limit reached",
        "state ERRORED",
    ]


@pytest.mark.requirement("G-TURN-5")
def test_a_host_without_a_loop_uses_with(url: str) -> None:
    with open_session("s1", log=url) as session:
        session.feed({"type": "agent_start"})
        session.feed(run_end())

    assert lines_in(url, "s1") == [
        "state STARTING",
        "state WORKING",
        "state READY",
        "state STOPPED",
    ]


@pytest.mark.requirement("G-LOG-6")
async def test_the_end_is_stored(url: str) -> None:
    async with open_session("s1", log=url):
        pass

    items = await read_items(url, "s1")
    assert isinstance(items[-1], End)
    assert items[-1].last_seq == 2


@pytest.mark.requirement("G-TURN-5")
def test_an_exception_is_told_and_leaves_unchanged(url: str) -> None:
    boom = ValueError("no such model")

    with pytest.raises(ValueError, match="no such model") as caught, open_session("s1", log=url):
        raise boom

    assert caught.value is boom
    assert lines_in(url, "s1")[1:] == ["ERROR - no such model", "state ERRORED"]


async def test_an_exception_in_an_async_block_leaves_unchanged(url: str) -> None:
    boom = TimeoutError()

    with pytest.raises(TimeoutError) as caught:
        async with open_session("s1", log=url):
            raise boom

    assert caught.value is boom
    lines = await to_thread.run_sync(lines_in, url, "s1")
    assert lines[1:] == ["ERROR - TimeoutError", "state ERRORED"]


@pytest.mark.requirement("G-TURN-3", "G-TURN-5")
def test_work_that_is_left_in_the_middle_leaves_no_tool_open(url: str) -> None:
    with open_session("s1", log=url) as session:
        session.feed(RunStarted())
        session.feed(ToolStarted("t1", "look"))

    assert lines_in(url, "s1") == [
        "state STARTING",
        "state WORKING",
        "tool t1 IN_PROGRESS look",
        "update t1 INTERRUPTED",
        "state STOPPED",
    ]


@pytest.mark.requirement("G-TURN-3", "G-TURN-5")
def test_a_tool_that_begins_after_the_failure_is_closed_at_the_end(url: str) -> None:
    with open_session("s1", log=url) as session:
        session.fail("it broke")
        session.feed(ToolStarted("t1", "look"))

    assert lines_in(url, "s1")[1:] == [
        "ERROR - it broke",
        "state ERRORED",
        "tool t1 IN_PROGRESS look",
        "update t1 FAILED",
    ]


@pytest.mark.requirement("G-TURN-2", "G-TURN-5")
async def test_a_cancelled_block_is_an_abort_by_the_host(url: str) -> None:
    with anyio.CancelScope() as scope:
        async with open_session("s1", log=url) as session:
            session.feed({"type": "agent_start"})
            scope.cancel()
            await anyio.sleep_forever()

    frames = await to_thread.run_sync(frames_in, url, "s1")
    (error,) = errors_of(frames)
    lines = await to_thread.run_sync(lines_in, url, "s1")
    assert error.stopped_by == "host"
    assert lines[2:] == ["ABORTED - The host stopped the work", "state STOPPED"]


@pytest.mark.parametrize(
    ("said", "by"),
    [({}, "user"), ({"stopped_by": "watchdog"}, "watchdog")],
)
def test_a_stop_that_was_asked_for_is_by_whoever_asked(
    url: str, said: dict[str, str], by: str
) -> None:
    with open_session("s1", log=url) as session:
        session.request_stop("user")
        session.abort("enough", **said)

    (error,) = errors_of(frames_in(url, "s1"))
    assert (error.message, error.stopped_by) == ("enough", by)


@pytest.mark.requirement("G-TURN-2")
@pytest.mark.parametrize(
    ("stop", "kind"),
    [
        (KeyboardInterrupt(), "ABORTED"),
        (BaseExceptionGroup("all", [KeyboardInterrupt(), KeyboardInterrupt()]), "ABORTED"),
        (BaseExceptionGroup("mixed", [KeyboardInterrupt(), ValueError("x")]), "ERROR"),
        (SystemExit(0), "state"),
        (SystemExit(3), "ERROR"),
    ],
    ids=["interrupt", "interrupts", "mixed", "clean exit", "bad exit"],
)
def test_a_stop_is_told_from_a_failure(url: str, stop: BaseException, kind: str) -> None:
    with pytest.raises(type(stop)), open_session("s1", log=url):
        raise stop

    assert lines_in(url, "s1")[1].split()[0] == kind


def test_a_failure_that_the_agent_told_is_not_told_again(url: str) -> None:
    with contextlib.suppress(RuntimeError), open_session("s1", log=url) as session:
        session.feed(message_start())
        session.feed(RATE_LIMIT)
        raise RuntimeError("Error code: 429 - Rate limit reached")

    assert [error.message for error in errors_of(frames_in(url, "s1"))] == ["Rate limit reached"]


def test_what_the_host_says_is_told(url: str) -> None:
    with open_session("s1", log=url) as session:
        session.notice("checking out", link="https://example.org/1")
        session.inject("steer", "m1", "ops", "00-ab-cd-01")
        session.fail({"status": 503, "headers": {"retry-after": "7"}, "body": '{"error":"busy"}'})
        session.abort("enough", stopped_by="watchdog")

    frames = frames_in(url, "s1")
    failed, stopped = errors_of(frames)
    assert (failed.message, failed.status, failed.retry_after_ms) == ("busy", 503, 7_000)
    assert (stopped.message, stopped.stopped_by) == ("enough", "watchdog")
    assert lines_in(url, "s1")[1:3] == ["notice checking out", "injection STEER"]


def test_a_failure_without_an_answer_has_no_status(url: str) -> None:
    with open_session("s1", log=url) as session:
        session.fail(ConnectionRefusedError(111, "Connection refused"))

    (error,) = errors_of(frames_in(url, "s1"))
    assert "Connection refused" in error.message
    assert not error.HasField("status")


@pytest.mark.parametrize("session", ["", "a/b", "-x", "x" * 200])
def test_a_bad_session_id_is_a_typed_error(session: str, url: str) -> None:
    with pytest.raises(OperationError) as caught:
        open_session(session, log=url)
    assert caught.value.code is ErrorCode.UNSUPPORTED_INPUT


@pytest.mark.parametrize("log", ["ftp:x", "nonsense", "sqlite:"])
def test_a_bad_log_is_a_typed_error(log: str) -> None:
    with pytest.raises(OperationError) as caught:
        open_session("s1", log=log)
    assert caught.value.code is ErrorCode.UNSUPPORTED_INPUT


class Raising(dict[str, Any]):
    def get(self, *_: Any) -> Any:
        raise RuntimeError


@pytest.mark.parametrize("event", [None, 5, "x", [], {}, {"type": 1}, Raising(), object()])
def test_feeding_anything_never_raises(event: Any, url: str) -> None:
    with open_session("s1", log=url) as session:
        session.feed(event)
        session.fail(event)

    assert frames_in(url, "s1")


def test_a_log_that_cannot_be_opened_never_reaches_the_agent(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("in the way")
    with open_session("s1", log=f"sqlite:{tmp_path}/file/log.db", close_timeout=0.2) as session:
        session.feed(message_start())
        session.feed(RATE_LIMIT)

    assert session.statistics().priority.waiting == 4
    assert any("could not be opened" in record.message for record in caplog.records)


def test_a_machine_without_threads_to_spare_never_reaches_the_agent(
    url: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def no_thread(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", no_thread)
    with open_session("s1", log=url) as session:
        session.feed(message_start())
    monkeypatch.undo()

    assert session.statistics().priority.waiting == 3
    assert len(caplog.records) == 1


@pytest.mark.parametrize("timeout", [0.2, 1.0])
def test_closing_keeps_its_time_when_the_log_is_locked(url: str, timeout: float) -> None:
    with open_session("s1", log=url):
        pass
    other = sqlite3.connect(url.removeprefix("sqlite:"), isolation_level=None)
    try:
        other.execute("BEGIN EXCLUSIVE")
        with contextlib.ExitStack() as stack:
            session = stack.enter_context(open_session("s1", log=url, close_timeout=timeout))
            session.notice("x")
            before = time.monotonic()
        spent = time.monotonic() - before
    finally:
        other.rollback()
        other.close()

    assert spent < timeout + 0.8
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join(10)


@pytest.mark.parametrize("odd", [None, 5, {"message": "odd"}, ValueError("odd")])
def test_odd_texts_of_the_host_are_told(url: str, odd: Any) -> None:
    with open_session("s1", log=url) as session:
        session.notice(odd)
        session.inject(odd, odd, odd)
        session.abort(odd, stopped_by=odd)

    assert [line.split()[0] for line in lines_in(url, "s1")[1:4]] == [
        "notice",
        "injection",
        "ABORTED",
    ]


def test_frames_arrive_while_the_host_is_busy(url: str) -> None:
    """The host's thread never comes back to a loop; another one reads what it did."""
    arrived = threading.Event()

    async def read() -> None:
        while True:
            with contextlib.suppress(OperationError):
                items = await read_items(url, "s1")
                if sum(isinstance(item, FrameItem) for item in items) >= 3:
                    arrived.set()
                    return
            await anyio.lowlevel.checkpoint()

    reader = threading.Thread(target=anyio.run, args=(read,))
    with open_session("s1", log=url) as session:
        session.feed(message_start())
        session.feed(delta("x"))
        reader.start()
        assert arrived.wait(10)
    reader.join()


def test_many_sessions_share_one_thread_and_leave_none(url: str) -> None:
    before = threading.active_count()
    with contextlib.ExitStack() as stack:
        sessions = [stack.enter_context(open_session(f"s{n}", log=url)) for n in range(20)]
        for session in sessions:
            session.notice("hello")
        loops = [t for t in threading.enumerate() if "portal" in t.name.lower()]
        assert len(loops) <= 1

    assert [lines_in(url, f"s{n}")[1] for n in range(20)] == ["notice hello"] * 20
    assert threading.active_count() <= before + 1


@pytest.mark.requirement("G-LOG-6")
def test_opening_a_session_again_is_a_new_epoch(url: str) -> None:
    epochs: list[str] = []
    for _ in range(2):
        with open_session("s1", log=url) as session:
            epochs.append(session.epoch)

    assert len(set(epochs)) == 2
    assert lines_in(url, "s1") == ["state STARTING", "state STOPPED"] * 2


def test_emitting_from_many_threads_loses_nothing(url: str) -> None:
    def work(session: Session) -> None:
        for _ in range(50):
            session.notice("n")

    with open_session("s1", log=url) as session:
        threads = [threading.Thread(target=work, args=(session,)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert session.statistics().trace.delivered == 400
    assert lines_in(url, "s1").count("notice n") == 400


def test_the_default_log_is_named_by_the_environment(
    monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    monkeypatch.setenv("COMPASS_LOG", url)
    with open_session("s1"):
        pass

    assert Path(url.removeprefix("sqlite:")).exists()
