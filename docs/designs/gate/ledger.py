"""The ledger as data: its head, and a row for each decision."""

from __future__ import annotations

__all__ = ("LEDGER", "Ledger", "Row", "Status", "parse_ledger", "parse_status")

import re
from dataclasses import dataclass, field
from datetime import date
from pathlib import PurePosixPath
from typing import NamedTuple

from gate.markdown import links, prose

LEDGER = "DECISIONS.md"
"""The name of the page, in the folder of the records."""

_COLUMNS = ["ID", "Decision", "Status", "Record"]
_ID = re.compile(r"DL-([1-9]\d{0,11})")
_WIDEST = 10_000
_STATUS = re.compile(
    r"(?:Active|Superseded by DL-(?P<by>[1-9]\d*))"
    r" \((?P<who>[^\s(),|](?:[^(),|]*[^\s(),|])?), (?P<day>\d{4}-\d{2}-\d{2})\)"
)
_UNESCAPED_PIPE = re.compile(r"(?<!\\)\|")
_RULE = re.compile(r":?-+:?")


class Status(NamedTuple):
    """A status that has one of the two forms; `by` is the number of the newer decision, 0: none."""

    by: int


@dataclass(frozen=True)
class Row:
    """One decision, in the words of the ledger.

    Attributes:
        line: Its line in the ledger, from 1.
        record: The path of its record in the folder of the ledger; "": the cell is no link.
        anchor: The place within the record; "": the whole page.
    """

    line: int
    section: str
    number: int
    decision: str
    status: str
    record: str
    anchor: str

    @property
    def name(self) -> str:
        """`DL-` and the number."""
        return f"DL-{self.number}"


@dataclass(frozen=True)
class Ledger:
    """A ledger.

    Attributes:
        rows: All rows that have a number, in order; a number may come twice.
        reserved: The numbers that the head gives away or leaves out.
        next_number: What the head calls the next free number; 0: it does not.
        odd: Lines of tables that are no row, no head and no rule, with what is wrong.
    """

    rows: list[Row] = field(default_factory=list[Row])
    reserved: set[int] = field(default_factory=set[int])
    next_number: int = 0
    odd: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])

    def by_number(self) -> dict[int, Row]:
        """Return the rows by their number; of two with one number, the first."""
        return {row.number: row for row in reversed(self.rows)}

    def standing_on(self, record: str) -> list[Row]:
        """Return the rows that link into this record."""
        return [row for row in self.rows if row.record == record]


def parse_status(text: str) -> Status | None:
    """Return the status that `text` is exactly, or None."""
    found = _STATUS.fullmatch(text)
    if found is None:
        return None
    try:
        date.fromisoformat(found["day"])
    except ValueError:
        return None
    return Status(int(found["by"] or 0))


def parse_ledger(text: str) -> Ledger:
    """Read a ledger; what is not regular in it is kept as `odd`, never raised."""
    lines = prose(text).split("\n")
    sections = [number for number, line in enumerate(lines) if line.startswith("## ")]
    head = " ".join(lines[: sections[0] if sections else len(lines)])
    told = re.search(r"next free number is (\d+)", head)
    ledger = Ledger(reserved=_reserved(head), next_number=int(told[1]) if told else 0)
    section = ""
    for number, line in enumerate(lines, 1):
        if line.startswith("## "):
            section = line.removeprefix("## ").strip()
        elif line.lstrip().startswith("|") or re.match(r"\s*DL-\d+\s*\|", line):
            _read_line(ledger, number, section, line.strip())
    return ledger


def _reserved(head: str) -> set[int]:
    """Return the numbers of each sentence that says that numbers stay unused."""
    found: set[int] = set()
    for sentence in re.split(r"\.(?:\s|$)", head):
        if re.search(r"\bunused\b", sentence):
            for first, last in re.findall(r"\b(\d+)\b(?:\s+to\s+(\d+)\b)?", sentence):
                # A slip of the pen may name billions; then only its ends are taken.
                ends = range(int(first), int(last or first) + 1)
                found |= set(ends) if len(ends) <= _WIDEST else {ends[0], ends[-1]}
    return found


def _read_line(ledger: Ledger, line: int, section: str, text: str) -> None:
    inner = text.removeprefix("|")
    inner = inner[:-1] if inner.endswith("|") and not inner.endswith("\\|") else inner
    cells = [cell.strip() for cell in _UNESCAPED_PIPE.split(inner)]
    if cells == _COLUMNS or all(_RULE.fullmatch(cell) for cell in cells):
        return
    if len(cells) != len(_COLUMNS):
        ledger.odd.append((line, f"a row has {len(_COLUMNS)} cells, this one has {len(cells)}"))
        return
    number = _ID.fullmatch(cells[0])
    if number is None:
        ledger.odd.append((line, f"a row without a number: its first cell is {cells[0]!r}"))
        return
    record, anchor = _target(cells[3])
    ledger.rows.append(
        Row(line, section, int(number[1]), cells[1], cells[2], record, anchor),
    )


def _target(cell: str) -> tuple[str, str]:
    """Return path and anchor of a cell that is one relative link, else two empty texts."""
    found = links(cell)
    if len(found) != 1 or not re.fullmatch(r"\[[^\]]+\]\((?:<[^<>]*>|\S+)\)", cell):
        return "", ""
    path = str(PurePosixPath(found[0].path)) if found[0].path else ""
    return path, found[0].anchor
