"""Text of others cannot act on a terminal, and nothing in it can hide."""

from __future__ import annotations

import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compass_agent.view import neutralise, one_line
from compass_agent.view.neutralise import without_colours

# Cf characters that are drawn: signs of Arabic, Syriac and Kaithi numbers.
_DRAWN = {
    *range(0x600, 0x606),
    0x6DD,
    0x70F,
    0x890,
    0x891,
    0x8E2,
    0x110BD,
    0x110CD,
}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "␛[31mred␛[0m"),
        ("\x1b]0;title\x07", "␛]0;title␇"),
        ("\x1b]8;;http://evil\x1b\\x", "␛]8;;http://evil␛\\x"),
        ("\x1bPq#0\x1b\\", "␛Pq#0␛\\"),
        ("\x9b2J\x9d0;t\x9c", "<U+009B>2J<U+009D>0;t<U+009C>"),
        ("10%\r20%", "10%␍20%"),
        ("a\x7f\x00\x08", "a␡␀␈"),
        ("user\u202etxt.exe", "user<U+202E>txt.exe"),
        ("in\u200bvisible\ufeff", "in<U+200B>visible<U+FEFF>"),
        ("tag\U000e0041", "tag<U+E0041>"),
        ("line\u2028sep\x85", "line<U+2028>sep<U+0085>"),
        ("half \ud800", "half <U+D800>"),
        ("\u3164", "<U+3164>"),
        ("a\u2800\u034fb", "a<U+2800><U+034F>b"),
    ],
)
def test_what_could_act_or_hide_is_shown(text: str, shown: str) -> None:
    assert neutralise(text) == shown


@pytest.mark.parametrize("text", ["", "plain\n\ttext", "schön 日本 ⚠️ 👍", "a\u0301", "עברית"])
def test_clean_text_comes_back_unchanged(text: str) -> None:
    assert neutralise(text) == text


def test_ascii_only_shows_controls_without_symbols() -> None:
    assert neutralise("\x1b[2Jé", ascii_only=True) == "<U+001B>[2Jé"


def test_one_line_has_no_line_breaks_and_no_tabs() -> None:
    assert one_line("a\nb\tc\rd") == "a b c␍d"


def test_no_control_and_no_format_character_of_unicode_gets_through() -> None:
    through = [
        f"{code:x}"
        for code in range(sys.maxunicode + 1)
        if unicodedata.category(chr(code)) in {"Cc", "Cf", "Cs", "Zl", "Zp"}
        and chr(code) not in "\n\t"
        and code not in _DRAWN
        and chr(code) in neutralise(chr(code))
    ]
    assert through == []


@given(st.text(alphabet=st.characters()))
def test_neutralising_twice_changes_nothing(text: str) -> None:
    once = neutralise(text)
    assert neutralise(once) == once
    assert once.count("\n") == text.count("\n")


def test_colours_go_and_every_other_sequence_stays() -> None:
    assert without_colours("\x1b[1;31mred\x1b[0m \x1b[2J") == "red \x1b[2J"
