"""`compass tail`: what is printed where, and how it exits."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import anyio
import pytest
from google.protobuf.json_format import Parse

from broken_logs import raises
from compass.v1.compass_pb2 import AgentSessionFrame
from compass_agent.cli import main
from compass_agent.cli.exits import session_exit
from compass_agent.errors.codes import ErrorCode, OperationError
from compass_agent.frames import (
    AgentSessionState,
    FrameBuilder,
    SessionError,
    SessionErrorKind,
    SessionFrame,
    as_state,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Record = Callable[[str, Sequence[SessionFrame], int | None], str]

STARTING = AgentSessionState.AGENT_SESSION_STATE_STARTING
WORKING = AgentSessionState.AGENT_SESSION_STATE_WORKING
READY = AgentSessionState.AGENT_SESSION_STATE_READY
ERRORED = AgentSessionState.AGENT_SESSION_STATE_ERRORED
STOPPED = AgentSessionState.AGENT_SESSION_STATE_STOPPED
ERROR = SessionErrorKind.SESSION_ERROR_KIND_ERROR
ABORTED = SessionErrorKind.SESSION_ERROR_KIND_ABORTED

build = FrameBuilder(lambda: 1_700_000_000_000)

FAILED = [
    build.lifecycle(STARTING),
    build.lifecycle(WORKING),
    build.assistant_text("I will try", "1"),
    build.session_error(ERROR, "slow down", status=429, retry_after_ms=42_000),
    build.lifecycle(ERRORED),
]
REFUSED = [*FAILED[:3], build.session_error(ERROR, "bad key", status=401), FAILED[4]]
STOPPED_ON_PURPOSE = [
    *FAILED[:3],
    build.session_error(ABORTED, "Request was aborted", stopped_by="user"),
    build.lifecycle(READY),
]


def test_a_session_that_failed_for_now_exits_75(
    record: Record, capsys: pytest.CaptureFixture[str]
) -> None:
    record("s1", FAILED, ERRORED)
    assert main(["tail", "s1"]) == 75
    out, err = capsys.readouterr()
    assert "Rate limited (HTTP 429 Too Many Requests)" in out
    assert "I will try" in out
    assert err == ""
    assert "\x1b" not in out


def test_a_session_that_failed_for_good_exits_3(record: Record) -> None:
    record("s1", REFUSED, ERRORED)
    assert main(["tail", "s1"]) == 3


@pytest.mark.parametrize("end", [STOPPED, None])
def test_an_aborted_session_exits_0(record: Record, end: int | None) -> None:
    record("s1", STOPPED_ON_PURPOSE, end)
    assert main(["tail", "s1", "--no-follow"]) == 0


def test_a_tail_that_begins_after_the_failure_still_exits_with_it(record: Record) -> None:
    epoch = record("s1", FAILED, ERRORED)
    assert main(["tail", "s1", "--after", f"{epoch}-5"]) == 75
    assert main(["tail", "s1", "--after", f"{epoch}-4"]) == 75


def test_after_a_cursor_only_the_rest_is_shown(
    record: Record, capsys: pytest.CaptureFixture[str]
) -> None:
    epoch = record("s1", FAILED, None)
    main(["tail", "s1", "--no-follow", "--after", f"{epoch}-3"])
    out = capsys.readouterr().out
    assert "slow down" in out
    assert "I will try" not in out


def test_json_is_one_protobuf_object_a_line(
    record: Record, capsys: pytest.CaptureFixture[str]
) -> None:
    epoch = record("s1", [*FAILED, build.notice("\x1b[2J\u202e")], ERRORED)
    assert main(["tail", "s1", "--json", "--color", "always"]) == 75
    out = capsys.readouterr().out
    read = [Parse(line, AgentSessionFrame()) for line in out.splitlines()]
    assert [frame.seq for frame in read] == [1, 2, 3, 4, 5, 6, 6]
    assert {(frame.session_id, frame.epoch) for frame in read} == {("s1", epoch)}
    assert read[3].event.session_error.status == 429
    assert read[5].event.notice.text == "\x1b[2J\u202e"
    assert read[6].end.state == ERRORED
    assert "\x1b" not in out


def test_a_session_is_found_by_its_beginning_and_as_the_last(
    record: Record, capsys: pytest.CaptureFixture[str]
) -> None:
    record("run-abc", [build.lifecycle(READY)], STOPPED)
    assert main(["tail", "run-a"]) == 0
    assert capsys.readouterr().err == "compass: following run-abc\n"
    assert main(["tail", "@last"]) == 0


def test_no_such_session_is_told_in_two_lines(
    log_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["tail", "nobody", "--log", log_url, "--no-follow"]) == 4
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [
        "compass: There is no such session.",
        "List the sessions and use an id from that list.",
    ]


def test_with_json_the_error_is_an_object(log_url: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tail", "nobody", "--log", log_url, "--no-follow", "--json"]) == 4
    told = json.loads(capsys.readouterr().err)
    assert (told["success"], told["code"], told["retryable"]) == (False, "not_found", False)


def test_waiting_is_said_once_and_bounded(log_url: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tail", "nobody", "--log", log_url, "--wait", "0.25"]) == 4
    err = capsys.readouterr().err
    assert err.count("waiting up to 0.25 s") == 1


def test_the_last_session_is_not_waited_for(
    log_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["tail", "@last", "--log", log_url]) == 4
    assert "waiting" not in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["tail"],
        ["nonsense"],
        ["tail", "s", "--after", "yesterday"],
        ["tail", "s", "--wait", "nan"],
        ["tail", "s", "--wait", "-1"],
        ["tail", "s", "--color", "blue"],
        ["tail", "s", "--no-f"],
        ["sessions", "--limit", "-3"],
    ],
)
def test_bad_usage_exits_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "usage: compass" in err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["tail", "a/b"], ["compass: ", ""]),
        (["tail", "s", "--log", "nonsense:x"], ["compass: --log nonsense:x: no such log; "]),
    ],
)
def test_bad_input_exits_65(
    arguments: list[str], told: list[str], log_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    del log_url
    assert main(arguments) == 65
    lines = capsys.readouterr().err.splitlines()
    assert [line[: len(begin)] for line, begin in zip(lines, told, strict=True)] == told


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (OperationError(ErrorCode.UNAVAILABLE), 5),
        (OperationError(ErrorCode.PERMISSION_DENIED), 77),
        (RuntimeError("secret"), 1),
        (ExceptionGroup("g", [OperationError(ErrorCode.UNAVAILABLE)]), 5),
        (KeyboardInterrupt(), 130),
        (BaseExceptionGroup("g", [KeyboardInterrupt()]), 130),
        (ExceptionGroup("g", [BrokenPipeError(), BrokenPipeError()]), 141),
        (BrokenPipeError(), 141),
    ],
)
def test_whatever_goes_wrong_has_its_status_and_no_traceback(
    error: BaseException,
    status: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("compass_agent.log.open_log", raises(error))
    monkeypatch.setattr("compass_agent.cli.exits._forget_stdout", lambda: None)
    assert main(["tail", "s"]) == status
    err = capsys.readouterr().err
    assert "Traceback" not in err
    assert "secret" not in err
    assert (err == "") == (status in {130, 141})


@pytest.mark.requirement("G-READ-5")
def test_an_interrupted_tail_says_where_to_go_on(
    record: Record, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    epoch = record("s1", FAILED, None)

    async def stop(_: object) -> bool:
        await anyio.lowlevel.checkpoint()
        raise OperationError(ErrorCode.UNAVAILABLE)

    monkeypatch.setattr("compass_agent.log.stream.PageStream._wait", stop)
    assert main(["tail", "s1"]) == 5
    assert f"--after {epoch}-5 goes on" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("state", "error", "status"),
    [
        (READY, None, 0),
        (STOPPED, None, 0),
        (42, None, 0),
        (ERRORED, None, 3),
        (ERRORED, SessionError(kind=ERROR, message="x", status=503), 75),
        (ERRORED, SessionError(kind=ERROR, message="x", status=401), 3),
        pytest.param(ERRORED, SessionError(kind=ERROR), 3, id="empty"),
        (STOPPED, SessionError(kind=ERROR, message="x", status=401), 3),
        (READY, SessionError(kind=ABORTED, message="x"), 0),
        (READY, SessionError(message="of a kind that is not known"), 3),
    ],
)
def test_how_a_session_was_left_gives_the_exit_status(
    state: int, error: SessionError | None, status: int
) -> None:
    assert session_exit(as_state(state), error) == status


def test_ascii_and_colour_follow_the_options(
    record: Record, capsys: pytest.CaptureFixture[str]
) -> None:
    record("s1", FAILED, ERRORED)
    main(["tail", "s1", "--ascii"])
    assert capsys.readouterr().out.isascii()
    main(["tail", "s1", "--color", "always"])
    assert "\x1b[31m" in capsys.readouterr().out


def test_version_and_help_exit_0(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("compass 0.")
    assert main(["--help"]) == 0
    assert "tail" in capsys.readouterr().out
    assert main(["tail", "--help"]) == 0
    assert "--after" in capsys.readouterr().out
