"""Reads a session as people do: messages, tool calls and failures, a page at a time.

Every page is cut out of the whole session as it is folded, so that no message is torn and no tool
call lacks its start, wherever a page begins.
"""

from __future__ import annotations

__all__ = ("EntriesPage", "kind_of_entry", "read_entries")

from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from compass_agent.frames import Cursor
from compass_agent.services.requests import check_page
from compass_agent.view.entries import Ended, Entry, Missing, StateChange
from compass_agent.view.fold import Folder
from compass_agent.view.kinds import ALWAYS, kind_of_entry

if TYPE_CHECKING:
    from collections.abc import Collection

    from compass_agent.log.read import ReadLog

_PAGE_FRAMES = 512


@dataclass(frozen=True, slots=True)
class EntriesPage:
    """Some of a session's entries, in reading order.

    Attributes:
        session: The session's id.
        entries: The entries, as they stood when the session was read.
        prev: As `before` it asks for the entries before these; None: there are none.
        next: As `after` it asks for what is new or changed since; None: nothing can be read yet.
        more: More than these is new or changed by now.
        missing: How many frames are missing, over the whole session.
    """

    session: str
    entries: list[Entry]
    prev: Cursor | None
    next: Cursor | None
    more: bool
    missing: int


async def read_entries(
    log: ReadLog,
    session: str,
    *,
    after: Cursor | Literal["start"] | None = None,
    before: Cursor | None = None,
    limit: int = 100,
    kinds: Collection[str] = (),
) -> EntriesPage:
    """Return what began or changed behind `after`, or the last entries that began before `before`.

    Without either these are the newest entries. An entry that grew is given again, whole: it is the
    same one when its epoch and `seq` are the same.

    Args:
        log: Where the session is kept.
        session: The session's id.
        after: What a page gave as `next`; `START`: with the oldest that is kept.
        before: What a page gave as `prev`.
        limit: How many entries at most, from 1 to `MAX_LIMIT`.
        kinds: Only these, as `kind_of_entry` names them; empty: all. What is missing, restarts and
            ends always come.

    Raises:
        OperationError: `unsupported_input` (a limit that is not taken, both `after` and `before`,
            no session id), or as the log's `read` does.
    """
    check_page(session, after=after, before=before, limit=limit)
    folder, read = Folder(), None
    pages = log.read(session, follow=False, page_frames=_PAGE_FRAMES)
    async with aclosing(pages):
        async for page in pages:
            for item in page.items:
                folder.push(item)
            read = page.cursor or read
    entries = folder.entries()
    missing = sum(entry.count for entry in entries if isinstance(entry, Missing))
    wanted = _Choice(session, entries, read, missing, limit, frozenset(kinds))
    return wanted.behind(after) if after is not None else wanted.ahead_of(before)


class _Choice:
    """All entries of a session, and which of them a page holds."""

    def __init__(
        self,
        session: str,
        entries: list[Entry],
        read: Cursor | None,
        missing: int,
        limit: int,
        kinds: frozenset[str],
    ) -> None:
        self._session = session
        self._entries = entries
        self._read = read
        self._missing = missing
        self._limit = limit
        self._kinds = kinds
        self._order: dict[str, int] = {}
        for entry in entries:
            self._order.setdefault(entry.epoch, len(self._order))

    def ahead_of(self, before: Cursor | None) -> EntriesPage:
        entries = [entry for entry in self._entries if self._wanted(entry)]
        if before is not None:
            at = self._place(before.epoch, before.seq)
            behind = (n for n, e in enumerate(entries) if self._place(e.epoch, _begin(e)) >= at)
            entries = entries[: next(behind, len(entries))]
        shown = entries[-self._limit :]
        prev = None
        if len(shown) < len(entries):
            places = (Cursor(e.epoch, _begin(e)) for e in shown if not _is_signal(e))
            prev = next(places, None) or self._end()
        return self._page(shown, prev, self._read, more=False)

    def behind(self, after: Cursor | Literal["start"]) -> EntriesPage:
        at = (-1, 0) if after == "start" else self._place(after.epoch, after.seq)
        changed = [
            (place, number)
            for number, entry in enumerate(self._entries)
            if (place := self._place(entry.epoch, entry.last_seq)) > at and self._wanted(entry)
        ]
        changed.sort()
        last = len(self._entries) - 1
        if last >= 0 and isinstance(self._entries[last], Ended) and not changed:
            # Who asks at the end of a session that ended is told so, each time.
            changed = [(at, last)]
        shown = changed[: self._limit]
        # What ends with the same frame is one step.
        shown += [one for one in changed[self._limit :] if one[0] == shown[-1][0]]
        more = len(shown) < len(changed)
        following = self._read
        if more:
            epochs = list(self._order)
            order, seq = shown[-1][0]
            following = Cursor(epochs[order], seq)
        entries = [self._entries[number] for number in sorted(number for _, number in shown)]
        return self._page(entries, None, following, more=more)

    def _page(
        self, entries: list[Entry], prev: Cursor | None, following: Cursor | None, *, more: bool
    ) -> EntriesPage:
        return EntriesPage(self._session, entries, prev, following, more, self._missing)

    def _end(self) -> Cursor | None:
        """Return the place before which everything lies."""
        return self._read and Cursor(self._read.epoch, self._read.seq + 2)

    def _place(self, epoch: str, seq: int) -> tuple[int, int]:
        # An epoch that is not kept lies before all that are.
        return self._order.get(epoch, -1), seq

    def _wanted(self, entry: Entry) -> bool:
        kind = kind_of_entry(entry)
        return not self._kinds or kind in self._kinds or kind in ALWAYS


def _begin(entry: Entry) -> int:
    """Return where the entry begins; an end stands behind the last frame."""
    return entry.last_seq + 1 if isinstance(entry, Ended) else entry.seq


def _is_signal(entry: Entry) -> bool:
    """Tell whether the entry has no place of its own: it tells how things stand now."""
    return isinstance(entry, StateChange) and entry.signal
