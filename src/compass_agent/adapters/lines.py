"""Splits a stream of bytes into lines at line feeds alone, in bounded memory.

Carriage returns, U+2028, U+0085 and all other separators are text.
"""

from __future__ import annotations

__all__ = ("LARGEST_LINE", "Line", "LineSplitter")

from dataclasses import dataclass

# Agents write lines of several megabytes: arguments and results of tools, and whole conversations.
LARGEST_LINE = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Line:
    """One line.

    Attributes:
        number: From 1 on; empty lines count.
        data: The bytes without the line's end; empty when the line was too long.
        skipped: How many bytes were left out because the line was too long.
    """

    number: int
    data: bytes
    skipped: int = 0


class LineSplitter:
    """Takes chunks of any size and gives whole lines.

    Args:
        limit: The largest line in bytes; a longer one is counted, not kept.
        first: The number of the first line.
    """

    def __init__(self, limit: int = LARGEST_LINE, first: int = 1) -> None:
        self._limit = limit
        self._pieces: list[bytes] = []
        self._length = 0
        self._skipped = 0
        self._number = first

    @property
    def number(self) -> int:
        """The number of the line that comes next, or has begun."""
        return self._number

    @property
    def begun(self) -> bytes:
        """The first piece of the line that has begun; empty when none has."""
        return self._pieces[0] if self._pieces else b""

    @property
    def waiting(self) -> bool:
        """Whether a line has begun and not ended."""
        return self._length > 0 or self._skipped > 0

    def feed(self, chunk: bytes) -> list[Line]:
        """Return the lines that `chunk` completes."""
        *whole, rest = chunk.split(b"\n")
        lines: list[Line] = []
        for piece in whole:
            self._keep(piece)
            lines.append(self.take())
        self._keep(rest)
        return lines

    def take(self) -> Line:
        """End the line that has begun, also an empty one, and return it."""
        line = Line(self._number, b"".join(self._pieces), self._skipped)
        self._number += 1
        self._pieces, self._length, self._skipped = [], 0, 0
        return line

    def _keep(self, piece: bytes) -> None:
        if self._skipped or self._length + len(piece) > self._limit:
            self._skipped += self._length + len(piece)
            self._pieces, self._length = [], 0
        elif piece:
            self._pieces.append(piece)
            self._length += len(piece)
