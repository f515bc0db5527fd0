"""The rules for each commit, and for what is not committed yet: what goes together in one.

A merge is asked only for what none of its parents has.
"""

from __future__ import annotations

__all__ = ("TRAILER", "check_step", "is_spelling", "rows_added")

import re
from typing import TYPE_CHECKING, NamedTuple

from gate.finding import Finding
from gate.history import DESIGNS
from gate.kept import Kept, is_renumbered
from gate.ledger import LEDGER, Row
from gate.records import Change, change

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gate.history import Commit, Pages

TRAILER = "Ledger-impact"
"""The line of a commit's message that says what it does to the ledger."""

_LINE = re.compile(
    rf"^{TRAILER}:[ \t]*(?P<value>.*(?:\n[ \t]+\S.*)*)$", re.MULTILINE | re.IGNORECASE
)
_NAMES = re.compile(r"DL-[1-9]\d*(?:\s*,\s*DL-[1-9]\d*)*")
_NONE = re.compile(r"none\b(?P<reason>.*)", re.DOTALL | re.IGNORECASE)
_REASON = re.compile(r"[^\W\d_]{2}")
_AMEND = "; `git commit --amend` changes the last message, `git rebase --interactive` older ones"


class _Impact(NamedTuple):
    """What a commit's message says: the rows that it adds, or that it is pure spelling."""

    said: bool
    named: set[int]
    none: bool
    findings: list[Finding]


def rows_added(parents: list[Pages], after: Pages) -> list[Row]:
    """Return the rows whose numbers no parent has."""
    known = {number for pages in parents for number in pages.ledger.by_number()}
    rows = after.ledger.by_number()
    return [rows[number] for number in sorted(rows.keys() - known)]


def is_spelling(step: Commit, *, bound: bool) -> bool:
    """Tell whether a commit says that it changes nothing that was decided.

    It says why, too: of a `bound` one, another finding tells when it does not.
    """
    impact = _read_impact(step)
    return impact.none and (bound or not impact.findings)


def check_step(
    step: Commit, parents: list[Pages], after: Pages, kept: Kept, now: Pages
) -> list[Finding]:
    """Return what breaks a rule in one step from `parents` to `after`.

    `kept` is what stood before the step. What it puts back, or `now` has again, is no finding.
    """
    impact = _read_impact(step)
    added = rows_added(parents, after)
    found = list(impact.findings)
    if step.id and not impact.findings:
        found += _compare(step, impact, added, _flipped(parents, after))
    if all(after is pages for pages in parents):
        return found
    changes = _changes(parents, after)
    ledger = after.source not in [pages.source for pages in parents]
    for path, what in changes.items():
        stands = any(pages.ledger.standing_on(path) for pages in parents)
        if what is Change.TEXT and stands:
            text = kept.records.get(path)
            if text and (text.holds(after.records[path]) or text.held_in(now)):
                continue
            stands = not is_renumbered(path, parents, after)
        if not (impact.none and what is not Change.STATUS):
            found += _touched(step, path, what, stands=stands, ledger=ledger)
    found += _gone(step, parents, after, kept, now)
    for row in added:
        if row.record in after.records and row.record not in changes:
            found.append(
                Finding(
                    f"{step}",
                    f"adds {row.name} but does not touch its record {row.record}",
                    "write down the reasons in the same commit: in a new record, or, when the"
                    " record has rows already, as a dated note at its top",
                )
            )
    return found


def _read_impact(step: Commit) -> _Impact:
    values = [" ".join(found["value"].split()) for found in _LINE.finditer(step.message)]
    named: set[int] = set()
    findings: list[Finding] = []
    none = False
    for value in values:
        if _NAMES.fullmatch(value):
            named |= {int(number) for number in re.findall(r"\d+", value)}
        elif found := _NONE.fullmatch(value):
            none = True
            if not _REASON.search(found["reason"]):
                findings.append(
                    Finding(
                        f"{step}",
                        f"`{TRAILER}: none` gives no reason",
                        f"write the reason behind it, as in `{TRAILER}: none (spelling)`{_AMEND}",
                    )
                )
        else:
            findings.append(
                Finding(
                    f"{step}",
                    f"cannot read `{TRAILER}: {value}`",
                    f"write `{TRAILER}: DL-324, DL-325` or `{TRAILER}: none (<reason>)`{_AMEND}",
                )
            )
    return _Impact(bool(values), named, none, findings)


def _compare(
    step: Commit, impact: _Impact, added: list[Row], flipped: list[Row]
) -> Iterator[Finding]:
    """The rows that a message names are those that its commit adds."""
    wanted = f"{TRAILER}: {', '.join(row.name for row in added)}"
    if impact.none and (added or flipped):
        what = [f"adds {row.name}" for row in added]
        what += [f"changes the status of {row.name}" for row in flipped]
        mend = f"say `{wanted}`" if added else "leave the line out"
        yield Finding(f"{step}", f"says `{TRAILER}: none`, but {', '.join(what)}", mend + _AMEND)
    elif impact.named != {row.number for row in added}:
        named = ", ".join(f"DL-{number}" for number in sorted(impact.named)) or "none of them"
        adds = ", ".join(row.name for row in added) or "no row"
        mend = f"put into its message the line `{wanted}`" if added else "take the line out"
        yield Finding(f"{step}", f"adds {adds}, and its message names {named}", mend + _AMEND)


def _flipped(parents: list[Pages], after: Pages) -> list[Row]:
    """Return the rows with a status that no parent that has the row gives it."""
    before = [pages.ledger.by_number() for pages in parents]
    flipped: list[Row] = []
    for row in after.ledger.by_number().values():
        statuses = [rows[row.number].status for rows in before if row.number in rows]
        if statuses and row.status not in statuses:
            flipped.append(row)
    return flipped


def _changes(parents: list[Pages], after: Pages) -> dict[str, Change]:
    """Return the records that this step made or changed, with what became of each."""
    changes: dict[str, Change] = {}
    for path, record in after.records.items():
        before = [pages.records[path] for pages in parents if path in pages.records]
        what = change(before, record) if before else Change.TEXT
        if what is not Change.NONE:
            changes[path] = what
    return changes


def _touched(
    step: Commit, path: str, what: Change, *, stands: bool, ledger: bool
) -> Iterator[Finding]:
    if what is Change.NOTES or (ledger and not (stands and what is Change.TEXT)):
        return
    if not ledger:
        wrong = f"touches the record {path}, but not the ledger"
    else:
        wrong = f"changes the record {path}, which is frozen: its rows stand"
    if not stands:
        mend = f"add its row to {DESIGNS}/{LEDGER} in the same commit"
    elif what is Change.STATUS:
        mend = "a record's status follows its rows: change both in one commit"
    else:
        mend = (
            "put the text back, and say what is new in a note at the top, below the status:"
            " `> YYYY-MM-DD: <text>`; a new ruling is a new row with a record of its own; for pure"
            f" spelling the message has the line `{TRAILER}: none (<reason>)`"
        )
    yield Finding(f"{step}", wrong, mend)


def _gone(
    step: Commit, parents: list[Pages], after: Pages, kept: Kept, now: Pages
) -> Iterator[Finding]:
    """A record whose rows stand stays; it may move as it is, together with their links."""
    moved = set(after.texts.values())
    gone = {
        path: text
        for pages in parents
        for path, text in pages.texts.items()
        if path not in after.texts and pages.ledger.standing_on(path)
    }
    for path, text in gone.items():
        before = kept.records.get(path)
        if text not in moved and not (before and before.held_in(now)):
            yield Finding(
                f"{step}",
                f"removes the record {path}, whose rows stand",
                "bring it back; what no longer holds is superseded, and its record stays",
            )
