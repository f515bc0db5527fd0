"""Makes text of others harmless on a terminal: what could act or hide becomes a visible symbol.

Nothing is removed. What comes out holds no control character but newline and tab, no bidirectional
control and no invisible character, so it cannot move the cursor, set colours or titles, overwrite
what stands there, or read differently from what it is.
"""

from __future__ import annotations

__all__ = ("neutralise", "one_line", "without_colours")

import re

# Written with escapes alone: a reader of this file must see what it lists.
_ACTIVE = re.compile(
    "["
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 but tab and newline, DEL, C1
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"  # soft hyphen, joiners, fillers
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f"  # zero width, line separators, bidi
    "\u2800\u3164\ufeff\uffa0\ufff0-\ufffb"  # blanks, byte order mark, annotation
    "\ufe00-\ufe0e"  # variation selectors
    "\ud800-\udfff"  # halves of surrogate pairs, which no stream can encode
    "\U00013430-\U00013440\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"  # old scripts, music
    "\U000e0000-\U000e0fff"  # tags and further variation selectors: used to hide text
    "]"
    # Emoji are written with this selector; anywhere else it is an invisible character.
    "|(?<![\u00a9\u00ae\u203c\u2049\u2122\u2139\u2194-\u21aa\u231a-\u23ff\u24c2\u25aa-\u27bf"
    "\u2934\u2935\u2b05-\u2b55\u3030\u303d\u3297\u3299\U0001f000-\U0001faff])"
    "(?<![#*0-9](?=\ufe0f\u20e3))\ufe0f"  # keycaps
)
_COLOURS = re.compile("\x1b\\[[0-9;:]*m")
_SYMBOLS = {chr(code): chr(0x2400 + code) for code in range(0x20)} | {"\x7f": "\u2421"}
_WITHOUT_BREAKS = str.maketrans("", "", "\n\t")
_TO_SPACE = str.maketrans("\n\t", "  ")


def neutralise(text: str, *, ascii_only: bool = False) -> str:
    r"""Return `text` with all that could act on a terminal, or hide in it, made visible.

    A C0 character (`\n` and `\t` stay) or DEL becomes its symbol, such as `␛`; anything else
    becomes its code point, such as `<U+202E>`. Clean text comes back unchanged.

    Args:
        text: Text that was written by someone else.
        ascii_only: Show C0 characters as code points too; other text stays as it is.

    >>> from compass_agent.view import neutralise
    >>> neutralise("a\u202eb", ascii_only=True)
    'a<U+202E>b'
    """
    if text.isascii() and (text.isprintable() or text.translate(_WITHOUT_BREAKS).isprintable()):
        return text
    return _ACTIVE.sub(_code_point if ascii_only else _visible, text)


def one_line(text: str, *, ascii_only: bool = False) -> str:
    """Return `neutralise(text)` with newlines and tabs shown as spaces."""
    return neutralise(text, ascii_only=ascii_only).translate(_TO_SPACE)


def without_colours(text: str) -> str:
    """Return `text` without colour sequences (SGR); no other sequence is touched.

    Programs colour their output and mean no harm; the colours say nothing that the text does not.
    """
    return _COLOURS.sub("", text) if "\x1b" in text else text


def _visible(match: re.Match[str]) -> str:
    return _SYMBOLS.get(match[0]) or _code_point(match)


def _code_point(match: re.Match[str]) -> str:
    return f"<U+{ord(match[0]):04X}>"
