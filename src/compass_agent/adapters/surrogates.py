"""Joins code points that an agent split over two deltas."""

from __future__ import annotations

__all__ = ("DeltaJoiner",)

from compass_agent.errors.shapes import valid_text

_HIGH_FIRST, _HIGH_LAST = "\ud800", "\udbff"
_LOST = "�"


class DeltaJoiner:
    """Holds back the first half of a code point until its block goes on or ends.

    A block is known by a key; there is one open half for each.
    """

    def __init__(self) -> None:
        self._halves: dict[tuple[str, object], str] = {}

    def join(self, key: tuple[str, object], delta: str) -> str:
        """Return the valid text that is complete with `delta`; it may be empty."""
        half = self._halves.pop(key, "")
        text = half + delta
        if text and _HIGH_FIRST <= text[-1] <= _HIGH_LAST:
            self._halves[key] = text[-1]
            text = text[:-1]
        return valid_text(text)

    def end(self, key: tuple[str, object] | None = None) -> list[tuple[str, str]]:
        """Return (kind, replacement) of each half that will never be complete.

        Args:
            key: The block that ended; None: all of them did.
        """
        if not self._halves:
            return []
        keys = list(self._halves) if key is None else [key] * (key in self._halves)
        for ended in keys:
            del self._halves[ended]
        return [(kind, _LOST) for kind, _ in keys]
