"""Reads a session as people do: messages, tool calls and failures, a page at a time.

Every page is cut out of the whole session as it is folded, so that no message is torn and no tool
call lacks its start, wherever a page begins.
"""

from __future__ import annotations

__all__ = ("EntriesPage", "kind_of_entry", "read_entries")

from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from compass_agent.frames import Cursor
from compass_agent.services.reading import START, behind, reset_at
from compass_agent.services.requests import check_page
from compass_agent.view.entries import Ended, Entry, Missing, Restart, StateChange
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
        prev: As `before` it asks for the entries that began before these; None: there are none.
        next: As `after` it asks for what follows, or is new or changed since; None: nothing can be
            read yet.
        more: Something follows now.
    """

    session: str
    entries: list[Entry]
    prev: Cursor | None
    next: Cursor | None
    more: bool

    @property
    def missing(self) -> int:
        """How many frames are missing within the page."""
        return sum(entry.count for entry in self.entries if isinstance(entry, Missing))


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
    same one when its epoch and `seq` are the same. How the session stands now, when that is no word
    of its writer, closes the newest page, whichever way it was reached.

    Args:
        log: Where the session is kept.
        session: The session's id.
        after: What a page gave as `next`; `START`: with the oldest that is kept.
        before: What a page gave as `prev`. A place that is not kept is answered as `after` answers
            it: with a restart, then the oldest.
        limit: How many entries at most, from 1 to `MAX_LIMIT`. An end and the restart behind it
            stay together, and so does what ends with the same frame.
        kinds: Only these, as `kind_of_entry` names them; empty: all. What is missing, restarts and
            ends always come.

    Raises:
        OperationError: `unsupported_input` (a limit that is not taken, both `after` and `before`,
            no session id), or as the log's `read` does, for `before` too.
    """
    check_page(session, after=after, before=before, limit=limit)
    folder, read = Folder(), None
    reset = None
    if isinstance(after, Cursor):
        reset = await reset_at(log, session, after)
    elif before is not None:
        reset = await reset_at(log, session, before, ends_there=True)
    if reset is not None:
        folder.push(reset)
        after = START
    pages = log.read(session, follow=False, page_frames=_PAGE_FRAMES)
    async with aclosing(pages):
        async for page in pages:
            for item in page.items:
                folder.push(item)
            read = page.cursor or read
    wanted = _Choice(session, folder.entries(), read, limit, frozenset(kinds))
    return wanted.behind(after) if after is not None else wanted.ahead_of(before)


_Key = tuple[int, int, int]
"""Where something stands: the number of its epoch, a `seq`, and whether it is behind that."""


class _Choice:
    """All entries of a session, and which of them a page holds."""

    def __init__(
        self,
        session: str,
        entries: list[Entry],
        read: Cursor | None,
        limit: int,
        kinds: frozenset[str],
    ) -> None:
        self._session = session
        self._read = read
        self._limit = limit
        self._order: dict[str, int] = {}
        for entry in entries:
            self._order.setdefault(entry.epoch, len(self._order))
        wanted = [one for one in entries if not kinds or kind_of_entry(one) in kinds | ALWAYS]
        self._entries = [entry for entry in wanted if not _is_signal(entry)]
        self._signals = [entry for entry in wanted if _is_signal(entry)]

    def ahead_of(self, before: Cursor | None) -> EntriesPage:
        entries = self._entries if before else self._entries + self._signals
        end = len(entries) if before is None else self._first_from(before)
        first = max(0, end - self._limit)
        if 0 < first < end and _go_together(*entries[first - 1 : first + 1]):
            first -= 1
        shown = entries[first:end]
        prev, following, more = None, self._read, False
        if first:
            places = (Cursor(e.epoch, _begin(e)) for e in shown if not _is_signal(e))
            prev = next(places, None) or self._end()
        if before is not None:
            last = shown[-1] if shown else None
            if isinstance(last, Missing) and last.seq < _in(last, before) <= last.last_seq:
                shown[-1] = _part(last, last.seq, before.seq - 1)
                more, following = True, Cursor(before.epoch, before.seq - 1)
            elif end < len(entries):
                more, following = True, self._just_before(end)
        return EntriesPage(self._session, shown, prev, following, more)

    def behind(self, after: Cursor | Literal["start"]) -> EntriesPage:
        at = (-1, 0, 0) if after == START else (*self._place(after.epoch, after.seq), 0)
        changed = sorted(
            (key, number)
            for number, entry in enumerate(self._entries)
            if (key := self._key(entry)) > at
        )
        shown = changed[: self._limit]
        # What ends with the same frame is one step.
        shown += [one for one in changed[self._limit :] if one[0] == shown[-1][0]]
        for _, number in changed[len(shown) : len(shown) + 1]:
            if _go_together(self._entries[shown[-1][1]], self._entries[number]):
                shown.append(changed[len(shown)])
        more = len(shown) < len(changed)
        following = self._read
        if more:
            order, seq, _ = shown[-1][0]
            following = Cursor([*self._order][order], seq)
        entries = [self._entries[number] for number in sorted(number for _, number in shown)]
        entries += [] if more else self._signals
        prev = None
        if after != START:
            entries = [self._rest(entry, after) for entry in entries]
            prev = behind(after) if self._first_from(behind(after)) else None
            following = following or after
        return EntriesPage(self._session, entries, prev, following, more)

    def _first_from(self, place: Cursor) -> int:
        """Return the number of the first entry that does not begin before `place`."""
        at = self._place(place.epoch, place.seq)
        found = (n for n, e in enumerate(self._entries) if self._place(e.epoch, _begin(e)) >= at)
        return next(found, len(self._entries))

    def _just_before(self, number: int) -> Cursor | None:
        """Return the place behind which the entry of that number begins, and no one before it."""
        entry = self._entries[number]
        if _begin(entry):
            return Cursor(entry.epoch, _begin(entry) - 1)
        earlier = [one for one in self._entries[:number] if one.epoch != entry.epoch]
        last = max(earlier, key=self._key, default=None)
        return None if last is None else Cursor(last.epoch, last.last_seq)

    def _rest(self, entry: Entry, after: Cursor) -> Entry:
        """Return what of a gap lies behind a place within it; any other entry as it is."""
        if isinstance(entry, Missing) and entry.seq <= _in(entry, after):
            return _part(entry, after.seq + 1, entry.last_seq)
        return entry

    def _end(self) -> Cursor | None:
        """Return the place before which everything lies."""
        return self._read and Cursor(self._read.epoch, self._read.seq + 2)

    def _key(self, entry: Entry) -> _Key:
        """Return where the entry ends: an end is told to whoever asks behind the last frame."""
        return *self._place(entry.epoch, entry.last_seq), int(isinstance(entry, Ended))

    def _place(self, epoch: str, seq: int) -> tuple[int, int]:
        # An epoch that is not kept lies before all that are.
        return self._order.get(epoch, -1), seq


def _begin(entry: Entry) -> int:
    """Return where the entry begins; an end stands behind the last frame."""
    return entry.last_seq + 1 if isinstance(entry, Ended) else entry.seq


def _go_together(one: Entry, following: Entry) -> bool:
    """Tell whether no place lies between the two: an end, and the restart behind it."""
    return isinstance(one, Ended) and isinstance(following, Restart)


def _in(entry: Entry, place: Cursor) -> int:
    """Return the `seq` of a place that is in the entry's epoch; else -1."""
    return place.seq if place.epoch == entry.epoch else -1


def _part(missing: Missing, first: int, last: int) -> Missing:
    return replace(missing, seq=first, last_seq=last, count=last - first + 1)


def _is_signal(entry: Entry) -> bool:
    """Tell whether the entry has no place of its own: it tells how things stand now."""
    return isinstance(entry, StateChange) and entry.signal
