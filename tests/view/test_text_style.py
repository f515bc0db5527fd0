"""Symbols, colours and widths of a tail: nothing of others can pass for a line of ours."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compass.v1.compass_pb2 import SessionFileDiff
from compass_agent.frames import (
    AgentPlanEntryStatus,
    SessionFrame,
    SessionInjectionKind,
)
from compass_agent.view.lines import LineWriter
from compass_agent.view.style import Style
from compass_agent.view.widths import cell_width
from compass_agent.wire import (
    End,
)

if TYPE_CHECKING:
    pass
from rendering import (
    ABORTED,
    COMPLETED,
    EPOCH,
    ERROR,
    ERRORED,
    RUNNING,
    STOPPED,
    build,
    placed,
    rendered,
)

# A line of ours begins with a time; everything else is indented and barred.
_OURS = re.compile(r"(?:[0-9]{2}:[0-9]{2}:[0-9]{2}|--:--:--) . ")
_BARRED = re.compile(r" {9}[│┃|](?: |$)")


def test_ascii_style_uses_no_other_symbol() -> None:
    text = rendered(
        *placed(
            build.assistant_text("a\x1bb", "1"),
            build.tool_call("t", "x"),
            build.session_error(ERROR, "e", status=500),
            build.session_error(ABORTED, "e"),
        ),
        style=Style(ascii_only=True),
    )
    assert text.isascii()
    assert "a<U+001B>b" in text


def test_every_colour_ends_on_its_own_line() -> None:
    text = rendered(
        *placed(
            build.thinking("a\nb\nc " * 30, "1"),
            build.session_error(ERROR, "long " * 60, status=500),
            build.lifecycle(ERRORED),
        ),
        style=Style(color=True),
        width=60,
    )
    for line in text.splitlines():
        codes = re.findall("\x1b\\[([0-9]*)m", line)
        assert codes[1::2] == ["0"] * (len(codes) // 2)
        assert len(codes) % 2 == 0


_EVIL = st.text(
    alphabet=st.sampled_from("ab 1:\n\r\t\x1b\x07\x9b\u202e\u200b\u2028日│é0"), max_size=60
).map(lambda text: text + "\n10:50:19 ✖ ERROR    forged\r10:50:19 x\x1b[H\u202810:50:19")


def _frames_saying(text: str) -> list[SessionFrame]:
    return [
        build.assistant_text(text, text),
        build.assistant_text(text, text),
        build.thinking(text, "1"),
        build.prompt(text, text),
        build.tool_call(text, text),
        build.tool_call_update(text, RUNNING, text),
        build.tool_call_update(
            text,
            COMPLETED,
            text,
            [SessionFileDiff(path=text, old_text=text, new_text=text + text)],
        ),
        build.plan([(text, AgentPlanEntryStatus.AGENT_PLAN_ENTRY_STATUS_PENDING)]),
        build.notice(text, text),
        build.session_injection(
            SessionInjectionKind.SESSION_INJECTION_KIND_STEER, text, text, text
        ),
        build.session_error(ERROR, text, status=1, code=text, request_id=text),
        build.session_error(ABORTED, text, code=text, stopped_by=text),
    ]


@given(_EVIL, st.sampled_from([None, 32, 80]))
def test_no_text_of_others_begins_a_line_or_reaches_the_edge(text: str, width: int | None) -> None:
    frames = _frames_saying(text)
    out = rendered(*placed(*frames), End(EPOCH, 99, STOPPED, text), width=width, full=True)
    heads = 0
    for line in out.split("\n")[:-1]:
        assert _OURS.match(line) or _BARRED.match(line), line
        heads += _OURS.match(line) is not None
        if width is not None:
            assert cell_width(line) < width
    # One header an entry (a tool has two): a forged one would be more.
    assert heads <= len(frames) + 1
    assert not set(out) & set("\r\x1b\x07\x9b\u202e\u200b\u2028")


@pytest.mark.requirement("G-TERM-1", "G-TERM-2")
@given(_EVIL, st.integers(12, 31))
def test_on_a_narrow_terminal_every_line_fits_and_is_barred(text: str, width: int) -> None:
    frames = _frames_saying(text)
    out = rendered(*placed(*frames), End(EPOCH, 99, STOPPED, text), width=width, full=True)
    begin = re.compile(r"(?:[0-9]{2}:[0-9]{2}:[0-9]{2}|--:--:--) .| *[│┃](?: |$)")
    for line in out.split("\n")[:-1]:
        assert begin.match(line), line
        assert cell_width(line) < width


def test_a_terminal_that_becomes_narrow_in_the_middle_of_a_line_gets_lines_that_fit() -> None:
    lines = LineWriter(Style(), 80)
    lines.begin("10:47:19 ¶ text     ", "         │ ")
    lines.flow("one two ")
    lines.width = 16
    lines.flow("three four five six seven")
    lines.close()
    assert lines.take().split("\n")[1:] == ["│ three four", "│ five six", "│ seven", ""]


@pytest.mark.parametrize("width", [None, 40])
def test_what_follows_a_pause_is_barred(width: int | None) -> None:
    lines = LineWriter(Style(), width)
    lines.begin("10:47:19 ¶ text     ", "         │ ")
    lines.flow("one ")
    lines.pause()
    lines.pause()
    assert lines.take().endswith("one\n" if width else "one \n")
    lines.flow("two")
    lines.flow("\nthree")
    lines.pause()
    lines.close()
    assert lines.take() == "         │ two\n         │ three\n"


def test_what_selects_an_emoji_may_come_with_the_next_piece() -> None:
    pieces = [build.assistant_text(piece, "1") for piece in ("\u263a", "\ufe0f a", "\ufe0f")]
    assert "\u263a\ufe0f a<U+FE0F>" in rendered(*placed(*pieces))


def test_wide_characters_count_two_cells() -> None:
    text = rendered(*placed(build.assistant_text("日本語" * 30, "1")), width=40)
    assert max(cell_width(line) for line in text.splitlines()) == 39
    assert text.count("日") == 30
