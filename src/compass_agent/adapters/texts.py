"""Short readable pieces of what an agent wrote."""

from __future__ import annotations

__all__ = ("excerpt", "says_shortened", "tail")

import re
from typing import TYPE_CHECKING

from compass_agent.errors.redaction import redact
from compass_agent.errors.shapes import as_list, is_object, valid_text

if TYPE_CHECKING:
    from collections.abc import Iterable

_LONGEST_EXCERPT = 200
# Read further than what is shown, so that a secret is masked as a whole.
_LONGEST_READ = 4096
_LONGEST_TAIL = 8192
_MARK = "chars elided for RPC frame]"
_SHORTENED = re.compile(r"\[[0-9]{1,12} chars elided for RPC frame\]")
_MOST_VALUES = 100_000


def excerpt(text: str, secrets: Iterable[str] = (), *, longest: int = _LONGEST_EXCERPT) -> str:
    """Return the head of `text` on one line: at most `longest` characters, no control ones."""
    head = redact(valid_text(text[:_LONGEST_READ]), secrets)
    plain = "".join(letter if letter.isprintable() else " " for letter in head)
    plain = " ".join(plain.split())
    return plain if len(plain) <= longest else plain[: longest - 1] + "…"


def tail(text: str, secrets: Iterable[str] = ()) -> str:
    """Return the last lines of `text`, at most 8,192 characters, without secrets."""
    text = valid_text(text[-16 * _LONGEST_TAIL :])
    text = redact(text, secrets)
    if len(text) <= _LONGEST_TAIL:
        return text
    last = text[-_LONGEST_TAIL:]
    # Half a line tells little; a text of one line is kept as it is.
    return last.partition("\n")[2] or last


def says_shortened(value: object) -> bool:
    """Tell whether a line, or what it holds, says that the agent shortened it."""
    if isinstance(value, str):
        return _MARK in value and _SHORTENED.search(value) is not None
    waiting = [value]
    for _ in range(_MOST_VALUES):
        if not waiting:
            return False
        item = waiting.pop()
        if isinstance(item, str):
            if says_shortened(item):
                return True
        else:
            waiting += item.values() if is_object(item) else as_list(item)
    return False
