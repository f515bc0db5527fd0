"""Tells of one session: how it stands, what went wrong, what it holds and what is missing."""

from __future__ import annotations

__all__ = ("SessionDetail", "get_session")

from collections import Counter
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from compass_agent.services.reading import kind_of, place_of_item
from compass_agent.services.sessions import SessionRow, find_session
from compass_agent.wire import FrameItem, Gap

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compass_agent.frames import Cursor
    from compass_agent.log.read import ReadLog
    from compass_agent.wire import Item

_MOST_GAPS = 100
_PAGE_FRAMES = 512


@dataclass(frozen=True, slots=True)
class SessionDetail:
    """One session.

    Attributes:
        row: How it stands, and what went wrong.
        kinds: How many frames of each kind can be read, by the names of `KINDS`.
        first: The place of the first frame that can be read; None: there is none.
        last: The end of what can be read.
        missing: How many frames are missing.
        gaps: Where, the last hundred.
    """

    row: SessionRow
    kinds: dict[str, int]
    first: Cursor | None
    last: Cursor
    missing: int
    gaps: tuple[Gap, ...]


async def get_session(log: ReadLog, session: str) -> SessionDetail:
    """Return what is known of `session`. A session that failed is an answer, not an error.

    It reads the whole session: the time that it takes grows with the frames that are kept.

    Raises:
        OperationError: `unsupported_input` (no session id), `not_found`, or as the log's `sessions`
            and `read` do.
    """
    summary = await find_session(log, session)
    count = _Count(summary.cursor)
    pages = log.read(session, follow=False, page_frames=_PAGE_FRAMES)
    async with aclosing(pages):
        async for page in pages:
            count.take(page.items)
    return SessionDetail(
        row=SessionRow.of(summary),
        kinds=dict(sorted(count.kinds.items())),
        first=count.first,
        last=count.last,
        missing=count.missing,
        gaps=tuple(count.gaps[-_MOST_GAPS:]),
    )


@dataclass(slots=True)
class _Count:
    """What was read so far."""

    last: Cursor
    first: Cursor | None = None
    kinds: Counter[str] = field(default_factory=Counter[str])
    missing: int = 0
    gaps: list[Gap] = field(default_factory=list[Gap])

    def take(self, items: Sequence[Item]) -> None:
        for item in items:
            if isinstance(item, FrameItem):
                self.kinds[kind_of(item)] += 1
                self.first = self.first or place_of_item(item)
            elif isinstance(item, Gap):
                self.missing += item.count
                self.gaps.append(item)
            self.last = place_of_item(item) or self.last
