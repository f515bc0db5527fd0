"""Lays text out in lines that the text itself cannot leave.

All text of others goes through `LineWriter.flow`: it is neutralised there, and every line that it
opens, by a newline or by reaching the edge of the terminal, begins with the writer's prefix. So no
text of others ever stands at the left edge, where the times are.
"""

from __future__ import annotations

__all__ = ("LineWriter", "fitted")

import re
from typing import TYPE_CHECKING

from compass_agent.view.neutralise import neutralise
from compass_agent.view.style import Role
from compass_agent.view.widths import cell_width, char_width

if TYPE_CHECKING:
    from compass_agent.view.style import Style

_PIECES = re.compile(r" +|[^ ]+")
_NARROWEST = 12  # cells; a terminal with fewer is none to read on
_LEAST_ROOM = 10  # cells for text; where the indentation leaves fewer, it goes
_TAB = "    "
_SELECTOR = "\ufe0f"


def fitted(text: str, width: int, more: str) -> str:
    """Return `text`, one line, padded to `width` cells, or cut to them with `more` at its end."""
    cells = cell_width(text)
    if cells <= width:
        return text + " " * (width - cells)
    if cell_width(more) > width:
        return " " * width
    room, part = width - cell_width(more), ""
    for char in text:
        room -= char_width(char)
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
        self._width = width
        self._out: list[str] = []
        self._open = False
        self._paused = False  # something else stood below the open line
        self._others = self._prefix = ""
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
        self._last = ""  # the character before, which one that comes may belong to

    @property
    def width(self) -> int | None:
        """The terminal's width in cells; None: lines are not wrapped. It may change at any time."""
        return self._width

    @width.setter
    def width(self, width: int | None) -> None:
        if width != self._width:
            self._width = width
            self._lay_out()

    def begin(self, first: str, others: str, role: Role = Role.PLAIN) -> None:
        """Close the open line and begin one with `first`; the lines that follow get `others`.

        Both are our own words, not text of others.
        """
        self.close()
        self._others, self._prefix_role = others, role
        self._lay_out()
        if self._prefix != others:
            first = first.lstrip(" ")
        self._column = cell_width(first)
        if self._width is not None and self._column > self._edge:
            first = self._broken(first)
        self._out.append(self.style.paint(role, first))
        self._open = self._fresh = self._blank_line = True
        self._last = ""

    def _lay_out(self) -> None:
        """Choose the prefix: the bar without its indentation where that leaves no room for text."""
        prefix = self._others
        if self._width is not None and self._edge - cell_width(prefix) < _LEAST_ROOM:
            prefix = (prefix.strip(" ") or " ") + " "
        self._prefix, self._start = prefix, cell_width(prefix)

    def _broken(self, first: str) -> str:
        """Return our own words that are too long for a line: what goes on has its prefix, too."""
        rows = [""]
        for word in first.split():
            row = f"{rows[-1]} {word}" if rows[-1] else word
            if rows[-1] and cell_width(row) > self._edge:
                rows.append(self._prefix + word)
            else:
                rows[-1] = row
        self._column = cell_width(rows[-1])
        self._spaces = " "
        return "\n".join(rows)

    def pause(self) -> None:
        """End the open line, as something else is to stand below it; what follows is barred."""
        if self._open and not self._paused:
            self._end_run()
            self._out.append("\n")
            self._spaces, self._column, self._paused = "", self._start, True

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
        if clean is not text and text[0] == _SELECTOR and self._last:
            # What it selects came with the piece before.
            clean = neutralise(self._last + text, ascii_only=self.style.ascii_only)[1:]
        self._last = clean[-1:]
        plain = self._width is None and not self._newlines and not self._paused
        if plain and clean and "\n" not in clean:
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
            if not self._paused:
                self._out.append("\n")
            self._open = self._paused = False

    def take(self) -> str:
        """Return what was written since the last time; the open line stays open."""
        self._end_run()
        out = "".join(self._out)
        self._out.clear()
        return out

    @property
    def _edge(self) -> int:
        # The last cell stays free: some terminals wrap on reaching it.
        return max(self._width or 0, _NARROWEST) - 1

    def _append(self, piece: str) -> None:
        if self._width is None:
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
            cells = char_width(char)
            if at + cells > self._edge:
                self._emit(part, 0)
                self._newlines, part, at = 1, "", self._start
            part, at = part + char, at + cells
        self._emit(part, 0)
        self._column = at

    def _emit(self, text: str, cells: int) -> None:
        if self._newlines or self._paused:
            self._end_painted()
            bare = self.style.paint(self._prefix_role, self._prefix.rstrip(" "))
            self._out.append("" if self._paused else "\n")
            self._out.append((bare + "\n") * (self._newlines - 1))
            self._out.append(self.style.paint(self._prefix_role, self._prefix))
            self._column, self._newlines, self._paused = self._start, 0, False
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
