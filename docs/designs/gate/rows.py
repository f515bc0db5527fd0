"""The rules for what became of each decision since the base, whatever commits did it.

Compared are the first words of a decision and those that it has now. So a mistake that a later
commit undid is no finding, and of two branches that took the same number, a merge may choose one
and give the other decision a number of its own.
"""

from __future__ import annotations

__all__ = ("check_rows", "check_texts")

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from gate.finding import Finding
from gate.history import DESIGNS
from gate.ledger import LEDGER, Row, parse_status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gate.history import Commit, Pages, Repository
    from gate.kept import Kept

_PAGE = f"{DESIGNS}/{LEDGER}"


class _Birth(NamedTuple):
    """A commit whose parents have no row of this number; `commit` is "" at the base."""

    commit: str
    row: Row


def check_rows(
    repository: Repository, base: str, commits: list[Commit], kept: Kept, now: Pages
) -> list[Finding]:
    """Return what became of rows that may not become of them; `commits` as they came about.

    `kept` is what their history left standing.
    """
    if now.source is None:
        return []
    births = _births(repository, base, commits)
    rows = now.ledger.by_number()
    words = {row.decision for row in now.ledger.rows}
    found: list[Finding] = []
    for number in sorted(births):
        first = _first(repository, births[number])
        row = rows.get(number)
        if row is None:
            found.append(_removed(first[0].row))
        elif row.decision in [birth.row.decision for birth in first]:
            mine = next(birth for birth in first if birth.row.decision == row.decision)
            found += _status(mine.row, row, kept.statuses.get((number, row.decision)))
            found += _link(row, kept.links.get((number, row.decision)), now)
            found += _lost(first, row, words)
        else:
            found.append(_other(births[number], first[0].row, row))
    begun = repository.pages(base).ledger
    freed = begun.reserved - begun.by_number().keys() - now.ledger.reserved
    for number in sorted(freed & rows.keys()):
        found.append(
            Finding(
                f"{_PAGE}:{rows[number].line}: {rows[number].name}",
                "a reused number: the head said that it stays unused",
                "put it back into the head, and give the decision the next free number",
            )
        )
    return found


def check_texts(kept: Kept, now: Pages, told: list[Finding]) -> list[Finding]:
    """Return the records that are not what they were, those apart that `told` has already."""
    return [
        Finding(
            f"{DESIGNS}/{path}",
            "a frozen record is not what it was since its rows stand",
            "put back its text and its notes, as `git log -p` shows them; a branch that is older"
            " than the gate may have changed it",
        )
        for path, text in sorted(kept.records.items())
        if not (text.holds(now.records.get(path)) or any(path in one.wrong for one in told))
    ]


def _births(
    repository: Repository, base: str, commits: list[Commit]
) -> defaultdict[int, list[_Birth]]:
    births: defaultdict[int, list[_Birth]] = defaultdict(list)
    for row in repository.pages(base).ledger.by_number().values():
        births[row.number].append(_Birth("", row))
    for commit in commits:
        pages = repository.pages(commit.id)
        parents = [repository.pages(parent) for parent in commit.parents]
        if any(pages is parent for parent in parents):
            continue
        known = {number for parent in parents for number in parent.ledger.by_number()}
        for row in pages.ledger.by_number().values():
            if row.number not in known:
                births[row.number].append(_Birth(commit.id, row))
    return births


def _first(repository: Repository, births: list[_Birth]) -> list[_Birth]:
    """Return the births of a number that no other one came before."""
    if not births[0].commit:
        return births[:1]
    return [
        birth
        for birth in births
        if not any(repository.is_ancestor(other.commit, birth.commit) for other in births)
    ]


def _removed(row: Row) -> Finding:
    return Finding(
        _PAGE,
        f"the row {row.name} is gone",
        f"bring it back as it was: `{row.decision}`; a decision that no longer holds is superseded",
    )


def _other(births: list[_Birth], first: Row, row: Row) -> Finding:
    where = f"{_PAGE}:{row.line}: {row.name}"
    if any(birth.row.decision == row.decision for birth in births):
        return Finding(
            where,
            f"a reused number: it was given before, for `{first.decision}`",
            "bring that row back, and give the new decision the next free number",
        )
    return Finding(
        where,
        "its decision was reworded",
        f"put back `{first.decision}`; a new ruling is a new row, and the old status is flipped",
    )


def _status(first: Row, row: Row, kept: frozenset[str] | None) -> Iterator[Finding]:
    """A status changes once, from Active to Superseded."""
    was = min(kept) if kept and row.status not in kept else first.status
    then, now = parse_status(was), parse_status(row.status)
    if then is None or now is None or was == row.status or (now.by and not then.by):
        return
    yield Finding(
        f"{_PAGE}:{row.line}: {row.name}",
        f"its status was `{was}` and now is `{row.status}`",
        "put it back; it changes once, to `Superseded by DL-<n>`, and a new ruling is a new row",
    )


def _link(row: Row, kept: frozenset[tuple[str, str]] | None, now: Pages) -> Iterator[Finding]:
    """A row stays with its record; one that is gone is told of with the record."""
    if not kept or (row.record, row.anchor) in kept or row.record not in now.texts:
        return
    links = (min(kept), (row.record, row.anchor))
    if links[0][0] in now.texts:
        told, tells = (f"{path}#{anchor}" if anchor else path for path, anchor in links)
        yield Finding(
            f"{_PAGE}:{row.line}: {row.name}",
            f"its link was `{told}` and now is `{tells}`",
            "put it back; a link follows its record when that moves as it is, and a new record"
            " needs a new row",
        )


def _lost(first: list[_Birth], row: Row, words: set[str]) -> Iterator[Finding]:
    for birth in first:
        if birth.row.decision not in words:
            yield Finding(
                f"{_PAGE}:{row.line}: {row.name}",
                f"another branch gave this number to `{birth.row.decision}`, which is gone",
                "add that decision again, with the next free number",
            )
