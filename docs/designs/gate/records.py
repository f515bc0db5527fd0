"""A record as data: what may still be said at its top, and what is frozen."""

from __future__ import annotations

__all__ = ("HEADINGS", "Change", "Record", "change", "parse_record")

import re
from collections import Counter
from dataclasses import dataclass
from datetime import date
from enum import Enum, auto
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

HEADINGS = ("Problem", "Constraints", "Choice", "Alternatives", "Cost")
"""What a record has a heading for."""

_TOP = re.compile(
    r"\s*# (?P<title>[^\n]+)\n\s*\n"
    r"Status: (?P<status>Active|Superseded by DL-(?P<by>[1-9]\d*))[ \t]*(?:\n[ \t]*(?:\n|\Z)|\Z)"
)
_NOTE = re.compile(r"> (?P<day>\d{4}-\d{2}-\d{2}): \S")


@dataclass(frozen=True)
class Record:
    """One page of reasons.

    Attributes:
        title: Of the page; "" when it does not open as a record does.
        status: `Active` or `Superseded by DL-<n>`; "" as before.
        by: The number in the status; 0: none.
        notes: The dated notes at the top, each with all its lines.
        body: All the rest.
    """

    title: str
    status: str
    by: int
    notes: tuple[str, ...]
    body: str


class Change(Enum):
    """What a step did to a record, the weightiest part of it."""

    NONE = auto()
    NOTES = auto()
    """Notes were added at its top, nothing else."""
    STATUS = auto()
    """Its status is another one; notes may have come, too."""
    TEXT = auto()
    """Title, body or an older note is not what it was."""


def parse_record(text: str) -> Record:
    """Read a record; one that does not open as it should is all body."""
    top = _TOP.match(text)
    if top is None:
        return Record("", "", 0, (), text.strip())
    notes: list[str] = []
    rest = text[top.end() :].lstrip("\n")
    while (opening := _NOTE.match(rest)) and _is_day(opening["day"]):
        lines = rest.split("\n")
        length = next((i for i, line in enumerate(lines) if not line.startswith(">")), len(lines))
        notes.append("\n".join(lines[:length]))
        rest = "\n".join(lines[length:]).lstrip("\n")
    by = int(top["by"] or 0)
    return Record(top["title"].strip(), top["status"], by, tuple(notes), rest.strip())


def _is_day(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def change(before: Sequence[Record], after: Record) -> Change:
    """Return what became of a record; `before` has it as each parent that has it had it.

    A merge takes title and body from one parent, and keeps the notes of all.
    """
    kept = all(not (Counter(old.notes) - Counter(after.notes)) for old in before)
    text = (after.title, after.body)
    if not kept or text not in [(old.title, old.body) for old in before]:
        return Change.TEXT
    if after.status not in [old.status for old in before]:
        return Change.STATUS
    if any(len(old.notes) != len(after.notes) for old in before):
        return Change.NOTES
    return Change.NONE
