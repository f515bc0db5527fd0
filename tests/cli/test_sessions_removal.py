"""`compass sessions rm` and `compass sessions prune`."""

from __future__ import annotations

import io
import json
import sqlite3
import sys
from typing import TYPE_CHECKING

import anyio
import pytest

from compass_agent.cli import main
from compass_agent.cli.exits import EXIT_USAGE
from compass_agent.errors.codes import TABLE, ErrorCode, OperationError
from compass_agent.errors.told import format_operation_error
from compass_agent.frames import AgentSessionState, FrameBuilder, SessionFrame
from compass_agent.log import open_log
from compass_agent.runtime.journals import removed_with
from left_behind import file_of, files, left, writer
from writing_logs import E1, E2, E3, read_all

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    Record = Callable[[str, Sequence[SessionFrame], int | None], str]

NOT_FOUND = TABLE[ErrorCode.NOT_FOUND].exit_status
STOPPED = AgentSessionState.AGENT_SESSION_STATE_STOPPED
BUILD = FrameBuilder(lambda: 0)
FRAMES = [BUILD.lifecycle(STOPPED), *(BUILD.assistant_text(f"w{n}", "1") for n in range(5))]


def sessions(url: str) -> set[str]:
    async def names() -> set[str]:
        log = open_log(url)
        try:
            return {one.session for one in await log.sessions()}
        finally:
            await log.aclose()

    return anyio.run(names)


def test_sessions_are_removed_by_id_beginning_and_place(
    record: Record, log_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("alpha", "beta", "gamma", "delta"):
        record(name, FRAMES, STOPPED)
    assert main(["sessions", "rm", "alpha", "be", "beta", "@last", "--yes"]) == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [
        f"compass: removed {name} (6 frames)" for name in ("alpha", "beta", "delta")
    ]
    assert sessions(log_url) == {"gamma"}


@pytest.mark.requirement("G-KEEP-2")
def test_a_session_at_work_is_removed_by_force_alone(
    record: Record, log_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    record("over", FRAMES, STOPPED)
    record("busy", FRAMES, None)
    assert main(["sessions", "rm", "over", "busy", "--yes"]) == 8
    assert "busy is at work; --force removes it" in capsys.readouterr().err
    assert sessions(log_url) == {"over", "busy"}
    assert main(["sessions", "rm", "busy", "--yes", "--force"]) == 0
    err = capsys.readouterr().err.splitlines()
    assert err[0] == "compass: removed busy (6 frames)"
    assert "under the same name, behind a gap" in err[1]
    assert sessions(log_url) == {"over"}


@pytest.mark.requirement("G-KEEP-2")
def test_what_a_dead_writer_of_a_removed_session_left_goes_too(
    record: Record, log_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    record("over", FRAMES, STOPPED)
    record("other", FRAMES, STOPPED)
    left(E1, url=log_url, session="over")
    stays = [
        left(E2, url=log_url, session="other").name,
        left(E3, url="sqlite:/elsewhere/log.db", session="over").name,
    ]
    lives = writer("4" * 16, url=log_url, session="over")
    stays.append(file_of("4" * 16).name)
    assert main(["sessions", "rm", "over", "--yes"]) == 0
    assert capsys.readouterr().err.splitlines() == [
        "compass: removed over (6 frames)",
        "compass: removed what a writer of over that is gone could not deliver",
    ]
    assert files() == sorted(stays)
    lives.close_journal()


def test_what_a_dead_writer_left_stays_when_its_session_cannot_be_removed(log_url: str) -> None:
    path = left(E1, url=log_url, session="over")

    def remove_in_vain() -> None:
        with removed_with(log_url, "over") as found:
            assert found == [path]
            raise OperationError(ErrorCode.UNAVAILABLE)

    with pytest.raises(OperationError):
        remove_in_vain()
    assert files() == [path.name]


def test_nothing_is_removed_when_one_name_does_not_fit(
    record: Record, log_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("one", "one-more", "two"):
        record(name, FRAMES, STOPPED)
    assert main(["sessions", "rm", "two", "nope", "--yes"]) == NOT_FOUND
    assert "there is no session nope; nothing was removed" in capsys.readouterr().err
    assert main(["sessions", "rm", "two", "on", "--yes"]) == NOT_FOUND
    assert "on begins the ids of 2 sessions" in capsys.readouterr().err
    assert main(["sessions", "rm", "two", "a b", "--yes"]) == 65
    assert sessions(log_url) == {"one", "one-more", "two"}
    assert main(["sessions", "rm", "one", "--yes"]) == 0
    assert sessions(log_url) == {"one-more", "two"}


def test_what_cannot_be_removed_is_told_in_one_line_and_the_next_says_what_to_do(
    record: Record, log_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    not_found, not_ready = TABLE[ErrorCode.NOT_FOUND], TABLE[ErrorCode.NOT_READY]
    rm = ["sessions", "rm", "--yes", "--log"]
    record("over", FRAMES, STOPPED)
    record("busy", FRAMES, None)
    nobody = "compass: there is no session nobody; nothing was removed"
    nothing = "compass: there are no sessions in this log yet"
    busy = "compass: busy is at work; --force removes it all the same"
    for log, name, line, row in (
        (log_url, "nobody", nobody, not_found),
        ("sqlite:/nowhere/at-all.db", "nobody", nothing, not_found),
        (log_url, "busy", busy, not_ready),
    ):
        assert main([*rm, log, "over", name]) == row.exit_status
        assert capsys.readouterr().err.splitlines() == [line, row.guidance]
    assert main(["sessions", "--json", "rm", "--yes", "--log", log_url, "nobody"]) == 4
    expected = format_operation_error(OperationError(ErrorCode.NOT_FOUND))
    assert json.loads(capsys.readouterr().err) == expected


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_who_is_asked_decides_and_who_cannot_be_asked_must_say_yes(
    record: Record,
    log_url: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    record("kept", FRAMES, STOPPED)
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
    assert main(["sessions", "rm", "kept"]) == EXIT_USAGE
    assert "--yes removes without asking" in capsys.readouterr().err
    for answer in ("n\n", "\n", ""):
        monkeypatch.setattr(sys, "stdin", Terminal(answer))
        assert main(["sessions", "rm", "kept"]) == 0
        assert "remove kept for good? [y/N] compass: nothing was removed" in capsys.readouterr().err
    assert sessions(log_url) == {"kept"}
    monkeypatch.setattr(sys, "stdin", Terminal("y\n"))
    assert main(["sessions", "rm", "kept"]) == 0
    assert sessions(log_url) == set()


@pytest.mark.parametrize("command", [["rm", "x", "--yes"], ["prune"], ["prune", "--json"]])
def test_a_log_that_is_not_there_is_not_made(
    command: list[str], log_url: str, tmp_path: Path
) -> None:
    expected = NOT_FOUND if command[0] == "rm" else 0
    assert main(["sessions", *command, "--log", log_url]) == expected
    assert [*tmp_path.glob("log.db*")] == []


@pytest.mark.requirement("G-KEEP-1", "G-KEEP-2")
def test_pruning_says_what_it_would_do_and_then_what_it_did(
    record: Record, log_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    record("over", FRAMES, STOPPED)
    record("busy", FRAMES, None)
    command = ["sessions", "prune", "--older-than", "0s", "--trace-frames", "2"]
    assert main([*command, "--dry-run"]) == 0
    out, err = capsys.readouterr()
    assert out.splitlines() == ["would remove over", "would trim busy: 3 trace frames"]
    assert err.startswith("compass: the log would have about ")
    assert sessions(log_url) == {"over", "busy"}
    assert main([*command, "--json"]) == 0
    done = json.loads(capsys.readouterr().out)
    assert (done["dryRun"], done["removed"]) == (False, ["over"])
    assert done["trimmed"] == [{"session": "busy", "frames": 3}]
    assert done["bytesAfter"] <= done["bytesBefore"]
    assert main(command) == 0
    assert "there is nothing to remove; the log has" in capsys.readouterr().err

    async def read() -> list[str]:
        log = open_log(log_url)
        try:
            return await read_all(log, session="busy")
        finally:
            await log.aclose()

    assert anyio.run(read) == ["p1", "gap 2-4 retention", "t5", "t6"]


def test_what_is_not_said_is_as_the_log_says(
    record: Record, log_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    record("over", FRAMES, STOPPED)
    assert main(["sessions", "prune"]) == 0
    assert sessions(log_url) == {"over"}
    monkeypatch.setenv("COMPASS_LOG", f"{log_url}?ended_age=0s")
    assert main(["sessions", "prune", "--older-than", "1h"]) == 0
    assert sessions(log_url) == {"over"}
    assert main(["sessions", "prune", "--trace-bytes", "1GiB"]) == 0
    assert sessions(log_url) == set()


def test_the_log_may_be_named_before_the_command_or_behind_it(
    record: Record, log_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    record("one", FRAMES, STOPPED)
    record("two", FRAMES, STOPPED)
    monkeypatch.delenv("COMPASS_LOG")
    assert main(["sessions", "--log", log_url, "rm", "one", "--yes"]) == 0
    assert main(["sessions", "prune", "--max-bytes", "0", "--log", log_url]) == 0
    assert sessions(log_url) == set()


@pytest.mark.parametrize(
    "limit",
    [("--older-than", "soon"), ("--max-bytes", "-1"), ("--trace-frames", "1.5"), ("--nope", "1")],
)
def test_a_limit_that_is_none_is_refused(
    limit: tuple[str, str], log_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sessions", "prune", *limit, "--log", log_url]) == EXIT_USAGE
    assert "error:" in capsys.readouterr().err


def test_a_file_of_another_version_is_told_as_such(
    record: Record, log_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    record("one", FRAMES, STOPPED)
    file = sqlite3.connect(log_url.removeprefix("sqlite:"))
    file.execute("PRAGMA user_version = 999001")
    file.close()
    commands = (
        ["sessions"],
        ["sessions", "prune"],
        ["tail", "one"],
        ["serve"],
        ["run", "--", "true"],
    )
    for command in commands:
        main(command)
        assert "the log was made by a newer Compass (its format is 999," in capsys.readouterr().err
