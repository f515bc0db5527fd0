"""What people see of a session: the captures in docs/terminal/, on a real pseudo-terminal."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from compass_agent.view.widths import cell_width
from mockups import CAPTURES, EXITS, FORMS, capture, record_mockups
from terminals import Terminal

if TYPE_CHECKING:
    from pathlib import Path

HEAD = re.compile("[0-9]{2}:[0-9]{2}:[0-9]{2} . ")
PAINT = re.compile("␛\\[[0-9]*m")


@pytest.fixture
def recorded(tmp_path: Path) -> str:
    url = f"sqlite:{tmp_path / 'log.db'}"
    record_mockups(url)
    return url


def kept(name: str) -> str:
    return (CAPTURES / f"{name}.txt").read_text("utf-8")


@pytest.mark.requirement("G-TERM-1")
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[] if name in {"colour", "pipe"} else pytest.mark.slow)
        for name in FORMS
    ],
)
def test_a_session_is_printed_as_its_capture_has_it(name: str, recorded: str) -> None:
    assert capture(FORMS[name], recorded) == kept(name)


def test_captures_hold_every_session_with_its_exit_status() -> None:
    for name in FORMS:
        statuses = re.findall(r"\(exit status ([0-9]+)\)", kept(name))
        assert list(map(int, statuses)) == list(EXITS.values())


def test_colour_says_nothing_that_words_do_not() -> None:
    assert PAINT.sub("", kept("colour")) == kept("80-columns")


def test_without_colour_and_in_ascii_nothing_else_is_left() -> None:
    for name in ("80-columns", "200-columns", "ascii", "pipe"):
        assert "␛" not in kept(name)
    assert kept("ascii").isascii()


@pytest.mark.parametrize(("name", "width"), [("80-columns", 79), ("200-columns", 199)])
def test_no_line_is_wider_than_the_terminal(name: str, width: int) -> None:
    assert max(map(cell_width, kept(name).splitlines())) <= width


@pytest.mark.parametrize("name", ["80-columns", "200-columns", "ascii", "pipe"])
def test_every_line_has_a_time_or_a_bar(name: str) -> None:
    ours = ("$ ", "(exit status ")
    for line in kept(name).splitlines():
        assert not line or line.startswith(ours) or HEAD.match(line) or line[9] in "│┃|"


def test_a_pager_gets_what_is_whole_and_a_person_may_leave_it(
    recorded: str, tmp_path: Path
) -> None:
    told = tmp_path / "told"
    pager = f"tee {told} | head -n 1"
    options = ("--log", recorded, "--no-follow")
    with Terminal("tail", "s-429", *options, COMPASS_PAGER=pager, NO_COLOR="1") as terminal:
        assert terminal.end() == 75
    assert terminal.text.splitlines() == ["10:52:45 ▶ state    WORKING"]
    assert "Rate limited" in told.read_text("utf-8")
    with Terminal("tail", "s-429", *options, PAGER="exit 0") as terminal:
        assert terminal.end() == 75
    with Terminal("tail", "s-429", *options, PAGER="", NO_COLOR="1") as terminal:
        terminal.end()
    assert "Rate limited" in terminal.text
