"""With `--json` standard error holds JSON alone: an object a line, the failure as the last one."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING

import pytest

from compass_agent.cli import main

if TYPE_CHECKING:
    Capture = pytest.CaptureFixture[str]


def told(capsys: Capture) -> list[dict[str, object]]:
    """What was said on standard error; each line must be an object."""
    return [json.loads(line) for line in capsys.readouterr().err.splitlines()]


def _named(value: list[str] | int) -> str:
    return str(value) if isinstance(value, int) else " ".join(value)


@pytest.mark.requirement("G-TERM-3")
@pytest.mark.parametrize("form", [["--json"], ["-o", "json"], ["--output=json"]], ids=" ".join)
def test_a_wait_for_a_session_is_told_as_json_before_its_failure(
    form: list[str], log_url: str, capsys: Capture
) -> None:
    assert main(["tail", "nobody", "--log", log_url, "--wait", "0.1", *form]) == 4
    notice, failure = told(capsys)
    assert notice == {"notice": "there is no session nobody yet; waiting up to 0.1 s for it"}
    assert (failure["success"], failure["code"]) == (False, "not_found")


@pytest.mark.requirement("G-TERM-3")
@pytest.mark.usefixtures("log_url")
@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["sessions", "--json"], 0),
        (["sessions", "prune", "--json"], 0),
        (["sessions", "--json", "rm", "--yes", "nobody"], 4),
        (["show", "nobody", "--json"], 4),
        (["wait", "nobody", "--json", "--wait", "0.1"], 4),
        (["tail", "--json"], 2),
        (["tail", "nobody", "--json", "--time", "stardate"], 2),
        (["tail", "a", "--json", "-n", "3", "--after", f"{'0' * 16}-4"], 2),
        (["show", "nobody", "--json", "--bogus"], 2),
        (["tail", "nobody", "--json", "--log", "bogus:x"], 65),
        (["show", "no-file.jsonl", "--json"], 66),
        (["show", "nobody", "--json", "--log", "unix:/nowhere/hub.sock"], 5),
        (["sessions", "--json", "--log", "grpc://127.0.0.1:1"], 5),
        (["sessions", "prune", "--json", "--log", "unix:/nowhere/hub.sock"], 65),
        (["sessions", "--json", "--log", "nats://127.0.0.1:1"], 5),
        (["run", "--json", "--", "true"], 2),
        (["engine", "check", "--json"], 2),
        (["serve", "--json"], 2),
        (["mcp", "--json"], 2),
        (["bogus", "--json"], 2),
        (["--json"], 2),
    ],
    ids=_named,
)
def test_every_command_says_json_alone_when_asked_to(
    arguments: list[str], status: int, capsys: Capture
) -> None:
    ended = main(arguments)
    lines = told(capsys)
    assert ended == status, lines
    failures = [line for line in lines if "notice" not in line]
    assert [line["success"] for line in failures] == [False] * (status != 0)
    assert lines[len(lines) - len(failures) :] == failures


def test_what_is_logged_is_json_too(
    log_url: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.getLogger("compass_agent"), "propagate", False)  # as without pytest

    def warns(*_: object) -> bool:
        logging.getLogger("compass_agent.log").warning("of the session %s much is lost", "s1")
        return False

    monkeypatch.setattr("compass_agent.cli.sessions.log_exists", warns)
    assert main(["sessions", "--json", "--log", log_url]) == 0
    assert told(capsys)[0] == {"notice": "of the session s1 much is lost"}
    assert main(["sessions", "--log", log_url]) == 0
    assert capsys.readouterr().err.splitlines()[0] == "of the session s1 much is lost"
