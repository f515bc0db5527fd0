"""What stands, carried along the history: the statuses, links and record texts that must be kept.

A step that breaks a rule leaves what stands as it was, so whoever puts it back is done. A merge may
choose among what its parents keep. `now` is held to what all its history left standing.
"""

from __future__ import annotations

__all__ = ("Kept", "Text", "follow", "is_renumbered", "state_of")

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from gate.ledger import parse_status
from gate.markdown import heading_anchors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gate.history import Commit, Pages, Repository
    from gate.ledger import Row
    from gate.records import Record

_Key = tuple[int, str]
_Link = tuple[str, str]


class Text(NamedTuple):
    """What a record must keep: one of these pairs of title and body, and all these notes."""

    words: frozenset[tuple[str, str]]
    notes: frozenset[str]

    def holds(self, record: Record | None) -> bool:
        """Tell whether the record is as it must be."""
        return (
            record is not None
            and (record.title, record.body) in self.words
            and self.notes <= set(record.notes)
        )

    def held_in(self, pages: Pages) -> bool:
        """Tell whether some record of these pages is as this one must be."""
        return any(self.holds(record) for record in pages.records.values())


@dataclass(frozen=True)
class Kept:
    """What stands after a commit.

    Attributes:
        statuses: Of each superseded decision, by number and words, the statuses it may have.
        links: Of each decision, path and anchor where it may lead.
        records: Of each record that has or had a row, by its path, what it must keep.
    """

    statuses: dict[_Key, frozenset[str]] = field(default_factory=dict[_Key, frozenset[str]])
    links: dict[_Key, frozenset[_Link]] = field(default_factory=dict[_Key, frozenset[_Link]])
    records: dict[str, Text] = field(default_factory=dict[str, Text])

    def over(self, other: Kept) -> Kept:
        """Return both, this one where both know a thing."""
        return Kept(
            other.statuses | self.statuses,
            other.links | self.links,
            other.records | self.records,
        )


def follow(
    repository: Repository, base: str, commits: list[Commit], spelling: set[str]
) -> dict[str, Kept]:
    """Return what stood before each step, by the commit's id; "" is what is not committed yet.

    `spelling` are the ids of the commits that only spell. What stood in a record when this
    comparison came stands, also for branches that are older.
    """
    begun = state_of(repository.pages(base))
    first, settled = repository.settled(base)
    frozen = Kept(records=state_of(repository.pages(first)).records) if settled else Kept()
    after: dict[str, Kept] = {}
    before: dict[str, Kept] = {}

    def join(step: str, parents: tuple[str, ...]) -> Kept:
        several: list[Kept] = []
        for parent in parents:
            kept = after.get(parent) or begun.over(state_of(repository.pages(parent)))
            younger = step not in settled and (parent in settled or parent not in after)
            several.append(frozen.over(kept) if younger else kept)
        return _union(several)

    for commit in commits:
        pages = repository.pages(commit.id)
        parents = [repository.pages(parent) for parent in commit.parents]
        before[commit.id] = inherited = join(commit.id, commit.parents)
        if all(pages is parent for parent in parents) and len(parents) == 1:
            after[commit.id] = inherited
            continue
        after[commit.id] = _step(inherited, parents, pages, spelling=commit.id in spelling)
    before[""] = join("", repository.tips)
    return before


def state_of(pages: Pages, kept: Kept | None = None, parents: Sequence[Pages] = ()) -> Kept:
    """Return what stands in these pages, after what stood before them in `parents`."""
    return _step(kept or Kept(), parents, pages, spelling=False)


def _union(several: list[Kept]) -> Kept:
    whole = Kept()
    for kept in several:
        for key, statuses in kept.statuses.items():
            whole.statuses[key] = whole.statuses.get(key, frozenset()) | statuses
        for key, links in kept.links.items():
            whole.links[key] = whole.links.get(key, frozenset()) | links
        for path, text in kept.records.items():
            other = whole.records.get(path, Text(frozenset(), frozenset()))
            whole.records[path] = Text(other.words | text.words, other.notes | text.notes)
    return whole


def _step(inherited: Kept, parents: Sequence[Pages], after: Pages, *, spelling: bool) -> Kept:
    statuses, links = dict(inherited.statuses), dict(inherited.links)
    for row in after.ledger.by_number().values():
        key, link = (row.number, row.decision), (row.record, row.anchor)
        status = parse_status(row.status)
        if status and status.by and row.status in statuses.get(key, {row.status}):
            statuses[key] = frozenset({row.status})
        if link in links.get(key, {link}) or _is_move(links[key], row, parents, after):
            links[key] = frozenset({link})
    return Kept(statuses, links, _records(inherited, parents, after, spelling=spelling))


def _records(
    inherited: Kept, parents: Sequence[Pages], after: Pages, *, spelling: bool
) -> dict[str, Text]:
    records = {
        path: text
        for path, text in inherited.records.items()
        if path in after.texts or not text.held_in(after)
    }
    for path, record in after.records.items():
        text = records.get(path)
        fresh = Text(frozenset({(record.title, record.body)}), frozenset(record.notes))
        if text is None:
            if after.ledger.standing_on(path):
                records[path] = fresh
        elif spelling or text.holds(record) or is_renumbered(path, parents, after):
            records[path] = fresh
    return records


def is_renumbered(path: str, parents: Sequence[Pages], after: Pages) -> bool:
    """Tell whether a merge only gave the decisions of a record other numbers."""
    known = {number for pages in parents for number in pages.ledger.by_number()}
    rows = after.ledger.standing_on(path)
    if not parents[1:] or not rows or any(row.number in known for row in rows):
        return False
    before = [_numberless(pages.records[path]) for pages in parents if path in pages.records]
    return _numberless(after.records[path]) in before


def _numberless(record: Record) -> str:
    return re.sub(r"\bDL-\d+", "DL-", f"{record.title}\n{record.body}", flags=re.IGNORECASE)


def _is_move(before: frozenset[_Link], row: Row, parents: Sequence[Pages], after: Pages) -> bool:
    """Tell whether a link follows its record to another path, or its heading to another anchor."""
    record = after.records.get(row.record)
    if record is None:
        return False
    for path, anchor in before:
        for pages in parents:
            old = pages.records.get(path)
            if old is None:
                continue
            moved = path not in after.texts and (old.title, old.body) == (record.title, record.body)
            places = heading_anchors(pages.texts[path]), heading_anchors(after.texts[row.record])
            if (moved or path == row.record) and (
                not anchor or _is_place(anchor, row.anchor, *places)
            ):
                return True
    return False


def _is_place(old: str, new: str, before: list[str], after: list[str]) -> bool:
    return old == new or (
        old in before
        and new in after
        and len(before) == len(after)
        and before.index(old) == after.index(new)
    )
