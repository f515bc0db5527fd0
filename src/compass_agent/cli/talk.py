"""What the command tells its user on standard error, beside its data: in lines, or as JSON."""

from __future__ import annotations

__all__ = (
    "before_talk",
    "is_utf8",
    "laid_out",
    "same_place",
    "say",
    "talking_json",
    "talks_json",
    "terminal_width",
)

import codecs
import contextlib
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from typing import TextIO

_HEAD = "compass: "
_before: list[Callable[[], None]] = []
_json: list[bool] = [False]


def say(text: str) -> None:
    """Tell the user something that is not data; what others wrote in it is made harmless."""
    for callback in _before:
        callback()
    if sys.stderr is not None:  # None: it was closed at the start
        line = _notice(text) if talks_json() else laid_out(text, sys.stderr)
        print(line, file=sys.stderr, flush=True)


def _notice(text: str) -> str:
    import json  # noqa: PLC0415 - only for this

    return json.dumps({"notice": text})


def talks_json() -> bool:
    """Tell whether all that is said is a JSON object a line: a program reads it."""
    return _json[-1]


@contextlib.contextmanager
def talking_json() -> Generator[None]:
    """Say everything as JSON in the block, also what is logged and nobody else takes."""
    import logging  # noqa: PLC0415 - only for this

    class Notices(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            say(record.getMessage())

    before, logging.lastResort = logging.lastResort, Notices(logging.WARNING)
    _json.append(True)
    try:
        yield
    finally:
        _json.pop()
        logging.lastResort = before


@contextlib.contextmanager
def before_talk(callback: Callable[[], None]) -> Generator[None]:
    """Call `callback` before anything is said: what is printed may have a line that is open."""
    _before.append(callback)
    try:
        yield
    finally:
        _before.remove(callback)


def laid_out(text: str, stream: TextIO) -> str:
    """Return `text` under our head, its further lines barred, wrapped where `stream` would be."""
    if not stream.isatty() and text.isascii() and text.isprintable():
        return _HEAD + text
    from compass_agent.view.lines import LineWriter  # noqa: PLC0415 - dear to import
    from compass_agent.view.style import Style  # noqa: PLC0415 - likewise

    style = Style(ascii_only=not is_utf8(stream.encoding))
    lines = LineWriter(style, terminal_width(stream))
    lines.begin(_HEAD, f"{' ' * (len(_HEAD) - 2)}{style.symbol('bar')} ")
    lines.flow(text)
    return lines.take()


def same_place(one: TextIO | None, other: TextIO | None) -> bool:
    """Tell whether what is written to both ends up in one place, such as a terminal."""
    try:
        if one is None or other is None:
            return False
        first, second = os.fstat(one.fileno()), os.fstat(other.fileno())
    except (OSError, ValueError):
        return False
    return (first.st_dev, first.st_ino) == (second.st_dev, second.st_ino)


def is_utf8(encoding: str | None) -> bool:
    """Tell whether all of Unicode can be written in `encoding`."""
    try:
        return codecs.lookup(encoding or "").name == "utf-8"
    except LookupError:
        return False


def terminal_width(stream: TextIO | None = None) -> int | None:
    """Return the width in cells of the terminal that `stream` (None: stdout) is, if it is one."""
    out: TextIO = sys.stdout if stream is None else stream
    if not out.isatty():
        return None
    try:
        return os.get_terminal_size(out.fileno()).columns or 80
    except (OSError, ValueError):
        return 80
