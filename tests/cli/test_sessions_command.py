"""`compass sessions`: failed ones first, with what went wrong."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from compass_agent.cli import COMMANDS, main
from compass_agent.cli.table import sessions_table
from compass_agent.frames import (
    AgentSessionState,
    Cursor,
    FrameBuilder,
    SessionError,
    SessionErrorKind,
    SessionFrame,
)
from compass_agent.log.read import SessionSummary
from compass_agent.services import SessionRow
from compass_agent.view.failure import explain
from compass_agent.view.style import Style
from compass_agent.view.widths import cell_width

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Record = Callable[[str, Sequence[SessionFrame], int | None], str]

WORKING = AgentSessionState.AGENT_SESSION_STATE_WORKING
READY = AgentSessionState.AGENT_SESSION_STATE_READY
ERRORED = AgentSessionState.AGENT_SESSION_STATE_ERRORED
STOPPED = AgentSessionState.AGENT_SESSION_STATE_STOPPED
DISCONNECTED = AgentSessionState.AGENT_SESSION_STATE_DISCONNECTED
ERROR = SessionErrorKind.SESSION_ERROR_KIND_ERROR
ABORTED = SessionErrorKind.SESSION_ERROR_KIND_ABORTED
NOW_MS = 1_700_000_000_000

build = FrameBuilder(lambda: NOW_MS)

FAILED = [
    build.lifecycle(WORKING),
    build.session_error(ERROR, "slow down\nplease", status=429),
    build.lifecycle(ERRORED),
]


def row(
    session: str, state: int, error: SessionError | None = None, title: str = "T", age_ms: int = 0
) -> SessionRow:
    summary = SessionSummary(
        session=session,
        epoch="0123456789abcdef",
        state=state,
        last_error=error,
        title=title,
        agent="",
        version="",
        opened_ms=0,
        updated_ms=NOW_MS - age_ms,
        frames=1,
        cursor=Cursor("0123456789abcdef", 1),
        ended=False,
    )
    return SessionRow(summary, explain(error) if error else None)


def test_failed_sessions_come_first_with_the_reason(
    record: Record, capsys: pytest.CaptureFixture[str]
) -> None:
    record("bad", FAILED, ERRORED)
    record("good", [build.lifecycle(STOPPED)], STOPPED)
    assert main(["sessions"]) == 0
    out, err = capsys.readouterr()
    head, bad, good = out.splitlines()
    assert head.split() == ["STATE", "SESSION", "TITLE", "WHAT", "WENT", "WRONG", "UPDATED"]
    assert bad.startswith("✖ ERRORED")
    assert "Rate limited · HTTP 429 · slow down" in bad
    assert "title of bad / pi" in bad
    assert good.startswith("□ STOPPED")
    assert err == ""


def test_json_gives_an_object_a_line(record: Record, capsys: pytest.CaptureFixture[str]) -> None:
    epoch = record("bad", FAILED, ERRORED)
    record("good", [build.lifecycle(STOPPED)], STOPPED)
    assert main(["sessions", "--json"]) == 0
    bad, good = map(json.loads, capsys.readouterr().out.splitlines())
    assert (bad["sessionId"], bad["epoch"], bad["cursor"]) == ("bad", epoch, f"{epoch}-3")
    assert bad["lastError"]["message"] == "slow down\nplease"
    assert bad["lastError"]["retryable"] is True
    assert (bad["frames"], bad["ended"], bad["agent"]) == (3, True, "pi")
    assert (good["state"], good["lastError"]) == ("AGENT_SESSION_STATE_STOPPED", None)


def test_an_empty_list_is_told_kindly(log_url: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sessions", "--log", log_url]) == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert err == "compass: there are no sessions in this log yet\n"


@pytest.mark.parametrize("command", ["sessions", "tail s1", "export s1", "sessions prune", "serve"])
def test_a_log_that_there_is_not_is_named(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COMPASS_LOG", "bogus:xyz")
    assert main(command.split()) == 65
    assert "COMPASS_LOG=bogus:xyz: no such log; this version has" in capsys.readouterr().err


def test_a_limit_says_what_it_hides(record: Record, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("a", "b", "c"):
        record(name, [build.lifecycle(READY)], None)
    assert main(["sessions", "--limit", "1", "--json"]) == 0
    out, err = capsys.readouterr()
    assert len(out.splitlines()) == 1
    assert "2 more" in err


def test_a_table_fits_the_terminal_and_holds_no_text_that_acts() -> None:
    evil = "\x1b[2J\r10:50:19\n✖ ERRORED forged \u202e" + "日" * 90
    error = SessionError(kind=ERROR, message=evil.replace("\n", " "), status=500)
    rows = [row("s1", ERRORED, error, title=evil), row("s2", 42, title="")]
    table = sessions_table(rows, Style(), now_ms=NOW_MS, width=120)
    lines = table.splitlines()
    assert len(lines) == 3
    assert max(map(cell_width, lines)) < 120
    assert not set(table) & set("\x1b\r\u202e")
    assert lines[2].startswith("? UNKNOWN (42)")


@pytest.mark.parametrize(
    ("state", "error", "text"),
    [
        (ERRORED, None, "no reason was reported"),
        (ERRORED, SessionError(kind=ERROR), "the agent reported no message"),
        (ERRORED, SessionError(kind=ERROR, message="x", status=0), "HTTP 0"),
        (READY, SessionError(kind=ABORTED, stopped_by="me"), "Turn aborted by me"),
        (DISCONNECTED, None, "no contact with the agent's process"),
    ],
)
def test_what_went_wrong_is_in_the_row(state: int, error: SessionError | None, text: str) -> None:
    assert text in sessions_table([row("s", state, error)], Style(), now_ms=NOW_MS, width=None)


@pytest.mark.parametrize(
    ("age_ms", "text"),
    [(-5, "now"), (15_300, "15 s ago"), (600_000, "10 min ago"), (10**8, "1 d ago")],
)
def test_the_age_is_short(age_ms: int, text: str) -> None:
    table = sessions_table([row("s", READY, age_ms=age_ms)], Style(), now_ms=NOW_MS, width=None)
    assert table.endswith(f"  {text}\n")


def test_a_session_of_which_no_time_is_known_has_a_dash_for_its_age() -> None:
    lost = row("s", STOPPED, age_ms=NOW_MS)
    table = sessions_table([lost], Style(), now_ms=NOW_MS, width=None)
    assert table.endswith("  -\n")


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_says_the_same_of_itself_in_both_places(name: str) -> None:
    module = __import__(f"compass_agent.cli.{name}", fromlist=["NAME", "HELP"])
    assert (name, COMMANDS[name]) == (module.NAME, module.HELP)


@pytest.mark.requirement("G-TERM-2")
@pytest.mark.parametrize("width", [1, 5, 20, 40, 60, 80, 200])
def test_no_line_of_the_table_is_wrapped_by_the_terminal(width: int) -> None:
    rows = [
        row("s" * 128, ERRORED, build.session_error(ERROR, "x" * 300).typed_event.session_error),
        row("a", WORKING, title="\u4dc0" * 40),
    ]
    table = sessions_table(rows, Style(), now_ms=NOW_MS, width=width)
    assert table.count("\n") == 3
    assert max(map(cell_width, table.splitlines())) < max(width, 2)
    if width >= 60:
        assert "a  " in table
