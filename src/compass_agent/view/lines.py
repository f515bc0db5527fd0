"""Lays text out in lines that the text itself cannot leave.

All text of others goes through `LineWriter.flow`: it is neutralised there, and every line that it
opens, by a newline or by reaching the edge of the terminal, begins with the writer's prefix. So no
text of others ever stands at the left edge, where the times are.
"""

from __future__ import annotations

__all__ = ("LineWriter", "cell_width", "fitted")

import re
import unicodedata
from typing import TYPE_CHECKING

from compass_agent.view.neutralise import neutralise
from compass_agent.view.style import Role

if TYPE_CHECKING:
    from compass_agent.view.style import Style

_PIECES = re.compile(r" +|[^ ]+")
_NARROWEST = 32  # cells; the deepest prefix leaves a dozen of them for text
_WIDE_PLANES = 0x1F000  # emoji and later: wide on terminals, whatever this Python's tables say
_TAB = "    "


def cell_width(text: str) -> int:
    """Return how many terminal cells `text` takes; it errs on the wide side."""
    if text.isascii():
        return len(text)
    return sum(_char_width(char) for char in text)


def _char_width(char: str) -> int:
    if char.isascii():
        return 1
    if unicodedata.combining(char):
        return 0
    wide = unicodedata.east_asian_width(char) in "WF" or ord(char) >= _WIDE_PLANES
    return 2 if wide else 1


def fitted(text: str, width: int, more: str) -> str:
    """Return `text`, one line, padded to `width` cells, or cut to them with `more` at its end."""
    cells = cell_width(text)
    if cells <= width:
        return text + " " * (width - cells)
    room, part = width - cell_width(more), ""
    for char in text:
        room -= _char_width(char)
        if room < 0:
            break
        part += char
    return part + more + " " * (width - cell_width(part + more))


class LineWriter:
    """Collects lines; `take` gives what was written since the last `take`.

    Args:
        style: How to paint.
        width: The terminal's width in cells; None: lines are not wrapped (a pipe, a file).
    """

    def __init__(self, style: Style, width: int | None = None) -> None:
        self.style = style
        self.width = width
        self._out: list[str] = []
        self._open = False
        self._prefix = ""
        self._prefix_role = Role.PLAIN
        self._column = 0
        self._start = 0
        self._role = Role.PLAIN
        self._run: list[str] = []  # text of one role, not painted yet
        self._word = ""  # waits for its end, to know whether it fits
        self._spaces = ""  # wait for a word; at the edge they are dropped
        self._newlines = 0  # wait for text; at the end they are dropped
        self._blank_line = True
        self._fresh = True

    def begin(self, first: str, others: str, role: Role = Role.PLAIN) -> None:
        """Close the open line and begin one with `first`; the lines that follow get `others`.

        Both are our own words, not text of others.
        """
        self.close()
        self._out.append(self.style.paint(role, first))
        self._prefix, self._prefix_role = others, role
        self._column, self._start = cell_width(first), cell_width(others)
        self._open = self._fresh = self._blank_line = True

    def flow(self, text: str, role: Role = Role.PLAIN) -> None:
        """Append text of others to the open line. Newlines at its very start and end are dropped.

        Raises:
            RuntimeError: When no line was begun.
        """
        if not self._open:
            raise RuntimeError("flow() before begin()")
        if role is not self._role:
            self._end_run()
            self._role = role
        clean = neutralise(text, ascii_only=self.style.ascii_only)
        if self.width is None and not self._newlines and clean and "\n" not in clean:
            # What nearly every piece of a message is; below is the same for what is not.
            self._fresh = self._blank_line = False
            self._run.append(clean)
            return
        for number, piece in enumerate(clean.split("\n")):
            if number:
                self._end_word()
                self._spaces = ""
                self._newlines += not self._fresh
            if piece:
                self._fresh = False
                self._append(piece)

    def put(self, text: str, role: Role = Role.PLAIN) -> None:
        """Append text of others that is one line: its newlines become spaces."""
        self.flow(text.replace("\n", " "), role)

    def close(self) -> None:
        """End the open line, if there is one."""
        if self._open:
            self._end_run()
            self._spaces, self._newlines = "", 0
            self._out.append("\n")
            self._open = False

    def take(self) -> str:
        """Return what was written since the last time; the open line stays open."""
        self._end_run()
        out = "".join(self._out)
        self._out.clear()
        return out

    @property
    def _edge(self) -> int:
        # The last cell stays free: some terminals wrap on reaching it.
        return max(self.width or 0, _NARROWEST) - 1

    def _append(self, piece: str) -> None:
        if self.width is None:
            self._emit(piece, 0)
            return
        for part in _PIECES.findall(piece.replace("\t", _TAB)):
            if part[0] != " ":
                self._word += part
                continue
            self._end_word()
            if self._newlines or self._blank_line:
                at = self._start if self._newlines else self._column
                indent = part[: max(self._edge - at, 0)]
                self._emit(indent, len(indent))
            else:
                self._spaces = part

    def _end_word(self) -> None:
        """Place the word that waits: here, on a line of its own, or in pieces."""
        word, self._word = self._word, ""
        spaces, self._spaces = self._spaces, ""
        if not word:
            self._spaces = spaces
            return
        cells = cell_width(word)
        whole = cells <= self._edge - self._start
        if whole and not self._newlines and self._column + len(spaces) + cells > self._edge:
            self._newlines, spaces = 1, ""
        if whole:
            self._emit(spaces + word, len(spaces) + cells)
        else:
            self._emit_pieces(spaces + word)

    def _emit_pieces(self, word: str) -> None:
        part, at = "", self._start if self._newlines else self._column
        for char in word:
            cells = _char_width(char)
            if at + cells > self._edge:
                self._emit(part, 0)
                self._newlines, part, at = 1, "", self._start
            part, at = part + char, at + cells
        self._emit(part, 0)
        self._column = at

    def _emit(self, text: str, cells: int) -> None:
        if self._newlines:
            self._end_painted()
            bare = self.style.paint(self._prefix_role, self._prefix.rstrip(" "))
            self._out.append("\n" + (bare + "\n") * (self._newlines - 1))
            self._out.append(self.style.paint(self._prefix_role, self._prefix))
            self._column, self._newlines = self._start, 0
        self._run.append(text)
        self._column += cells
        self._blank_line = False

    def _end_run(self) -> None:
        self._end_word()
        self._end_painted()

    def _end_painted(self) -> None:
        if self._run:
            self._out.append(self.style.paint(self._role, "".join(self._run)))
            self._run.clear()
