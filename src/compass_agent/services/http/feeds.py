"""What event streams carry: one session, several sessions, or the board of all.

A feed reads on only as its reader takes: nothing waits for a slow one but one page a session.
"""

from __future__ import annotations

__all__ = ("BoardFeed", "Feed", "Part", "SessionsFeed")

from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import anyio

from compass_agent.services.as_json import row_to_dict
from compass_agent.services.http.sse import event
from compass_agent.services.sessions import list_sessions, tail
from compass_agent.wire import FrameItem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anyio.abc import ObjectSendStream

    from compass_agent.frames import Cursor
    from compass_agent.log.read import ReadLog
    from compass_agent.services.http.sse import Encoder
    from compass_agent.wire import Page

_PAGE_FRAMES = 512


@dataclass(frozen=True, slots=True)
class Part:
    """Some events that belong into one write.

    Attributes:
        data: The events.
        frames: How many frames are among them.
        session: Whose they are, when the feed has several.
        cursor: The session's cursor behind them.
        error: What stopped the session; then there are no events.
    """

    data: bytes
    frames: int = 0
    session: str = ""
    cursor: Cursor | None = None
    error: Exception | None = None


class Feed(Protocol):
    """What a stream carries."""

    async def run(self, parts: ObjectSendStream[Part]) -> None:
        """Send all parts, then return."""
        ...

    @property
    def marks(self) -> dict[str, Cursor | None] | None:
        """Where the reader begins, a session each; None: events carry ids of their own."""
        ...


class SessionsFeed:
    """The tails of one or several sessions.

    Args:
        log: Where they are kept.
        places: The sessions, and the cursor behind which each begins.
        encoder: Shared by all readers.
        batch: How many frames a part holds at most.
        several: Events carry no ids of their own; the place in all sessions is one mark.
    """

    def __init__(
        self,
        log: ReadLog,
        places: dict[str, Cursor | None],
        encoder: Encoder,
        *,
        batch: int,
        several: bool,
    ) -> None:
        self._log = log
        self._places = places
        self._encoder = encoder
        self._batch = batch
        self._several = several

    @property
    def marks(self) -> dict[str, Cursor | None] | None:
        """As in `Feed`."""
        return dict(self._places) if self._several else None

    async def run(self, parts: ObjectSendStream[Part]) -> None:
        """As in `Feed`."""
        async with anyio.create_task_group() as tasks:
            for session, after in self._places.items():
                tasks.start_soon(self._tail, session, after, parts)

    async def _tail(
        self, session: str, after: Cursor | None, parts: ObjectSendStream[Part]
    ) -> None:
        cursor = after
        try:
            pages = tail(self._log, session, after, page_frames=_PAGE_FRAMES)
            async with aclosing(pages):
                async for page in pages:
                    for part in self._parts(session, page):
                        await parts.send(part)
                    cursor = page.cursor or cursor
        except Exception as error:  # noqa: BLE001 - told to the reader, by its code
            await parts.send(Part(b"", session=session, cursor=cursor, error=error))

    def _parts(self, session: str, page: Page) -> Iterator[Part]:
        events: list[bytes] = []
        frames = 0
        for item in page.items:
            if frames == self._batch:
                yield Part(b"".join(events), frames, session)
                events.clear()
                frames = 0
            events.append(self._encoder.item(session, item, marked=not self._several))
            frames += isinstance(item, FrameItem)
        if events:
            yield Part(b"".join(events), frames, session, page.cursor)


class BoardFeed:
    """The sessions as a list shows them: all at first, then each whose state or failure changes.

    Args:
        log: Where they are kept.
        every_s: How often it looks, in seconds.
    """

    marks = None

    def __init__(self, log: ReadLog, every_s: float) -> None:
        self._log = log
        self._every_s = every_s

    async def run(self, parts: ObjectSendStream[Part]) -> None:
        """As in `Feed`."""
        try:
            known: dict[str, object] | None = None
            while True:
                events, now = await self._look(known)
                if known is None:
                    events.append(event("caught_up", {}))
                known = now
                if events:
                    await parts.send(Part(b"".join(events)))
                await anyio.sleep(self._every_s)
        except Exception as error:  # noqa: BLE001 - told to the reader, by its code
            await parts.send(Part(b"", error=error))

    async def _look(self, known: dict[str, object] | None) -> tuple[list[bytes], dict[str, object]]:
        events: list[bytes] = []
        now: dict[str, object] = {}
        known = known or {}
        for row in await list_sessions(self._log):
            one = row.summary
            shown = (one.state, row.cause, one.epoch, one.title, one.ended)
            now[one.session] = shown
            if known.get(one.session) != shown:
                events.append(event("session", row_to_dict(row)))
        gone = (event("removed", {"sessionId": name}) for name in known if name not in now)
        return [*events, *gone], now
