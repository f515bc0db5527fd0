"""Nothing that an agent says acts on the terminal, or passes for a line of ours."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compass_agent.cli import main
from compass_agent.view.cards import WHOLE
from compass_agent.view.markdown import MarkdownRenderer
from compass_agent.view.style import Style
from compass_agent.view.text import TextRenderer, Thinking
from compass_agent.view.times import TimeForm, Times
from compass_agent.view.widths import cell_width
from compass_agent.wire import End, Gap, GapReason, Item, Reset, ResetReason
from hostile import HOSTILE, frames_with
from rendering import EPOCH, placed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from compass_agent.frames import SessionFrame

    Record = Callable[[str, Sequence[SessionFrame], int | None], str]

OURS = re.compile("\x1b\\[[0-9]*m")
# Format characters that are drawn: signs of Arabic, Syriac and Kaithi numbers.
DRAWN = {
    *map(chr, (*range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD)),
}
HEAD = re.compile("(?:[0-9]{2}:[0-9]{2}:[0-9]{2}|--:--:--) [^ ] ([A-Za-z]+) ")
WORDS = [
    *("state", "prompt", "thinking", "text", "text", "plan", "notice", "injected"),
    *("tool", "tool", "tool", "ABORTED", "ERROR", "state"),
]
"""What the frames are, in order: no text adds a head, or hides one."""


def harm(text: str) -> str:
    """Return what in `text` could act on a terminal or hide; a tab cannot, behind a bar."""
    allowed = {"\n", "\t", *DRAWN}
    return "".join(
        char
        for char in text
        if unicodedata.category(char) in {"Cc", "Cf", "Cs", "Zl", "Zp"} and char not in allowed
    )


def rendered(text: str, style: Style, width: int | None, form: TimeForm = TimeForm.CLOCK) -> str:
    renderer = TextRenderer(
        style, width=width, thinking=Thinking.FULL, times=Times(form), detail=WHOLE
    )
    items: list[Item] = [
        *placed(*frames_with(text)),
        Gap(EPOCH, 90, 91, GapReason.DROPPED),
        Reset(text, ResetReason.NEW_EPOCH),
        End(text, 3, 4, text),
    ]
    return renderer.render(items) + renderer.finish()


def check(text: str, width: int | None) -> None:
    out = rendered(text, Style(), width)
    assert harm(out) == ""
    lines = out.splitlines()
    heads = [match[1] for line in lines if (match := HEAD.match(line))]
    assert [head for head in heads if head not in {"missing", "session", "end"}] == expected(text)
    assert all(HEAD.match(line) or re.match(r" {9}[│┃](?: |$)", line) for line in lines)
    if width is not None:
        assert "\t" not in out
        assert max(map(cell_width, lines)) <= width


def expected(text: str) -> list[str]:
    """Return the heads: a message without a word has none."""
    blank = {"text", "thinking"} if not text.strip("\n") else set[str]()
    return [word for word in WORDS if word not in blank]


def test_the_corpus_is_large() -> None:
    assert len(set(HOSTILE)) >= 60


@pytest.mark.requirement("G-TERM-2")
@pytest.mark.parametrize("width", [None, 80, 200])
@pytest.mark.parametrize("number", range(len(HOSTILE)))
def test_hostile_text_neither_acts_nor_forges(number: int, width: int | None) -> None:
    check(HOSTILE[number], width)


@pytest.mark.requirement("G-TERM-2")
@given(
    text=st.lists(
        st.one_of(
            st.text(max_size=20),
            st.sampled_from(HOSTILE),
            st.text(st.characters(categories=["Cc", "Cf", "Zl", "Zp", "Cn"]), max_size=5),
        ),
        max_size=4,
    ).map("".join),
    width=st.sampled_from([None, 40, 80]),
)
@settings(deadline=None)
def test_any_text_neither_acts_nor_forges(text: str, width: int | None) -> None:
    check(text, width)


@pytest.mark.parametrize("number", range(len(HOSTILE)))
def test_with_colours_in_ascii_and_without_times_it_is_the_same(number: int) -> None:
    text = HOSTILE[number]
    assert harm(OURS.sub("", rendered(text, Style(color=True), 80))) == ""
    plain = rendered(text, Style(ascii_only=True), None, TimeForm.NONE)
    assert harm(plain) == ""
    assert all(re.match("[^ ] ", line) or line == "|" for line in plain.splitlines())


@pytest.mark.parametrize("number", range(len(HOSTILE)))
def test_markdown_holds_no_control_either(number: int) -> None:
    renderer = MarkdownRenderer("s", HOSTILE[number])
    out = renderer.render(placed(*frames_with(HOSTILE[number]))) + renderer.finish()
    assert harm(out) == ""


@pytest.mark.requirement("G-TERM-2")
def test_no_command_passes_a_control_character(
    record: Record, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    frames = [frame for text in HOSTILE for frame in frames_with(text)]
    epoch = record("s1", frames, 4)
    assert main(["export", "s1"]) == 0
    saved = tmp_path / "s1.jsonl"
    lines = capsys.readouterr().out
    assert harm(lines) == ""
    saved.write_text(lines, "utf-8")
    # A file can say anything, also where a log checks.
    lying = tmp_path / "\x1b[2J.jsonl"
    lying.write_text(lines.replace(epoch, "\\u001b[2J\\u202e"), "utf-8")
    assert main(["tail", str(lying)]) == 65
    assert harm(capsys.readouterr().err) == ""
    for command in (
        ["tail", "s1", "-v"],
        ["tail", "s1", "-n", "2"],
        ["tail", "s1", "-o", "md"],
        ["tail", "s1", "--json"],
        ["tail", str(saved)],
        ["tail", str(saved), "-o", "md"],
        ["show", "s1"],
        ["show", str(saved)],
        ["wait", "s1"],
        ["sessions"],
        ["completion", "--words", "tail", ""],
    ):
        main(command)
        out, err = capsys.readouterr()
        assert out, command
        assert (command, harm(out + err)) == (command, "")
