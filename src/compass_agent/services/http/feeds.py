"""What event streams carry: one session, several sessions, or the board of all.

A feed reads on only as its reader takes: nothing waits for a slow one but one page a session.
"""

from __future__ import annotations

__all__ = ("BoardFeed", "Feed", "Part", "SessionsFeed", "failure_of")

import math
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import anyio

from compass_agent.errors.codes import ErrorCode, OperationError
from compass_agent.services.as_json import row_to_dict
from compass_agent.services.http.sse import event
from compass_agent.services.reading import place_of_item, reset_at
from compass_agent.services.sessions import list_sessions, tail
from compass_agent.wire import End, FrameItem, Reset

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Iterator

    from anyio.abc import ObjectSendStream

    from compass_agent.frames import Cursor
    from compass_agent.log.read import ReadLog
    from compass_agent.services.http.sse import Encoder
    from compass_agent.wire import Item

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

    async def check(self) -> None:
        """Fail as a stream would before its first event; who asks for the headers alone calls it.

        Raises:
            OperationError: What would stop the stream.
        """
        ...

    @property
    def places(self) -> dict[str, Cursor | None]:
        """Where the reader begins, a session each."""
        ...

    @property
    def several(self) -> bool:
        """Events carry no ids of their own: the place in all sessions is one mark."""
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
    def places(self) -> dict[str, Cursor | None]:
        """As in `Feed`."""
        return dict(self._places)

    @property
    def several(self) -> bool:
        """As in `Feed`."""
        return self._several

    async def check(self) -> None:
        """As in `Feed`. Of several sessions each one that fails is told in the stream."""
        if not self._several:
            for session, after in self._places.items():
                await reset_at(self._log, session, after)

    async def run(self, parts: ObjectSendStream[Part]) -> None:
        """As in `Feed`."""
        async with anyio.create_task_group() as tasks:
            for session, after in self._places.items():
                tasks.start_soon(self._tail, session, after, parts)

    async def _tail(
        self, session: str, after: Cursor | None, parts: ObjectSendStream[Part]
    ) -> None:
        cursor = after

        async def told() -> None:
            nonlocal cursor
            pages = tail(self._log, session, after, page_frames=_PAGE_FRAMES)
            async with aclosing(pages):
                # Whether an end is the last one shows by what comes behind it.
                held: list[Item] = []
                async for page in pages:
                    items, held = _before_end([*held, *page.items])
                    for part in self._parts(session, items):
                        await parts.send(part)
                        cursor = part.cursor or cursor
                for part in self._parts(session, held, last=True):
                    await parts.send(part)

        error = await failure_of(told)
        if error is not None:
            await parts.send(Part(b"", session=session, cursor=cursor, error=error))

    def _parts(self, session: str, items: Iterable[Item], *, last: bool = False) -> Iterator[Part]:
        events: list[bytes] = []
        frames = 0
        place: Cursor | None = None
        for item in items:
            if frames == self._batch:
                yield Part(b"".join(events), frames, session, place)
                events.clear()
                frames = 0
            marked = not self._several
            events.append(self._encoder.item(session, item, marked=marked, last=last))
            place = place_of_item(item) or place
            frames += isinstance(item, FrameItem)
        if events:
            yield Part(b"".join(events), frames, session, place)


def _before_end(items: list[Item]) -> tuple[list[Item], list[Item]]:
    """Return what stands before an end that no newer run follows yet, and the rest."""
    for place in range(len(items) - 1, -1, -1):
        if isinstance(items[place], Reset):
            break
        if isinstance(items[place], End):
            return items[:place], items[place:]
    return items, []


async def failure_of(work: Callable[[], Awaitable[None]]) -> Exception | None:
    """Return what stopped `work`, for its reader to be told by its code; None: it is done.

    A cancellation that nobody of ours asked for is the server's: `unavailable`, so that the reader
    comes again.
    """
    try:
        await work()
    except anyio.get_cancelled_exc_class():
        if anyio.current_effective_deadline() == -math.inf:
            raise
        return OperationError(ErrorCode.UNAVAILABLE)
    except Exception as error:  # noqa: BLE001 - as it says
        return error
    return None


class BoardFeed:
    """The sessions as a list shows them: all at first, then each whose state or failure changes.

    Args:
        log: Where they are kept.
        every_s: How often it looks, in seconds.
    """

    several = False

    def __init__(self, log: ReadLog, every_s: float) -> None:
        self._log = log
        self._every_s = every_s

    @property
    def places(self) -> dict[str, Cursor | None]:
        """As in `Feed`: none."""
        return {}

    async def check(self) -> None:
        """As in `Feed`."""
        await self._look(None)

    async def run(self, parts: ObjectSendStream[Part]) -> None:
        """As in `Feed`."""

        async def told() -> None:
            known: dict[str, object] | None = None
            while True:
                events, now = await self._look(known)
                if known is None:
                    events.append(event("caught_up", {}))
                known = now
                if events:
                    await parts.send(Part(b"".join(events)))
                await anyio.sleep(self._every_s)

        error = await failure_of(told)
        if error is not None:
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
