"""How many cells of a terminal a character takes: never fewer than any terminal gives it.

A character that is counted too narrow lets the terminal wrap where we do not, and what stands
behind it begins at the left edge. So the widest claim counts: that of Unicode's East Asian Width,
of glibc's `wcwidth` and of the `wcwidth` package (for Unicode 18, and what it measured on
terminals). Counted too wide, a line is merely wrapped early.
"""

from __future__ import annotations

__all__ = ("cell_width", "char_width")

import re
import unicodedata
from functools import cache, lru_cache

_EMOJI_PLANES = 0x1F000
"""Wide from here on, whatever a table says: newer tables say so of more and more."""

# Two cells by one of those tables, below the emoji planes; unassigned ones among them are, too.
_WIDE = (
    "["
    "\u1100-\u115f\u17a4\u17d8\u231a\u231b\u2329\u232a\u23e9-\u23ec\u23f0\u23f3\u25fd\u25fe"
    "\u2614\u2615\u261d\u2630-\u2637\u2648-\u2653\u267f\u268a-\u268f\u2693\u26a1\u26aa\u26ab"
    "\u26bd\u26be\u26c4\u26c5\u26ce\u26d4\u26ea\u26f2\u26f3\u26f5\u26f9\u26fa\u26fd\u2705"
    "\u270a-\u270d\u2728\u274c\u274e\u2753-\u2755\u2757\u2795-\u2797\u27b0\u27bf\u2b1b\u2b1c"
    "\u2b50\u2b55\u2e80-\u303e\u3041-\ua4c6\ua960-\ua97c\uac00-\ud7a3\uf880\uf881\uf8a1-\uf8d6"
    "\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6b\uff01-\uff60\uffe0-\uffe6"
    "\U00016fe0-\U0001b2fb\U0001d300-\U0001d376"
    "]"
)
# Nothing in it but characters of one cell: Latin, Greek, Cyrillic, and the usual signs.
_SINGLE = (
    "[ -~\u00a0-\u02ff\u0370-\u0482\u048a-\u0530\u1e00-\u1fff\u2010-\u2027\u2030-\u205e"
    "\u2070-\u20cf\u2100-\u2319\u2400-\u25fc]*"
)
# Behind one of these it asks for an emoji, which is of two cells on some terminals.
_EMOJI_SELECTOR = "\ufe0f"


@cache
def _expression(pattern: str) -> re.Pattern[str]:
    """Return the expression, compiled once a text needs it: that takes milliseconds."""
    return re.compile(pattern)


def cell_width(text: str) -> int:
    """Return how many terminal cells `text` takes at most."""
    if text.isascii() or _expression(_SINGLE).fullmatch(text):
        return len(text)
    return sum(map(char_width, text))


@lru_cache(maxsize=4096)
def char_width(char: str) -> int:
    """Return how many terminal cells `char` takes at most: 0, 1 or 2."""
    if ord(char) >= _EMOJI_PLANES or _expression(_WIDE).match(char):
        return 2
    if char == _EMOJI_SELECTOR:
        return 1
    # Marks that stand on the character before them; those that take a cell are of other categories.
    return 0 if unicodedata.category(char) in {"Mn", "Me"} else 1
