"""The mark that stands for what was masked, and how it is put into a text."""

from __future__ import annotations

__all__ = ("MASK", "cut")

MASK = "[redacted]"


def cut(text: str, spans: list[tuple[int, int]]) -> str:
    """Return `text` with `MASK` in place of each of `spans`, which are in order and apart."""
    if not spans:
        return text
    pieces: list[str] = []
    done = 0
    for start, end in spans:
        pieces += (text[done:start], MASK)
        done = end
    return "".join((*pieces, text[done:]))
