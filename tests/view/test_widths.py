"""No character is counted narrower than a terminal may draw it."""

from __future__ import annotations

import ctypes
import locale
import unicodedata
from typing import TYPE_CHECKING

import pytest

from compass_agent.view.neutralise import neutralise
from compass_agent.view.widths import cell_width, char_width

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

CHARS = [chr(code) for code in range(0x20, 0x32000) if not 0xD800 <= code < 0xE000]
"""All but the planes of tags and private characters: of two cells, or never shown."""
SHOWN = [char for char in CHARS if neutralise(char) == char]
"""Those that reach a terminal."""


@pytest.fixture
def wcwidth() -> Iterator[Callable[[str], int]]:
    """The C library's own, which terminals and shells ask."""
    library = ctypes.CDLL(None)
    if not hasattr(library, "wcwidth"):  # pragma: no cover - no such platform here
        pytest.skip("this C library has no wcwidth")
    before = locale.setlocale(locale.LC_CTYPE)
    locale.setlocale(locale.LC_CTYPE, "C.UTF-8")
    try:
        yield lambda char: library.wcwidth(ord(char))
    finally:
        locale.setlocale(locale.LC_CTYPE, before)


@pytest.mark.requirement("G-TERM-2")
def test_no_character_is_counted_narrower_than_the_c_library_does(
    wcwidth: Callable[[str], int],
) -> None:
    narrower = [f"U+{ord(char):04X}" for char in SHOWN if char_width(char) < wcwidth(char)]

    assert narrower == []


@pytest.mark.requirement("G-TERM-2")
def test_no_character_is_counted_narrower_than_unicode_says() -> None:
    narrower = [
        f"U+{ord(char):04X}"
        for char in SHOWN
        if unicodedata.east_asian_width(char) in "WF"
        and unicodedata.category(char) != "Cn"
        and char_width(char) < 2
    ]

    assert narrower == []


@pytest.mark.parametrize(
    ("chars", "cells"),
    [
        ("\u4dc0\u4dff", 2),  # hexagrams
        ("\u3248\u324f", 2),  # circled numbers
        ("\u2630\u268a", 2),  # trigrams and digrams, wide since Unicode 16
        ("\u1b44\u1baa\u1bf2\u1bf3\u1715\u1734", 1),  # marks with a cell of their own
        ("\u302e\u302f", 2),
        ("\U0001f600\U0001faff\U00020000", 2),
        ("\u0301\u20dd\u0e31", 0),
        ("a\u00e9\u0416\u2026\u2713", 1),
        ("\ufe0f", 1),  # with what it stands behind: two
    ],
)
def test_a_character_takes_the_most_that_any_table_gives_it(chars: str, cells: int) -> None:
    assert {char_width(char) for char in chars} == {cells}


def test_the_width_of_a_text_is_that_of_its_characters() -> None:
    wrong = [char for char in CHARS if cell_width(f"x{char}") != 1 + char_width(char)]

    assert wrong == []
