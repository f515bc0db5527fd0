"""A progress bar on a terminal; nothing elsewhere."""

from __future__ import annotations

__all__ = ("Progress",)

from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from typing import TextIO

_WIDTH = 30


class Progress:
    """Shows how much of `total` bytes is done.

    Args:
        total: How many there are; 0: not known, no bar.
        out: Where to draw it, if that is a terminal.
    """

    def __init__(self, total: int, out: TextIO) -> None:
        self._total = total
        self._out = out
        self._done = 0
        self._drawn = -1
        self._shown = total > 0 and out.isatty()

    def advance(self, count: int) -> None:
        """Note that `count` more bytes are done."""
        self._done += count
        if not self._shown:
            return
        percent = min(100, self._done * 100 // self._total)
        if percent != self._drawn:
            self._drawn = percent
            full = percent * _WIDTH // 100
            self._out.write(f"\r[{'#' * full}{'.' * (_WIDTH - full)}] {percent:3d}%")
            self._out.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._drawn >= 0:
            self._out.write("\r" + " " * (_WIDTH + 7) + "\r")
            self._out.flush()
