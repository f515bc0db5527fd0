"""The shells complete commands, options, their values, and the sessions that are there now."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from commands import COMPASS
from compass_agent.cli import COMMANDS, main
from compass_agent.frames import AgentSessionState, FrameBuilder, SessionFrame
from terminals import PATIENCE_S, environment

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Record = Callable[[str, Sequence[SessionFrame], int | None], str]
    Capture = pytest.CaptureFixture[str]

READY = AgentSessionState.AGENT_SESSION_STATE_READY
build = FrameBuilder(lambda: 1_700_000_000_000)


@pytest.fixture
def fits(record: Record, capsys: Capture) -> Callable[..., list[str]]:
    """Returns `fits(*words)`: what can stand in place of the last word."""
    for name in ("run-1", "run-2", "a:b:c"):
        record(name, [build.lifecycle(READY)], None)

    def ask(*words: str) -> list[str]:
        main(["completion", "--words", *words])
        out, err = capsys.readouterr()
        assert err == ""
        return [line.split("\t")[0] for line in out.splitlines()]

    return ask


def test_commands_options_values_and_sessions_are_offered(fits: Callable[..., list[str]]) -> None:
    assert fits("ta") == ["tail"]
    assert {*COMMANDS, "--help"} <= set(fits(""))
    assert sorted(fits("tail", "r")) == ["run-1", "run-2"]
    assert fits("tail", "@") == ["@last"]
    assert fits("tail", "a:b") == ["a:b:c"]
    assert sorted(fits("sessions", "rm", "run-1", "r")) == ["run-1", "run-2"]
    assert fits("sessions", "p") == ["prune"]
    assert fits("tail", "--no-f") == ["--no-follow"]
    assert fits("tail", "run-1", "--until", "i") == ["idle"]
    assert fits("tail", "--kind", "th") == ["thinking"]
    assert fits("tail", "--fail-on", "g") == ["gap"]
    assert fits("tail", "--log", "s") == ["sqlite:"]
    assert fits("completion", "z") == ["zsh"]
    assert fits("tail", "--grep", "x") == []
    assert fits("tail", "--json", "run-2") == ["run-2"]
    assert fits("nonsense", "") == []
    assert fits("tail", "--log=s") == ["--log=sqlite:"]
    assert fits("tail", "--until=i") == ["--until=idle"]
    assert fits("tail", "--log", "sqlite:/nowhere/at.all", "r") == []


@pytest.mark.parametrize(
    ("words", "files"),
    [
        (["tail", "x"], True),
        (["tail", "--log", "x"], True),
        (["serve", "--token-file", "x"], True),
        (["tail", "--grep", "x"], False),
        (["tail", "--since=x"], False),
        (["run", "--session", "x"], False),
    ],
)
def test_files_are_offered_where_one_fits(words: list[str], files: bool) -> None:
    assert main(["completion", "--words", *words]) == (0 if files else 1)


def test_a_log_that_cannot_be_read_offers_nothing(capsys: Capture) -> None:
    assert main(["completion", "--words", "tail", "--log", "nonsense:", "r"]) == 0
    assert capsys.readouterr() == ("", "")


def test_which_shell_has_to_be_said(capsys: Capture) -> None:
    assert main(["completion"]) == 2
    assert main(["completion", "tcsh"]) == 2
    for shell in ("bash", "zsh", "fish"):
        assert main(["completion", shell]) == 0
        assert "compass completion" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("compass ta", ["tail"]),
        ("compass tail run", ["run-1", "run-2"]),
        ("compass tail a:b:", ["c"]),
        ("compass tail --until ", ["ended", "error", "idle", "turn"]),
        ("compass nonsense x", []),
        ("compass tail --log=sq", ["sqlite:"]),
        ("compass tail --grep x", []),
    ],
)
def test_bash_completes(line: str, offered: list[str], record: Record) -> None:
    for name in ("run-1", "run-2", "a:b:c"):
        record(name, [build.lifecycle(READY)], None)
    program = (
        'eval "$(compass completion bash)"; COMP_LINE=$1; COMP_POINT=${#COMP_LINE}; _compass;'
        ' for reply in "${COMPREPLY[@]}"; do echo "$reply"; done'
    )
    folder = Path(COMPASS).parent
    done = subprocess.run(
        ["bash", "--norc", "-c", program, "bash", line],
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE_S,
        env=environment(PATH=f"{folder}:{os.environ['PATH']}"),
    )
    assert (sorted(done.stdout.split()), done.stderr) == (offered, "")
