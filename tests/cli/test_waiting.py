"""Waiting for a session: what is waited for, for how long, and who notices that nobody reads."""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import time
from typing import TYPE_CHECKING

import pytest

from compass_agent import open_session
from compass_agent.cli import main
from compass_agent.frames import (
    FrameBuilder,
    SessionFrame,
)
from frame_words import ERROR, ERRORED, READY, STOPPED, WORKING
from terminals import COMMAND, PATIENCE_S, Terminal, environment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from compass_agent import Session

    Record = Callable[[str, Sequence[SessionFrame], int | None], str]
    Capture = pytest.CaptureFixture[str]


build = FrameBuilder(lambda: time.time_ns() // 1_000_000)
START = {"type": "agent_start"}
END = {"type": "agent_end"}


def failed(status: int) -> list[SessionFrame]:
    return [build.session_error(ERROR, "x", status=status), build.lifecycle(ERRORED)]


def failure(status: int) -> dict[str, object]:
    told = {"stopReason": "error", "errorMessage": "no", "errorStatus": status}
    return {"type": "message_end", "message": {"role": "assistant", **told}}


@pytest.fixture
def session(log_url: str) -> Iterator[Session]:
    """A session at work, in the log that commands find."""
    with open_session("live", log=log_url) as session:
        session.feed(START)
        yield session


def waiting(*arguments: str) -> subprocess.Popen[str]:
    """Start a command that waits; it has begun to read once it says so, or prints."""
    return subprocess.Popen(
        [*COMMAND, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    )


@pytest.mark.parametrize(
    ("frames", "end", "until", "status"),
    [
        ([build.lifecycle(WORKING)], STOPPED, "ended", 0),
        ([build.lifecycle(READY)], None, "idle", 0),
        (
            [build.session_error(ERROR, "x", status=503), build.lifecycle(ERRORED)],
            None,
            "error",
            75,
        ),
        ([build.session_error(ERROR, "x", status=401), build.lifecycle(ERRORED)], None, "idle", 3),
        ([build.lifecycle(READY)], STOPPED, "error", 0),
        ([build.lifecycle(READY)], STOPPED, "turn", 0),
    ],
)
def test_what_is_there_already_is_not_waited_for(
    frames: list[SessionFrame],
    end: int | None,
    until: str,
    status: int,
    record: Record,
    capsys: Capture,
) -> None:
    record("s1", frames, end)
    assert main(["wait", "s1", "--until", until]) == status
    assert capsys.readouterr().out.split()[1] in {"READY", "ERRORED", "STOPPED", "WORKING"}
    assert main(["tail", "s1", "--until", until]) == status


@pytest.mark.requirement("G-TERM-3")
@pytest.mark.parametrize(
    ("until", "events", "status"),
    [
        ("idle", [END], 0),
        ("turn", [END], 0),
        ("turn", [failure(429)], 75),
        ("error", [END, START, failure(401)], 3),
    ],
)
def test_a_wait_ends_with_what_it_waits_for(
    until: str, events: list[dict[str, object]], status: int, session: Session
) -> None:
    with (
        waiting("wait", "live", "--until", until, "--json") as wait,
        waiting("tail", "live", "--until", until) as tail,
    ):
        # They take a while to begin, and a turn that is over by then is not waited for: more come.
        for _ in range(100):
            for event in events:
                session.feed(event)
            with contextlib.suppress(subprocess.TimeoutExpired):
                wait.wait(0.3)
                tail.wait(0.3)
                break
            session.feed(START)
        out, err = wait.communicate(timeout=PATIENCE_S)
        tail.communicate(timeout=PATIENCE_S)
    assert (wait.returncode, err, tail.returncode) == (status, "", status)
    assert json.loads(out)["sessionId"] == "live"


def test_time_that_is_over_is_124(record: Record, capsys: Capture) -> None:
    record("s1", [build.lifecycle(WORKING), build.assistant_text("half", "1")], None)
    for command in (["wait", "s1"], ["tail", "s1"], ["tail", "s1", "--until", "idle"]):
        assert main([*command, "--timeout", "300ms"]) == 124
    out = capsys.readouterr().out
    assert out.count("half\n") == 2
    assert main(["tail", "nobody", "--timeout", "0.2"]) == 124
    assert main(["wait", "nobody", "--wait", "100ms"]) == 4


@pytest.mark.requirement("G-TERM-3")
@pytest.mark.usefixtures("session")
@pytest.mark.parametrize("options", [[], ["--json"]])
def test_a_reader_that_leaves_is_noticed_while_nothing_comes(options: list[str]) -> None:
    with waiting("tail", "live", *options) as tail:
        assert tail.stdout is not None
        assert tail.stderr is not None
        assert tail.stdout.readline()
        tail.stdout.close()
        assert tail.wait(PATIENCE_S) == 141
        assert tail.stderr.read() == ""


def test_a_countdown_runs_on_a_terminal_and_is_wiped(session: Session) -> None:
    with Terminal("tail", "live", both=True, NO_COLOR="1") as terminal:
        terminal.until("WORKING")
        session.fail(RuntimeError("Rate limit reached. Please try again in 900s"))
        terminal.until("the provider lets try again in 15 min")
        terminal.until("the provider lets try again in 14 min 58 s")
        session.feed(START)
        session.notice("going on")
        terminal.until("going on")
    # It was wiped before anything else was printed: no line of ours holds it.
    for line in re.split("[\r\n]+", terminal.text):
        assert not ("lets try again" in line and re.match("[0-9]{2}:", line))


def test_a_wait_that_passed_is_said_to_have_passed(record: Record, capsys: Capture) -> None:
    past = FrameBuilder(lambda: 1_700_000_000_000)
    later = FrameBuilder(lambda: time.time_ns() // 1_000_000)
    for name, builder in (("past", past), ("later", later)):
        error = builder.session_error(ERROR, "x", status=429, retry_after_ms=900_000)
        record(name, [error, builder.lifecycle(ERRORED)], None)
        main(["tail", name, "--no-follow"])
        out = capsys.readouterr().out
        assert "asked to wait 15 min" in out
        assert (", which has passed" in out) == (name == "past")
