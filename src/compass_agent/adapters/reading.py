"""Reads the JSON objects out of an agent's bytes, however they are cut. Never raises.

What is no object is not lost: it becomes a notice with the number of its line.
"""

from __future__ import annotations

__all__ = ("ObjectReader", "ReadObject", "json_object")

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from compass_agent.adapters.lines import LARGEST_LINE, Line, LineSplitter
from compass_agent.adapters.texts import excerpt
from compass_agent.errors.shapes import is_object
from compass_agent.events.classes import Noticed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_BLANK = b" \t\r"
_BOM = "\ufeff"


@dataclass(frozen=True, slots=True)
class ReadObject:
    """The object of one line.

    Attributes:
        value: The object.
        place: Which line it was, for people.
        text: The line as text; None when it came as an object.
    """

    value: Mapping[str, object]
    place: str
    text: str | None = None


class ObjectReader:
    """Takes pieces of a stream, of any size, and gives the objects that they complete, in order.

    Args:
        secrets: Values that must not appear in notices.
        largest_line: Longer lines, in bytes, are left out, with a notice.
        first_line: The number of the first line.
    """

    def __init__(
        self,
        secrets: Iterable[str] = (),
        *,
        largest_line: int = LARGEST_LINE,
        first_line: int = 1,
    ) -> None:
        self._secrets = tuple(secrets)
        self._lines = LineSplitter(largest_line, first_line)
        self._early = False

    def read(self, data: bytes | str | Mapping[str, object]) -> list[ReadObject | Noticed]:
        """Return what `data` completes.

        Args:
            data: A piece of the stream; or one line, with or without its end; or the object of one
                line. A piece without a line's end that is a whole JSON object is taken for a line;
                any other waits for the rest of its line.
        """
        if is_object(data):
            return self._alone(data)
        if isinstance(data, str):
            return self._bytes(data.encode("utf-8", "surrogatepass"))
        if isinstance(data, bytes | bytearray | memoryview):
            return self._bytes(bytes(data))
        return [Noticed(f"A {type(data).__name__} is no part of an agent's stream")]

    def rest(self) -> tuple[list[ReadObject | Noticed], bool]:
        """Return what is left of a line that never ended, and whether it was cut off."""
        if not self._lines.waiting:
            return [], False
        line = self._lines.take()
        whole = None if line.skipped else json_object(line.data)
        if whole is None and line.data.lstrip(_BLANK).startswith(b"{"):
            return [Noticed(f"The agent was cut off in the middle of line {line.number}")], True
        return self._line(line), False

    def _bytes(self, chunk: bytes) -> list[ReadObject | Noticed]:
        if self._early:
            chunk = self._without_late_end(chunk)
        if b"\n" not in chunk and (value := json_object(chunk)) is not None:
            begun = self._lines.begun.lstrip(_BLANK)
            # What has begun is no JSON, so this object cannot be the rest of it.
            if not self._lines.waiting or not begun.startswith((b"{", b"[", b"\xef\xbb\xbf")):
                self._early = True
                return self._alone(value)
        return [read for line in self._lines.feed(chunk) for read in self._line(line)]

    def _without_late_end(self, chunk: bytes) -> bytes:
        """Take off the end of a line that was processed before its end came."""
        rest = chunk.removeprefix(b"\r")
        self._early = not rest
        return rest.removeprefix(b"\n")

    def _alone(self, value: Mapping[str, object]) -> list[ReadObject | Noticed]:
        """Return the object of a line by itself, after what has begun."""
        begun = self._line(self._lines.take()) if self._lines.waiting else []
        return [*begun, ReadObject(value, f"Line {self._lines.take().number}")]

    def _line(self, line: Line) -> list[ReadObject | Noticed]:
        place = f"Line {line.number}"
        if line.skipped:
            return [Noticed(f"{place} was left out: {line.skipped} bytes are too many")]
        if not line.data.strip(_BLANK):
            return []
        text, lossy = _decoded(line.data)
        lost = [Noticed(f"{place} is no valid UTF-8; parts of it are lost")] if lossy else []
        try:
            value: object = json.loads(text.removeprefix(_BOM))
        except (ValueError, RecursionError):
            return [*lost, self._odd(place, "is no JSON", text)]
        if not is_object(value):
            return [*lost, self._odd(place, "is no JSON object", text)]
        return [*lost, ReadObject(value, place, text)]

    def _odd(self, place: str, why: str, text: str) -> Noticed:
        return Noticed(f"{place} {why}: {excerpt(text, self._secrets)}")


def json_object(data: bytes) -> Mapping[str, object] | None:
    """Return the JSON object that `data` is, blanks apart; None when it is none."""
    stripped = data.strip(_BLANK + b"\n")
    if not (stripped.startswith(b"{") and stripped.endswith(b"}")):
        return None
    try:
        value: object = json.loads(stripped.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError):
        return None
    return value if is_object(value) else None


def _decoded(data: bytes) -> tuple[str, bool]:
    """Return the text of a line, and whether parts of it were lost."""
    for how in ("strict", "surrogatepass"):
        try:
            return data.decode("utf-8", how), False
        except UnicodeDecodeError:
            continue
    return data.decode("utf-8", "replace"), True
