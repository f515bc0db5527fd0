"""Pages for one reader: looks at a log, waits, looks again. The same for every backend.

A stream holds nothing open between two pages: dropping it, closing it or cancelling a wait for the
next page leaks nothing, and after a cancelled wait the stream goes on where it was.
"""

from __future__ import annotations

__all__ = ("PageStream", "Source", "wall_ms")

import time
from typing import TYPE_CHECKING, Protocol

import anyio
from anyio.lowlevel import checkpoint

from compass_agent.errors.codes import ErrorCode, OperationError
from compass_agent.frames import check_session_id
from compass_agent.log.reading import Reading, Then
from compass_agent.wire import Page

if TYPE_CHECKING:
    from collections.abc import Callable

    from compass_agent.frames import Cursor
    from compass_agent.log.reading import Place, View
    from compass_agent.log.wake import Wake

_SHORTEST_PAUSE = 0.004
_LONGEST_PAUSE = 0.05
_MORE_OF_EACH, _MOST = 0.005, 2.0
"""Where many read, each asks the less often: what one of them learns wakes all. So all together
ask two hundred times a second, and a hub with a thousand readers is at rest when nothing comes."""

_SPREAD = 0.618
"""They do not ask in step: the n-th one waits as long as the fraction of n times this says."""


def wall_ms() -> int:
    """Return the milliseconds since 1970-01-01 UTC."""
    return time.time_ns() // 1_000_000


class Source(Protocol):
    """What a stream needs of a backend."""

    @property
    def wake(self) -> Wake:
        """Where a reader is told that this process stored something."""
        ...

    @property
    def now_ms(self) -> Callable[[], int]:
        """Gives milliseconds since 1970-01-01 UTC."""
        ...

    @property
    def ahead_s(self) -> float:
        """How long to wait for a watermark that is below a reader's cursor, in seconds."""
        ...

    async def look(self, session: str, place: Place, page_frames: int) -> View | None:
        """Return what lies behind `place`, as it is at one moment; None: no such session."""
        ...

    async def ask(self) -> None:
        """Wake the readers if another process stored something since this was asked last."""
        ...

    async def close_below(self, session: str, epoch: str) -> None:
        """As in `ReadLog`."""
        ...


class PageStream:
    """An async iterator over the pages of one session, as `ReadLog.read` promises.

    Args:
        source: The log.
        session: The session's id.
        after: Where to begin; None: with the oldest that is kept.
        follow: Go on with what comes.
        page_frames: How many frames a page holds at most, from 1 on.

    Raises:
        OperationError: `unsupported_input`: no session id, or a page of no frames.
    """

    __slots__ = ("_page_frames", "_reading", "_session", "_share", "_source", "_then", "_watch")

    def __init__(
        self,
        source: Source,
        session: str,
        after: Cursor | None,
        *,
        follow: bool,
        page_frames: int,
    ) -> None:
        self._session = check_session_id(session)
        if page_frames < 1:
            raise OperationError(ErrorCode.UNSUPPORTED_INPUT)
        self._source = source
        self._page_frames = page_frames
        self._reading = Reading(after, follow=follow)
        self._watch = source.wake.watch(session)
        self._share = 1 - source.wake.readers * _SPREAD % 1 / 2
        self._then: Then | None = None

    def __aiter__(self) -> PageStream:
        return self

    async def __anext__(self) -> Page:
        while self._then is not Then.STOP:
            await self._bide()
            self._watch.clear()
            view = await self._source.look(self._session, self._reading.place, self._page_frames)
            items, self._then = self._reading.advance(view, self._source.now_ms())
            # From the look to here nothing waits, so a cancelled reader loses no item.
            if items:
                return Page(items, self._reading.cursor)
        raise StopAsyncIteration

    async def aclose(self) -> None:
        """End the stream. It holds nothing, so this is for callers that close what they iterate."""
        self._then = Then.STOP
        await checkpoint()

    async def _bide(self) -> None:
        """Do what stands between the last look and the next one."""
        match self._then:
            case None:
                # What other processes stored before the first look is no news after it.
                await self._source.ask()
            case Then.CLOSE:
                epoch = self._reading.place.epoch or ""
                await self._source.close_below(self._session, epoch)
            case Then.WAIT:
                await self._wait()
            case Then.AHEAD:
                await self._wait_for_watermark()
            case _:
                pass

    async def _wait(self) -> None:
        pause = _SHORTEST_PAUSE
        while not await self._watch.wait(pause * self._share):
            if self._reading.due(self._source.now_ms()):
                return
            await self._source.ask()
            longest = max(_LONGEST_PAUSE, min(self._source.wake.readers * _MORE_OF_EACH, _MOST))
            pause = min(pause * 2, longest)

    async def _wait_for_watermark(self) -> None:
        """Look again and again for as long as the source says; then the cursor is refused."""
        with anyio.move_on_after(self._source.ahead_s):
            while True:
                await self._wait()
                self._watch.clear()
                view = await self._source.look(self._session, self._reading.place, 1)
                if (
                    view is None
                    or view.head is None
                    or view.head.through >= self._reading.place.seq
                ):
                    return
        raise OperationError(ErrorCode.CONFLICT)
