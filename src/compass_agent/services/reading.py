"""Reads a session a page at a time, forwards and backwards, with what is missing told in place.

A page with gaps is a success that says so: readers get no error for frames that are lost.
"""

from __future__ import annotations

__all__ = (
    "START",
    "FramesPage",
    "behind",
    "kind_of",
    "place_of_item",
    "read_session",
    "reset_at",
)

from collections import deque
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeGuard

from compass_agent.frames import Cursor, event_kind
from compass_agent.services.requests import check_page
from compass_agent.services.sessions import find_session
from compass_agent.wire import End, FrameItem, Gap, Reset, ResetReason, decode_frame

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Collection

    from compass_agent.log.read import ReadLog
    from compass_agent.wire import Item

START: Literal["start"] = "start"
"""As `after`: begin with the oldest that is kept."""

_LOOK_FRAMES = 512
_WIDER = 4


@dataclass(frozen=True, slots=True)
class FramesPage:
    """A part of a session, in reading order.

    Attributes:
        session: The session's id.
        items: Frames, gaps, resets, ends and signals, each at its place.
        prev: As `before` it asks for what lies before this page; None: nothing does.
        next: As `after` it asks for what follows; None: nothing was read.
        more: Something follows now.
        held_back: Frames within the page that are of other kinds than those that were asked for.
    """

    session: str
    items: list[Item]
    prev: Cursor | None
    next: Cursor | None
    more: bool
    held_back: int = 0

    @property
    def missing(self) -> int:
        """How many frames are missing within the page."""
        return sum(item.count for item in self.items if isinstance(item, Gap))


async def read_session(
    log: ReadLog,
    session: str,
    *,
    after: Cursor | Literal["start"] | None = None,
    before: Cursor | None = None,
    limit: int = 100,
    kinds: Collection[str] = (),
) -> FramesPage:
    """Return a page of frames: those behind `after`, or the last ones before `before`.

    Without either it is the newest page.

    Args:
        log: Where the session is kept.
        session: The session's id.
        after: Begin behind this place; `START`: with the oldest that is kept.
        before: End before this place. A place that is not kept is answered as `after` answers it.
        limit: How many frames at most, from 1 to `MAX_LIMIT`.
        kinds: Only frames of these kinds (of `KINDS`); empty: all. What is no frame always comes.

    Raises:
        OperationError: `unsupported_input` (a limit that is not taken, both `after` and `before`,
            no session id), or as the log's `read` does, for `before` too.
    """
    check_page(session, after=after, before=before, limit=limit)
    page = _Pager(log, session, limit, frozenset(kinds))
    if after is not None:
        return await page.forwards(None if after == START else after)
    if before is None:
        # Above all that is there now; what is stored meanwhile belongs to the newest page too.
        summary = await find_session(log, session)
        return await page.backwards(summary.cursor, newest=True)
    return await page.backwards(before, newest=False)


def kind_of(item: FrameItem) -> str:
    """Return the frame's kind, of `KINDS`."""
    frame = decode_frame(item.data)
    return event_kind(frame) or ("state" if frame.state else "unknown")


async def reset_at(
    log: ReadLog, session: str, place: Cursor | None, *, ends_there: bool = False
) -> Reset | None:
    """Return the reset that a reading from `place` begins with; None: the place is kept.

    Args:
        log: Where the session is kept.
        session: The session's id.
        place: What a caller brought; None: nothing.
        ends_there: It is where a page ends. All that is stored lies before the place that is two
            above it, because an end stands behind the last frame.

    Raises:
        OperationError: `conflict`: the place is above what is stored. Else as the log's `read`.
    """
    if ends_there and place is not None:
        place = Cursor(place.epoch, max(place.seq - 2, 0))
    pages = log.read(session, place, follow=False, page_frames=1)
    async with aclosing(pages):
        async for page in pages:
            for item in page.items:
                return item if _is_unknown_epoch(item) else None
    return None


def behind(place: Cursor) -> Cursor:
    """Return the place before which `place` itself still lies."""
    return Cursor(place.epoch, place.seq + 1)


def place_of_item(item: Item) -> Cursor | None:
    """Return the place up to which all is read once `item` was; None: it moves no cursor."""
    match item:
        case FrameItem(late=False):
            return Cursor(item.epoch, item.seq)
        case Gap() | End():
            return Cursor(item.epoch, item.last_seq)
        case Reset():
            return Cursor(item.epoch, 0)
        case _:
            return None


@dataclass(slots=True)
class _Pager:
    """One request for a page."""

    log: ReadLog
    session: str
    limit: int
    kinds: frozenset[str]

    async def forwards(self, after: Cursor | None) -> FramesPage:
        items: list[Item] = []
        place, more, frames, held_back = after, False, 0, 0
        async with aclosing(self._items(after, self.limit + 1)) as found:
            async for item in found:
                if isinstance(item, FrameItem):
                    if frames == self.limit:
                        more = True
                        break
                    if self._wanted(item):
                        frames += 1
                        items.append(item)
                    else:
                        held_back += 1
                else:
                    items.append(item)
                place = place_of_item(item) or place
        begun = after is None or (items and _is_unknown_epoch(items[0]))
        prev = None if begun or after is None else _before_first(items) or behind(after)
        return FramesPage(self.session, items, prev, place, more, held_back)

    async def backwards(self, before: Cursor, *, newest: bool) -> FramesPage:
        if newest:
            before = behind(before)
        width = self.limit + 1
        while True:
            start = before.seq - 1 - width
            # From one to the next, epochs are read forwards alone: what lies before this one is
            # found by reading from the beginning.
            after = Cursor(before.epoch, start) if start > 0 else None
            window = await self._window(after, before, newest=newest)
            if window.lost or (after is None and not window.met and not newest):
                return await self.forwards(None if newest else before)
            if not (newest or window.more):
                await reset_at(self.log, self.session, before, ends_there=True)
            if after is None or window.left_out:
                return window.page()
            width *= _WIDER

    async def _window(self, after: Cursor | None, before: Cursor, *, newest: bool) -> _Window:
        """Return the last frames from `after` to `before`, or to the end."""
        window = _Window(self.session, self.limit)
        async with aclosing(self._items(after, _LOOK_FRAMES)) as found:
            async for item in found:
                if _is_unknown_epoch(item):
                    window.lost = True
                    break
                window.met = window.met or item.epoch == before.epoch
                if not newest and item.epoch == before.epoch:
                    if isinstance(item, Gap) and item.first_seq < before.seq <= item.last_seq:
                        window.push(replace(item, last_seq=before.seq - 1), wanted=True)
                        window.more = True
                        break
                    if not _lies_before(item, before.seq):
                        window.more = True
                        break
                wanted = not isinstance(item, FrameItem) or self._wanted(item)
                window.push(item, wanted=wanted)
        return window

    async def _items(self, after: Cursor | None, page_frames: int) -> AsyncGenerator[Item]:
        page_frames = min(page_frames, _LOOK_FRAMES)
        pages = self.log.read(self.session, after, follow=False, page_frames=page_frames)
        async with aclosing(pages):
            async for page in pages:
                for item in page.items:
                    yield item

    def _wanted(self, item: FrameItem) -> bool:
        return not self.kinds or kind_of(item) in self.kinds


class _Window:
    """The last frames of what it is given, and what stands among and behind them."""

    def __init__(self, session: str, limit: int) -> None:
        self._session = session
        self._limit = limit
        self._items: deque[tuple[Item, bool]] = deque()
        self._frames = 0
        self.left_out = False
        self.more = False
        self.lost = False
        self.met = False

    def push(self, item: Item, *, wanted: bool) -> None:
        self._items.append((item, wanted))
        self._frames += wanted and isinstance(item, FrameItem)
        if self._frames > self._limit:
            # Up to and with the oldest frame that was asked for; what stood before it goes too.
            self.left_out = True
            while self._frames > self._limit:
                first, was_wanted = self._items.popleft()
                self._frames -= was_wanted and isinstance(first, FrameItem)

    def page(self) -> FramesPage:
        pairs = list(self._items)
        if self.left_out:
            first = next(n for n, (item, wanted) in enumerate(pairs) if _is_frame(item, wanted))
            pairs = pairs[first:]
        items = [item for item, wanted in pairs if wanted]
        places = [place for item, _ in pairs if (place := place_of_item(item)) is not None]
        prev = _before_first([item for item, _ in pairs]) if self.left_out else None
        held_back = len(pairs) - len(items)
        last = places[-1] if places else None
        return FramesPage(self._session, items, prev, last, self.more, held_back)


def _is_frame(item: Item, wanted: bool) -> bool:  # noqa: FBT001 - a pair of `_Window`
    return wanted and isinstance(item, FrameItem)


def _is_unknown_epoch(item: Item) -> TypeGuard[Reset]:
    return isinstance(item, Reset) and item.reason is ResetReason.UNKNOWN_EPOCH


def _lies_before(item: Item, seq: int) -> bool:
    """Tell whether an item of the epoch stands before `seq`."""
    match item:
        case FrameItem():
            return item.seq < seq
        case Gap():
            return item.last_seq < seq
        case End():
            return item.last_seq < seq - 1
        case Reset():
            return seq > 0
        case _:
            return False


def _before_first(items: list[Item]) -> Cursor | None:
    for item in items:
        match item:
            case FrameItem(late=False):
                return Cursor(item.epoch, item.seq)
            case Gap():
                return Cursor(item.epoch, item.first_seq)
            case End():
                return behind(Cursor(item.epoch, item.last_seq))
            case Reset():
                return Cursor(item.epoch, 0)
            case _:
                continue
    return None
