"""Tails one session at a hub, over as many calls as it takes.

A tail goes on by itself behind what was read when the hub goes away, and says so; it ends after the
session's end, and in no other way without an error.
"""

from __future__ import annotations

__all__ = ("Tail", "tail")

from collections import deque
from typing import TYPE_CHECKING

from anyio.lowlevel import checkpoint

from compass_agent.client.call import Call, Hub
from compass_agent.client.failures import TailError
from compass_agent.client.items import Frame, items_of
from compass_agent.client.link import Patience
from compass_agent.errors.codes import ErrorCode, OperationError
from compass_agent.frames import Cursor, check_session_id
from compass_agent.log.hubs import FRAMES_A_MESSAGE, hub_way
from compass_agent.log.where import is_hub, log_url
from compass_agent.wire.resume import Resume
from compass_subscriber.v1 import SubscribeAgentSessionRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from types import TracebackType
    from typing import Self

    from compass_agent.client.items import TailItem
    from compass_agent.client.link import Link

_LARGEST_PORT = 65_535


def tail(
    url: str | None,
    session: str,
    after: Cursor | str | None = None,
    *,
    follow: bool = True,
    kinds: Collection[str] = (),
    token: str | None = None,
    on_link: Callable[[Link], None] | None = None,
    patience_s: float = 30.0,
) -> Tail:
    """Return a tail of `session`: what follows `after`, then what comes until the session ends.

    Nothing is connected before the first item is asked for.

    Args:
        url: The hub: `unix:PATH` (without a path: where a hub listens by itself),
            `grpc://HOST:PORT`; None: what `COMPASS_LOG` says.
        session: The session's id.
        after: The cursor behind which to begin, as text too; None: with the oldest that is kept.
        follow: Go on with what comes; False: stop at the end of what is there.
        kinds: Only events of these kinds, such as `"session_error"`; empty: all. Transitions, gaps
            and ends always come.
        token: What a hub that is reached by TCP asks for; None: what the file that
            `COMPASS_TOKEN_FILE` names holds, if there is one.
        on_link: Is told when the hub goes away and when it is back. What it raises ends the wait
            for the item that the tail was asked for, and nothing else: asked again, the tail goes
            on with that item.
        patience_s: For how long to try to reach a hub that is away, in seconds; `math.inf`: always.

    Raises:
        OperationError: `unsupported_input` (no session id, a URL that is no hub's, a token that
            cannot be one, or a file without one), `permission_denied` (that file cannot be read).
        InvalidCursorError: `after` is no cursor.
    """
    url = log_url(url)
    if not is_hub(url):
        raise OperationError(ErrorCode.UNSUPPORTED_INPUT)
    if token is None:
        _, token = hub_way(url)
    elif not (token.isascii() and token.isprintable()):
        # It could not be sent.
        raise OperationError(ErrorCode.UNSUPPORTED_INPUT)
    wanted = SubscribeAgentSessionRequest(
        session_id=check_session_id(session),
        follow=follow,
        kinds=sorted({kinds} if isinstance(kinds, str) else {*kinds}),
        max_batch=FRAMES_A_MESSAGE,
    )
    begin = Cursor.parse(after) if isinstance(after, str) else after
    return Tail(_hub_at(url, token), wanted, begin, Patience(patience_s, on_link))


class Tail:
    """An async iterator over the items of one session. Made by `tail`; lives in one asyncio loop.

    A wait that is cancelled loses nothing: the same tail goes on where it was. So does a tail that
    raised, when it is asked again. It holds a connection; `aclose`, or `async with`, closes it, and
    so does letting go of it.
    """

    def __init__(
        self,
        hub: Hub,
        wanted: SubscribeAgentSessionRequest,
        after: Cursor | None,
        patience: Patience,
    ) -> None:
        self._hub = hub
        self._wanted = wanted
        self._resume = Resume(after)
        self._patience = patience
        self._waiting: deque[TailItem] = deque()
        self._call: Call | None = None
        self._done = False

    @property
    def cursor(self) -> Cursor | None:
        """The place behind what was yielded, None before that. `str(cursor)` can be kept."""
        return self._resume.cursor

    def __aiter__(self) -> Tail:
        return self

    async def __anext__(self) -> TailItem:
        """Return the next item.

        Raises:
            TailError: With the cursor behind the last item. `unavailable`: the hub was away for too
                long; `not_found`: there is no such session; `conflict`: the cursor is above what is
                stored; `permission_denied`, `unsupported_input` (no such kind), or what else the
                hub answers.
            RuntimeError: It is not asyncio that runs.
        """
        while True:
            while self._waiting:
                item = self._waiting.popleft()
                if self._is_for_the_reader(item):
                    return item
            if self._done:
                raise StopAsyncIteration
            try:
                await self._more()
            except OperationError as error:
                await self._endure(error)

    async def aclose(self) -> None:
        """End the tail."""
        self._done = True
        self._waiting.clear()
        self._drop()
        await checkpoint()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        del kind, error, trace
        await self.aclose()

    def __del__(self) -> None:
        self._drop()

    def _is_for_the_reader(self, item: TailItem) -> bool:
        is_new = self._resume.take(item)
        if is_new:
            self._patience.moved()
        # Behind what a filter holds back a hub tells the last place, alone.
        return is_new and not (self._wanted.kinds and isinstance(item, Frame) and not item.data)

    async def _more(self) -> None:
        """Get what comes next from the hub; note when that was all."""
        epoch = self._resume.unclear
        if epoch is not None:
            state = await self._hub.state(self._wanted.session_id)
            self._waiting.append(self._resume.clear(epoch, state))
            return
        data = await self._receive()
        if data is not None:
            # Kept first: who is told may raise, and what came is not lost by that.
            self._waiting += items_of(data)
            self._patience.answered(self._resume.cursor)
        elif self._wanted.follow and not self._resume.at_end:
            # A hub that stops says nothing of the session.
            raise OperationError(ErrorCode.UNAVAILABLE)
        else:
            self._done = True
            self._drop()

    async def _receive(self) -> bytes | None:
        call = self._call
        if call is None:
            self._resume.begin_call()
            cursor = self._resume.cursor
            self._wanted.after_epoch = "" if cursor is None else cursor.epoch
            self._wanted.after_seq = 0 if cursor is None else cursor.seq
            call = self._call = Call(self._hub, self._wanted)
        received = False
        try:
            data = await call.receive()
            received = True
        finally:
            # A wait that was cancelled ends the call, not the tail.
            if not received:
                self._drop()
        return data

    async def _endure(self, error: OperationError) -> None:
        """Wait for a hub that is away.

        Raises:
            TailError: It is not for waiting, or the patience is over.
        """
        self._drop()
        cursor = self._resume.cursor
        try:
            await self._patience.endure(error, cursor)
        except OperationError as failed:
            raise TailError(
                failed.code, retry_after_s=failed.retry_after_s, cursor=cursor
            ) from failed

    def _drop(self) -> None:
        call, self._call = self._call, None
        if call is not None:
            call.close()


def _hub_at(url: str, token: str | None) -> Hub:
    if url.startswith("unix:"):
        return Hub(path=url.removeprefix("unix:"), token=token)
    host, _, port = url.removeprefix("grpc://").rpartition(":")
    if int(port) > _LARGEST_PORT:
        raise OperationError(ErrorCode.UNSUPPORTED_INPUT)
    return Hub(host=host.strip("[]"), port=int(port), token=token)
