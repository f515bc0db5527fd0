"""`compass run` with a command that says nothing: stuck at its work, or not gone after it."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from typing import TYPE_CHECKING

import anyio
import pytest

from command_runs import command_run
from commands import compass
from compass_agent import Session, open_session
from compass_agent.cli.silence import Silence, linger_of
from compass_agent.testing import capture_frames
from inner_events import Json, delta, message_start, run_end, tool_end, tool_start
from reading_frames import described, errors_of
from stored import frames_in, lines_in

if TYPE_CHECKING:
    from pathlib import Path

FOREVER = "import signal\nsignal.pause()"
TOOL = (message_start(), tool_start(), tool_end("found"))


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:{tmp_path / 'log.db'}"


def run(url: str, lines: bytes, *options: str, then: str = "") -> subprocess.CompletedProcess[str]:
    """Run a command that prints lines, then says nothing for ever, although it was interrupted."""
    script = (
        "import signal, sys\n"
        f"{then}\n"
        f"sys.stdout.buffer.write({lines!r})\n"
        f"sys.stdout.flush()\n{FOREVER}\n"
    )
    command = ("--", sys.executable, "-c", script)
    return compass("run", "--session", "s1", "--log", url, *options, *command)


def lines_of(*events: Json) -> bytes:
    return b"".join(json.dumps(event).encode() + b"\n" for event in events)


def test_a_command_that_is_silent_after_a_tool_is_told_and_stopped_when_asked(url: str) -> None:
    done = run(url, lines_of(*TOOL), "--stall", "400ms")

    (error,) = errors_of(frames_in(url, "s1"))
    assert done.returncode == 124
    assert (error.code, error.stopped_by) == ("adapter.stalled", "watchdog")
    assert lines_in(url, "s1")[-3:] == [
        "notice No output for 0.2 s",
        "ABORTED - Stalled: no output for 0.4 s",
        "state STOPPED",
    ]


@pytest.mark.parametrize("agent", ["claude-code", "codex", "gemini"])
def test_a_turn_is_over_at_its_result_and_the_command_is_stopped(url: str, agent: str) -> None:
    done = run(url, command_run(agent, "text").data, "--linger", "100ms")

    assert done.returncode == 0
    assert errors_of(frames_in(url, "s1")) == []
    assert lines_in(url, "s1")[-4:] == [
        "state READY",
        "notice The command had not exited 0.1 s after its work: it was stopped",
        "notice The agent's stream ended",
        "state STOPPED",
    ]


def test_a_command_that_failed_and_does_not_exit_has_failed(url: str) -> None:
    done = run(url, command_run("gemini", "err-429").data, "--linger", "100ms")

    (error,) = errors_of(frames_in(url, "s1"))
    assert (done.returncode, error.status) == (75, 429)
    assert lines_in(url, "s1")[-2:] == [
        "notice The command had not exited 0.1 s after its work: it was stopped",
        "notice The agent's stream ended; its last message had failed",
    ]


@pytest.mark.parametrize(
    ("command", "name", "given", "expected"),
    [
        (["/usr/bin/claude", "-p", "hi"], "auto", None, 10.0),
        (["codex", "exec"], "auto", None, 10.0),
        (["wrapper"], "gemini", None, 10.0),
        (["claude", "-p", "--input-format=stream-json"], "auto", None, None),
        (["pi", "--mode", "json"], "auto", None, None),
        (["make"], "auto", None, None),
        (["make"], "auto", 3.0, 3.0),
        (["claude"], "auto", 0.0, None),
    ],
)
def test_only_agents_of_one_result_are_bound_to_exit(
    command: list[str], name: str, given: float | None, expected: float | None
) -> None:
    options = argparse.Namespace(linger=given, format=name)

    assert linger_of(options, command) == expected


class Stop:
    """Takes the wish that a command stops."""

    def __init__(self) -> None:
        self.asked = anyio.Event()

    def __call__(self) -> None:
        self.asked.set()


async def told(session: Session, count: int) -> None:
    """Wait until the session has told so many trace frames."""
    with anyio.fail_after(5):
        while session.statistics().trace.emitted < count:
            await anyio.lowlevel.checkpoint()


async def test_a_silence_is_told_once_and_again_after_a_word() -> None:
    with capture_frames() as frames:
        async with open_session("s1") as session, anyio.create_task_group() as tasks:
            session.feed(message_start())
            silence = Silence(session, Stop(), quiet=0.01)
            tasks.start_soon(silence.watch)
            await told(session, 1)
            session.feed(delta("a word"))
            silence.heard()
            await told(session, 3)
            tasks.cancel_scope.cancel()
    assert described(frames)[1:-1] == [
        "state WORKING",
        "notice No output for 0.01 s",
        "text 1 a word",
        "notice No output for 0.01 s",
    ]


@pytest.mark.parametrize("stall", [None, 0.01])
async def test_a_session_that_is_not_at_work_is_not_silent(stall: float | None) -> None:
    stop = Stop()
    with capture_frames() as frames:
        async with open_session("s1") as session, anyio.create_task_group() as tasks:
            session.feed(message_start())
            session.feed(run_end())
            silence = Silence(session, stop, quiet=0.01, stall=stall, linger=0.05)
            tasks.start_soon(silence.watch)
            with anyio.fail_after(5):
                await stop.asked.wait()
            assert (silence.lingered, silence.stalled) == (True, False)
    assert [line for line in described(frames) if "No output" in line] == []


async def test_the_work_of_a_command_that_is_not_recorded_is_not_known_to_be_done(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COMPASS_OFF", "1")
    stop = Stop()
    async with open_session("s1") as session, anyio.create_task_group() as tasks:
        silence = Silence(session, stop, linger=0.01, stall=0.01)
        tasks.start_soon(silence.watch)
        with anyio.move_on_after(0.05):
            await stop.asked.wait()
        tasks.cancel_scope.cancel()
    assert not stop.asked.is_set()


async def test_a_command_that_somebody_else_stops_is_left_to_them() -> None:
    stop = Stop()
    with capture_frames() as frames:
        async with open_session("s1") as session, anyio.create_task_group() as tasks:
            session.feed(message_start())
            silence = Silence(session, stop, quiet=0.01, stall=0.02)
            silence.off()
            tasks.start_soon(silence.watch)
            with anyio.move_on_after(0.05):
                await stop.asked.wait()
            tasks.cancel_scope.cancel()
    assert not stop.asked.is_set()
    assert described(frames)[2:] == ["state STOPPED"]
