"""What is said on stderr: wrapped and barred, harmless, and never in the middle of a line."""

from __future__ import annotations

import re
import signal
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from compass_agent import open_session
from compass_agent.cli.countdown import Countdown
from compass_agent.cli.hub_talk import HubTalk
from compass_agent.cli.talk import before_talk, say
from compass_agent.frames import Cursor
from compass_agent.services.hub_links import HubAway, HubBack
from compass_agent.view.session_card import session_line
from compass_agent.view.style import Style
from compass_agent.view.widths import cell_width
from hubs import serving, short_folder
from inner_events import assistant_end, delta, message_start
from recordings import DATA
from rendering import ERROR, ERRORED, build
from terminals import Terminal, on_terminal

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from compass_agent.frames import SessionError

FORGED = "x " * 33 + "10:47:19 \u2716 ERROR    Rate limited " + "y " * 60
BROKE = "the connection to the hub broke; the session may still be running; trying again for 30 s"
BEGINS = re.compile("compass: | {7}[\u2502|] ")


def failure(message: str) -> SessionError:
    return build.session_error(ERROR, message, status=500).typed_event.session_error


@pytest.fixture
def hub_log(monkeypatch: pytest.MonkeyPatch) -> Generator[str]:
    """A log for a hub, which listens where clients look by themselves."""
    with short_folder() as folder:
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
        monkeypatch.setenv("XDG_STATE_HOME", str(folder / "state"))
        yield f"sqlite:{folder / 'hub.db'}"


class Screen:
    """A terminal that only keeps what is written to it."""

    def __init__(self) -> None:
        self.written: list[str] = []

    def write(self, text: str) -> int:
        self.written.append(text)
        return len(text)

    def flush(self) -> None:
        pass


@pytest.mark.requirement("G-TERM-2")
@pytest.mark.parametrize("width", [20, 40, 80])
def test_the_line_of_a_wait_is_barred_where_it_is_wrapped(width: int) -> None:
    text = session_line("s", ERRORED, failure(FORGED), Style(), width=width)
    first, *others = text.splitlines()
    assert first.startswith("\u2716 ERRORED")
    assert others
    assert all(line.startswith("\u2502 ") for line in others)
    assert max(map(cell_width, [first, *others])) < width


@pytest.mark.requirement("G-TERM-2")
def test_what_a_replay_says_of_a_failure_is_barred_on_a_terminal(tmp_path: Path) -> None:
    recording = (DATA / "pi" / "err-429.jsonl").read_text("utf-8")
    file = tmp_path / "run.jsonl"
    file.write_text(recording.replace("Rate limit", FORGED + "\u202e Rate limit"), "utf-8")
    log = f"sqlite:{tmp_path / 'log.db'}"
    with Terminal("replay", str(file), "--session", "s1", "--log", log, both=True) as terminal:
        assert terminal.end() == 75
    lines = [line.split("\r")[-1] for line in terminal.text.replace("\r\n", "\n").split("\n")]
    assert any("Rate limited" in line for line in lines)
    assert all(BEGINS.match(line) for line in lines if line)
    assert max(map(cell_width, lines)) < 80
    shown, _ = on_terminal("wait", "s1", "--log", log, NO_COLOR="1")
    assert all(re.match("\u2716 ERRORED|\u2502 ", line) for line in shown.splitlines())


@pytest.mark.requirement("G-TERM-2")
def test_names_that_act_are_made_harmless(capsys: pytest.CaptureFixture[str]) -> None:
    say("no such file: \x1b[2J\u202e")
    assert capsys.readouterr().err == "compass: no such file: \u241b[2J<U+202E>\n"


def test_what_is_printed_is_told_before_anything_is_said() -> None:
    told: list[str] = []
    with before_talk(lambda: told.append("now")):
        say("one")
    say("two")
    assert told == ["now"]


@pytest.mark.parametrize("width", [4, 12, 20, 40, 80])
def test_a_countdown_never_fills_the_line(width: int) -> None:
    screen = Screen()
    countdown = Countdown(screen, shown=True, width=lambda: width)  # pyright: ignore[reportArgumentType] - what is used of a file
    countdown.begin(time.time_ns() // 1_000_000 + 900_000, "long text that needs {}", "in {}")
    countdown.show()
    countdown.stop()
    drawn = [piece.strip("\r") for piece in "".join(screen.written).split("\r")]
    assert max(map(len, drawn)) < width
    assert any("15 min" in piece for piece in drawn) == (width >= 12)


def test_a_countdown_that_was_hidden_is_drawn_again_with_what_is_left() -> None:
    screen = Screen()
    countdown = Countdown(screen, shown=True, width=lambda: 80)  # pyright: ignore[reportArgumentType] - what is used of a file
    countdown.begin(time.time_ns() // 1_000_000 + 900_000, "in {}")
    countdown.hide()
    countdown.hide()
    assert "".join(screen.written).endswith("\r")
    screen.written.clear()
    countdown.show()
    assert "in 15 min" in "".join(screen.written)
    countdown.stop()
    screen.written.clear()
    countdown.show()
    assert screen.written == []


def test_off_a_terminal_tries_are_told_ever_more_seldom(
    capsys: pytest.CaptureFixture[str],
) -> None:
    talk = HubTalk()
    for attempt in range(1, 9):
        talk(HubAway(attempt, 2.0, 30.0))
    talk(HubBack(Cursor("0123456789abcdef", 7), 3))
    assert capsys.readouterr().err.splitlines() == [
        f"compass: {BROKE}",
        "compass: the hub is away, the session may still be running; try 2 in 2 s",
        "compass: the hub is away, the session may still be running; try 4 in 2 s",
        "compass: the hub is away, the session may still be running; try 8 in 2 s",
        "compass: reconnected after 0123456789abcdef-7; 3 frames missing",
    ]


def test_a_notice_leaves_the_countdown_and_work_ends_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMPASS_LOG", f"sqlite:{tmp_path / 'log.db'}")
    with (
        open_session("live") as session,
        Terminal("tail", "live", both=True, NO_COLOR="1") as terminal,
    ):
        session.feed({"type": "agent_start"})
        terminal.until("WORKING")
        session.fail(RuntimeError("Rate limit reached. Please try again in 900s"))
        terminal.until("the provider lets try again in 15 min")
        session.notice("still here")
        terminal.until("still here")
        terminal.until("the provider lets try again in 14 min")
        session.feed({"type": "agent_start"})
        session.notice("going on")
        terminal.until("going on")
    assert "lets try again" not in terminal.text.rpartition("WORKING")[2]


@pytest.mark.slow
@pytest.mark.requirement("G-TERM-2")
def test_a_hub_that_breaks_within_a_message_is_told_on_a_line_of_its_own(hub_log: str) -> None:
    with ExitStack() as stack:
        with serving("--log", hub_log) as (hub, (url,)):
            session = stack.enter_context(open_session("s1", log=url))
            session.feed(message_start())
            session.feed(delta("the first part "))
            terminal = stack.enter_context(
                Terminal("tail", "s1", "--log", url, both=True, NO_COLOR="1")
            )
            terminal.until("the first part")
            hub.send_signal(signal.SIGKILL)
            hub.wait(20)
            terminal.until("may still be running")
            terminal.until("try 2 in")
        with serving("--log", hub_log):
            session.feed(delta("and the second"))
            terminal.until("and the second")
            session.feed(assistant_end("stop"))
    lines = [line.split("\r")[-1] for line in terminal.text.replace("\r\n", "\n").split("\n")]
    part = next(number for number, line in enumerate(lines) if line.endswith("the first part"))
    assert lines[part + 1].startswith("compass: the connection to the hub broke")
    back = re.compile("compass: reconnected after [0-9a-f]{16}-[0-9]+; 0 frames missing")
    assert any(back.match(line) for line in lines)
    assert any(line.startswith("         \u2502 and the second") for line in lines)
