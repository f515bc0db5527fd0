"""The rules for the pages as they are now: forms, numbers, supersessions, links."""

from __future__ import annotations

__all__ = ("check_standing",)

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from gate.finding import Finding
from gate.history import DESIGNS
from gate.ledger import LEDGER, Ledger, Row, parse_status
from gate.markdown import anchors, headings, links
from gate.records import HEADINGS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from gate.history import Pages
    from gate.records import Record

_PAGE = f"{DESIGNS}/{LEDGER}"
_FORMS = "`Active (<who>, YYYY-MM-DD)` or `Superseded by DL-<n> (<who>, YYYY-MM-DD)`"


def check_standing(pages: Pages, root: Path) -> list[Finding]:
    """Return what breaks a rule in these pages; `root` is where their links may lead."""
    if pages.source is None:
        return [Finding(_PAGE, "the ledger is missing", "bring it back; it is never removed")]
    ledger = pages.ledger
    return [
        *_forms(ledger),
        *_numbers(ledger),
        *_supersessions(ledger),
        *_row_links(pages),
        *_records(pages),
        *_links(pages, root),
    ]


def _at(row: Row) -> str:
    return f"{_PAGE}:{row.line}: {row.name}"


def _forms(ledger: Ledger) -> Iterator[Finding]:
    for line, wrong in ledger.odd:
        yield Finding(
            f"{_PAGE}:{line}",
            wrong,
            "write it as `| DL-<number> | <decision>. | <status> | [<text>](<record>) |`,"
            " with `\\|` for a pipe within a cell",
        )
    for row in ledger.rows:
        if not row.section:
            yield Finding(_at(row), "stands in no section", "put it below a `## ` heading")
        if not row.decision.endswith("."):
            yield Finding(
                _at(row), "its decision is no sentence", "write one sentence, with its full stop"
            )
        if parse_status(row.status) is None:
            yield Finding(_at(row), f"malformed status {row.status!r}", f"write {_FORMS}")


def _numbers(ledger: Ledger) -> Iterator[Finding]:
    numbers = [row.number for row in ledger.rows]
    top = max([*numbers, *ledger.reserved], default=0)
    free = next(n for n in range(max(numbers, default=0) + 1, top + 2) if n not in ledger.reserved)
    last: dict[str, Row] = {}
    seen: dict[int, Row] = {}
    for row in ledger.rows:
        if row.number in seen:
            yield Finding(
                _at(row),
                f"a reused number: line {seen[row.number].line} has it, too",
                f"give the newer decision the next free number, {free}",
            )
        elif row.number in ledger.reserved:
            yield Finding(
                _at(row),
                "a reused number: the head says that it stays unused",
                f"give the decision the next free number, {free}",
            )
        elif row.section in last and last[row.section].number > row.number:
            yield Finding(
                _at(row),
                f"stands below {last[row.section].name}",
                "order the rows of a section by their numbers",
            )
        seen.setdefault(row.number, row)
        last[row.section] = row
    yield from _holes(numbers, ledger.reserved)
    if ledger.next_number != free:
        told = f"names {ledger.next_number}" if ledger.next_number else "names no number"
        yield Finding(
            _PAGE,
            f"the head {told} as the next free one; it is {free}",
            f"write in the head: The next free number is {free}.",
        )


def _holes(numbers: list[int], reserved: set[int]) -> Iterator[Finding]:
    known = sorted(n for n in {*numbers, *reserved} if n >= min(numbers, default=1))
    for before, after in pairwise(known):
        first, last = before + 1, after - 1
        if first == last:
            yield Finding(
                _PAGE,
                f"DL-{first} is a hole: no row has it, and the head does not name it",
                f"give a new decision this number, or say in the head that {first} stays unused",
            )
        elif first < last:
            yield Finding(
                _PAGE,
                f"DL-{first} to DL-{last} are holes: no row has them, and the head does not name"
                " them",
                "give new decisions these numbers, or say in the head that"
                f" {first} to {last} stay unused",
            )


def _supersessions(ledger: Ledger) -> Iterator[Finding]:
    rows = ledger.by_number()
    newer = {
        number: status.by
        for number, row in rows.items()
        if (status := parse_status(row.status)) and status.by
    }
    for number, by in newer.items():
        if by not in rows:
            yield Finding(
                _at(rows[number]),
                f"superseded by DL-{by}, which has no row",
                f"add the row DL-{by}, or name the decision that took its place",
            )
            continue
        way = [number]
        while (nearer := newer.get(way[-1], 0)) and nearer not in way:
            way.append(nearer)
        if nearer == number:
            yield Finding(
                _at(rows[number]),
                "superseded in a circle: " + " → ".join(f"DL-{n}" for n in [*way, number]),
                "the newest of these decisions is Active; a new ruling is a new row",
            )


def _row_links(pages: Pages) -> Iterator[Finding]:
    for row in pages.ledger.rows:
        if not row.record or row.record.startswith(("/", "..")) or row.record == LEDGER:
            yield Finding(
                _at(row),
                "its last cell is not one relative link to a record",
                "write `[<text>](<record>.md#<anchor>)`, a page of this folder",
            )
        elif row.record not in pages.texts:
            yield Finding(
                _at(row),
                f"a dead link: there is no record {row.record}",
                "mend the name, or write the record in the same commit",
            )
        elif not re.search(rf"\b{row.name}\b", pages.texts[row.record]):
            yield Finding(
                _at(row),
                f"its record {row.record} does not name it",
                f"link the record that holds the reasons; where it is argued, it says {row.name}",
            )


def _records(pages: Pages) -> Iterator[Finding]:
    for path, record in pages.records.items():
        where = f"{DESIGNS}/{path}"
        if not record.status:
            yield Finding(
                where,
                "does not open with its status",
                "begin with `# <title>`, an empty line, then a line that is `Status: Active` or"
                " `Status: Superseded by DL-<n>`, then an empty line",
            )
        lacking = [one for one in HEADINGS if one not in headings(pages.texts[path])]
        if lacking:
            yield Finding(
                where,
                f"lacks the heading {', '.join(lacking)}",
                "a record says problem, constraints, choice, alternatives with why not, and cost",
            )
        rows = pages.ledger.standing_on(path)
        if not rows:
            yield Finding(
                where, "no row of the ledger links here", f"add its row to {_PAGE}, in one commit"
            )
        elif record.status:
            yield from _record_status(where, record, rows)


def _record_status(where: str, record: Record, rows: list[Row]) -> Iterator[Finding]:
    """A record is Active as long as one of its rows is; then it names what took their place."""
    statuses = [status for row in rows if (status := parse_status(row.status))]
    named = sorted({status.by for status in statuses})
    if not named or (record.by in named and (record.by == 0 or 0 not in named)):
        return
    wanted = "Active" if 0 in named else " or ".join(f"Superseded by DL-{by}" for by in named)
    yield Finding(
        where,
        f"says `Status: {record.status}`, but its rows say otherwise",
        f"the ledger is right: write `Status: {wanted}`, in the commit that changes the rows",
    )


def _links(pages: Pages, root: Path) -> Iterator[Finding]:
    folder = root / DESIGNS
    for path, text in {LEDGER: pages.source or "", **pages.texts}.items():
        page = folder / path
        for link in links(text):
            where = f"{DESIGNS}/{path}:{link.line}"
            base = root if link.path.startswith("/") else page.parent
            target = (base / link.path.lstrip("/")).resolve() if link.path else page.resolve()
            told = link.path + (f"#{link.anchor}" if link.anchor else "")
            if not target.is_relative_to(root.resolve()) or not target.exists():
                # A row's record is told of with the row.
                if path != LEDGER or link.path not in [row.record for row in pages.ledger.rows]:
                    yield Finding(
                        where, f"a dead link: {told}", "mend the path; it is relative to the page"
                    )
            elif link.anchor and not _has_anchor(target, link.anchor):
                yield Finding(
                    where,
                    f"a dead anchor: {told}",
                    "use the heading in lower case, without punctuation, with hyphens for spaces",
                )


def _has_anchor(target: Path, anchor: str) -> bool:
    if target.suffix == ".md":
        return anchor in anchors(target.read_text("utf-8"))
    return target.is_file() and re.fullmatch(r"L\d+(-L\d+)?", anchor) is not None
