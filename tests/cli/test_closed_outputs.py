"""Outputs that are closed, pagers that are not there: the command ends as its table says."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

import pytest

from compass_agent.cli import main
from compass_agent.cli.pager import pager_command
from compass_agent.frames import AgentSessionState, FrameBuilder
from terminals import COMMAND, PATIENCE_S, environment

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from compass_agent.frames import SessionFrame

    Record = Callable[[str, Sequence[SessionFrame], int | None], str]

READY = AgentSessionState.AGENT_SESSION_STATE_READY
build = FrameBuilder(lambda: 1_700_000_000_000)


@pytest.mark.requirement("G-TERM-3")
@pytest.mark.parametrize("command", ["tail s1", "show s1", "wait s1", "sessions", "export s1"])
def test_a_stdout_that_was_closed_at_the_start_is_an_output_that_cannot_be_written(
    command: str, record: Record
) -> None:
    record("s1", [build.lifecycle(READY)], READY)
    program = [*COMMAND, *command.split()]
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" >&-', "sh", *program],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
        env=environment(),
    )
    assert (done.returncode, done.stderr) == (74, "compass: standard output is closed\n")


def test_an_agent_runs_although_its_outputs_are_closed(log_url: str) -> None:
    program = [*COMMAND, "run", "--session", "r", "--", "sh", "-c", "echo hello"]
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" >&- 2>&-', "sh", *program],
        timeout=PATIENCE_S,
        check=False,
        env=environment(COMPASS_LOG=log_url),
    )
    assert done.returncode == 0
    assert main(["tail", "r"]) == 0


@pytest.mark.parametrize(
    ("pager", "used"),
    [
        ("nosuchpager", False),
        ("/no/such/pager -R", False),
        ("A=1 nosuchpager", False),
        ("sh -c 'cat'", True),
        ("cat", False),
        ("$(echo less)", True),
        ("'", True),
    ],
)
def test_a_pager_that_is_not_there_is_not_used(
    pager: str, used: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PAGER", pager)
    monkeypatch.delenv("COMPASS_PAGER", raising=False)
    assert pager_command() == (pager if used else None)


def test_a_prefix_that_fits_several_is_told_as_the_whole_object(
    record: Record, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("run-1", "run-2"):
        record(name, [build.lifecycle(READY)], None)
    assert main(["tail", "run", "--json", "--no-follow"]) == 4
    told = json.loads(capsys.readouterr().err)
    assert (told["success"], told["code"], told["retryable"]) == (False, "not_found", False)
    assert "begins the ids of 2 sessions" in told["message"]
    assert told["guidance"]
