"""Where a tail begins, when not everything is to be shown."""

from __future__ import annotations

__all__ = ("Begin", "Gate", "last_entries", "since")

from dataclasses import dataclass
from typing import TYPE_CHECKING

from compass_agent.frames import Cursor
from compass_agent.services.reading import place_of_item, read_session
from compass_agent.services.requests import MAX_LIMIT
from compass_agent.view.fold import fold
from compass_agent.view.kinds import ALWAYS, kind_of_entry
from compass_agent.wire import CaughtUp, End, FrameItem, decode_frame

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compass_agent.log.read import ReadLog
    from compass_agent.view.choice import Choice
    from compass_agent.wire import Item

# Frames are looked through backwards, a page at a time, so many of them for the first line to be
# there at once. A filter needs more to find its entries; who gives a number waits for them.
_FIRST_FRAMES = 256
_FEW_PAGES = 2
_SOME_PAGES = 5
_MANY_PAGES = 200


@dataclass(frozen=True, slots=True)
class Begin:
    """What to read, and from where on to show it.

    What is read and not shown lets the rest be understood: the title of a tool call, the state.

    Attributes:
        after: Read behind this place; None: from the oldest that is kept.
        first: Show from this place on; None: from the first that is read.
        since_ms: Show from this time on; None: from any.
        cut: There is more before what is shown.
        found: How many entries were found that are not shown always; None: nothing was looked for.
        looked: Through how many frames was looked for them.
    """

    after: Cursor | None = None
    first: Cursor | None = None
    since_ms: int | None = None
    cut: bool = False
    found: int | None = None
    looked: int = 0


async def last_entries(
    log: ReadLog, session: str, count: int, choice: Choice, *, briefly: bool = False
) -> Begin:
    """Return where the last `count` entries that `choice` takes begin.

    Args:
        log: Where the session is kept.
        session: The session's id.
        count: How many.
        choice: Which are wanted.
        briefly: Look back over about a thousand frames at most, over four thousand when not every
            entry is wanted; what is longer is cut.

    Raises:
        OperationError: As `read_session` does.
    """
    page = await read_session(log, session, limit=_FIRST_FRAMES)
    places: list[Cursor] = []
    pages, looked, fitting, after = 1, 0, 0, page.prev
    most = _MANY_PAGES
    if briefly:
        most = _FEW_PAGES if choice.takes_all else _SOME_PAGES
    while True:
        looked += sum(isinstance(item, FrameItem) for item in page.items)
        taken = [entry for entry in fold(page.items) if entry.seq and choice.takes(entry)]
        fitting += sum(kind_of_entry(entry) not in ALWAYS for entry in taken)
        places[:0] = [Cursor(entry.epoch, entry.seq) for entry in taken]
        after = page.prev
        if after is None or len(places) > count or pages == most:
            break
        page = await read_session(log, session, before=after, limit=MAX_LIMIT)
        pages += 1
    cut = after is not None or len(places) > count
    if not count:
        first = _behind(await _end(log, session))
    else:
        first = places[-count:][0] if len(places) > count else None
    return Begin(_just_before(after), first, cut=cut, found=fitting, looked=looked)


async def since(log: ReadLog, session: str, at_ms: int) -> Begin:
    """Return where what was told from `at_ms` on begins.

    Raises:
        OperationError: As `read_session` does.
    """
    page = await read_session(log, session, limit=MAX_LIMIT)
    epoch = page.next and page.next.epoch
    while page.prev is not None and page.prev.epoch == epoch:
        first = next((at for item in page.items if (at := _time_of(item))), None)
        if first is not None and first < at_ms:
            return Begin(_just_before(page.prev), since_ms=at_ms, cut=True)
        page = await read_session(log, session, before=page.prev, limit=MAX_LIMIT)
    return Begin(since_ms=at_ms)


class Gate:
    """Parts what is read into what is not shown and what is; once open, it stays so."""

    def __init__(self, begin: Begin) -> None:
        self._begin = begin
        self._open = begin.first is None and begin.since_ms is None
        self._late_enough = begin.since_ms is None
        self._far_enough = begin.first is None
        self._end: End | None = None

    def rest(self) -> Sequence[Item]:
        """Return what is to be shown although nothing opened it: how the session ended."""
        return () if self._end is None else (self._end,)

    def split(self, items: Sequence[Item]) -> tuple[Sequence[Item], Sequence[Item]]:
        """Return the items that are not shown and those that are."""
        if self._open:
            return (), items
        for number, item in enumerate(items):
            if self._opens(item):
                self._open = True
                end, self._end = self.rest(), None
                return items[:number], [*end, *items[number:]]
            # An end is always shown, when it is not of an earlier run.
            self._end = item if isinstance(item, End) else None
        return items, ()

    def _opens(self, item: Item) -> bool:
        if isinstance(item, CaughtUp):  # whatever comes now is new
            return True
        begin = self._begin
        if begin.since_ms is not None and not self._late_enough:
            self._late_enough = (_time_of(item) or 0) >= begin.since_ms
        if begin.first is not None and not self._far_enough:
            place = place_of_item(item)
            same = place is not None and place.epoch == begin.first.epoch
            self._far_enough = place is not None and same and place.seq >= begin.first.seq
        return self._late_enough and self._far_enough


def _time_of(item: Item) -> int | None:
    if not isinstance(item, FrameItem) or item.late:
        return None
    return decode_frame(item.data).typed_event.at_unix_ms or None


async def _end(log: ReadLog, session: str) -> Cursor:
    return next(one.cursor for one in await log.sessions() if one.session == session)


def _behind(place: Cursor) -> Cursor:
    return Cursor(place.epoch, place.seq + 1)


def _just_before(place: Cursor | None) -> Cursor | None:
    """Return the place behind which reading begins with `place`."""
    return None if place is None else Cursor(place.epoch, max(place.seq - 1, 0))
