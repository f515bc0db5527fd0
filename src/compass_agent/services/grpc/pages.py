"""One reading through a hub, over as many calls as it takes: neither hole nor repeat."""

from __future__ import annotations

__all__ = ("HubPages", "ReadsHub")

from typing import TYPE_CHECKING, Protocol

import anyio
import grpc
from anyio.lowlevel import checkpoint

from compass_agent.errors.codes import ErrorCode, OperationError
from compass_agent.log.hubs import FRAMES_A_MESSAGE
from compass_agent.services.grpc.channel import failure_of
from compass_agent.services.hub_links import HubAway, HubBack
from compass_agent.wire import CaughtUp, End, Gap, Page
from compass_agent.wire.received import items_from_bytes, subscription_to_bytes
from compass_agent.wire.relay import Subscription
from compass_agent.wire.resume import Resume

if TYPE_CHECKING:
    from grpc import aio

    from compass_agent.frames import Cursor
    from compass_agent.log.read import SessionSummary
    from compass_agent.wire import Item

_FIRST_DELAY_S = 0.1
_LONGEST_DELAY_S = 2.0


class ReadsHub(Protocol):
    """What a reading needs of the connection."""

    def subscribe(self, request: bytes) -> aio.UnaryStreamCall[bytes, bytes]:
        """Begin a call."""
        ...

    def tell(self, link: HubAway | HubBack) -> None:
        """Tell how the reading fares."""
        ...

    async def session(self, session: str) -> SessionSummary:
        """Return where the session stands."""
        ...


class HubPages:
    """An async iterator over the pages of one session, as `ReadLog.read` promises.

    Args:
        hub: The connection.
        session: The session's id.
        after: Where to begin; None: with the oldest that is kept.
        follow: Go on with what comes.
        page_frames: How many frames a page holds at most.
        patience_s: For how long to wait for a hub that went away, in seconds.
    """

    def __init__(
        self,
        hub: ReadsHub,
        session: str,
        after: Cursor | None,
        *,
        follow: bool,
        page_frames: int,
        patience_s: float,
    ) -> None:
        self._hub = hub
        self._session = session
        self._resume = Resume(after)
        self._follow = follow
        self._max_batch = min(page_frames, FRAMES_A_MESSAGE)
        self._patience_s = patience_s
        self._call: aio.UnaryStreamCall[bytes, bytes] | None = None
        self._done = False
        self._begun = False
        self._broken_at: float | None = None
        self._delay_s = _FIRST_DELAY_S
        self._attempt = 0
        self._away_since: tuple[Cursor | None] | None = None  # where a break found the reading
        self._missing = 0

    def __aiter__(self) -> HubPages:
        return self

    async def __anext__(self) -> Page:
        while not self._done:
            try:
                if self._resume.unclear is not None:
                    return await self._clear(self._resume.unclear)
                data = await self._receive()
                # From here on nothing waits, so a cancelled reader loses no item.
                items = [] if data is None else self._take(data)
            except OperationError as error:
                self._break()
                await self._endure(error)
                continue
            if data is None:
                self._tell_back()
                self._done = True
            elif items:
                return Page(items, self._resume.cursor)
        raise StopAsyncIteration

    async def aclose(self) -> None:
        """End the reading."""
        self._done = True
        self._break()
        await checkpoint()

    async def _receive(self) -> bytes | None:
        """Return the next message; None: the hub says that this is all."""
        call = self._call
        if call is None:
            self._resume.begin_call()
            cursor = self._resume.cursor
            wanted = Subscription(self._session, cursor, self._follow, frozenset(), self._max_batch)
            call = self._call = self._hub.subscribe(subscription_to_bytes(wanted))
        received = False
        try:
            data: object = await call.read()
            received = True
        except grpc.RpcError as error:
            raise failure_of(error) from error
        finally:
            # A wait that was cancelled ends the call, not the reading.
            if not received:
                self._break()
        return data if isinstance(data, bytes) else None

    def _take(self, data: bytes) -> list[Item]:
        """Return the items that the reader was not given yet."""
        found = items_from_bytes(data)
        if self._away_since is not None:
            self._missing += sum(item.count for item in found if isinstance(item, Gap))
        items = list(filter(self._resume.take, found))
        self._begun = True
        self._broken_at, self._delay_s, self._attempt = None, _FIRST_DELAY_S, 0
        if any(isinstance(item, CaughtUp | End) for item in found):
            self._tell_back()
        return items

    def _tell_back(self) -> None:
        """Tell that a break is over, once it is known what came meanwhile."""
        if self._away_since is not None:
            self._hub.tell(HubBack(self._away_since[0], self._missing))
            self._away_since, self._missing = None, 0

    async def _endure(self, error: OperationError) -> None:
        """Wait a while for a hub that went away in the middle of a reading.

        Raises:
            OperationError: It is not for waiting, or the patience is over.
        """
        if error.code is not ErrorCode.UNAVAILABLE or not self._begun:
            raise error
        now = anyio.current_time()
        if self._broken_at is None:
            self._broken_at = now
        left = self._broken_at + self._patience_s - now
        if left <= 0:
            raise error
        wait_s = min(self._delay_s, left)
        self._attempt += 1
        if self._away_since is None:
            self._away_since = (self._resume.cursor,)
        self._hub.tell(HubAway(self._attempt, wait_s, self._patience_s))
        await anyio.sleep(wait_s)
        self._delay_s = min(self._delay_s * 2, _LONGEST_DELAY_S)

    def _break(self) -> None:
        call, self._call = self._call, None
        if call is not None:
            call.cancel()

    async def _clear(self, epoch: str) -> Page:
        """Tell the state once more: the writer came back while there was no connection."""
        state = (await self._hub.session(self._session)).state
        return Page([self._resume.clear(epoch, state)], self._resume.cursor)
