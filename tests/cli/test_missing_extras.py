"""Whoever lacks an extra is told which one, at once, by every command that needs it."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from compass_agent.cli import main
from recordings import DATA

if TYPE_CHECKING:
    from pathlib import Path

NATS, UNIX, TCP = "nats://127.0.0.1:9", "unix:/nowhere/hub.sock", "grpc://127.0.0.1:9"
EXTRAS = {NATS: "nats", UNIX: "grpc", TCP: "grpc"}
WITHOUT_NATS = """
import sys
sys.modules["nats"] = None
from compass_agent.cli import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture(params=EXTRAS)
def url(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The URL of a log whose extra is not installed."""
    place: str = request.param
    monkeypatch.setitem(sys.modules, EXTRAS[place], None)
    return place


@pytest.mark.parametrize("command", ["tail s1", "sessions", "show s1"])
def test_a_command_names_the_extra_that_its_log_needs(
    url: str, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*command.split(), "--log", url]) == 65
    assert f"pip install 'compass-agent[{EXTRAS[url]}]'" in capsys.readouterr().err


def test_nothing_is_run_or_replayed_when_the_extra_is_missing(
    url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made, recording = tmp_path / "made", str(DATA / "pi" / "err-429.jsonl")
    run = ["run", "--log", url, "--", "touch", str(made)]
    for command in (run, ["replay", "--log", url, recording]):
        assert main(command) == 65
        assert f"pip install 'compass-agent[{EXTRAS[url]}]'" in capsys.readouterr().err
    assert not made.exists()


def test_the_engine_names_its_extra_before_anything_of_it_is_imported() -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_NATS, "engine", "check", "--log", NATS],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == 65, done.stderr
    assert "pip install 'compass-agent[nats]'" in done.stderr
