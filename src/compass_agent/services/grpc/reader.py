"""A hub's log, read from afar: what `ReadLog` promises, over one connection.

A reading outlives the hub: when the connection breaks, it goes on behind the last page as soon as
the hub is there again, and gives up as `unavailable` when that takes too long.
"""

from __future__ import annotations

__all__ = ("HubReader",)

from typing import TYPE_CHECKING

import anyio
import grpc

from compass_agent.errors.codes import ErrorCode, OperationError
from compass_agent.frames import check_session_id
from compass_agent.services.grpc.catalog import summary_of
from compass_agent.services.grpc.channel import failure_of, hub_channel
from compass_agent.services.grpc.pages import HubPages
from compass_agent.wire.relay import SUBSCRIBE
from compass_agent.wire.sessions import (
    GET_SESSION,
    LIST_SESSIONS,
    ListRequest,
    get_request_to_bytes,
    list_request_to_bytes,
    listed_from_bytes,
    session_from_bytes,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from grpc import aio

    from compass_agent.frames import Cursor
    from compass_agent.log.read import SessionSummary
    from compass_agent.services.hub_links import HubAway, HubBack

    _Ask = aio.UnaryUnaryMultiCallable[bytes, bytes]
    _Subscribe = aio.UnaryStreamMultiCallable[bytes, bytes]

_ANSWER_S = 20.0
_PATIENCE_S = 30.0


class HubReader:
    """Implements `ReadLog` over the hub at `target`. Lives in one asyncio loop.

    Making one connects to nothing, and never fails.

    Args:
        target: As gRPC names it: `unix:PATH`, `HOST:PORT`.
        token: What the hub asks for, when it asks.
        tell: Is told before each try when a reading broke, and when it goes on. May not raise.
        patience_s: For how long a reading that broke waits for the hub, in seconds.
    """

    def __init__(
        self,
        target: str,
        token: str | None = None,
        *,
        tell: Callable[[HubAway | HubBack], None] | None = None,
        patience_s: float = _PATIENCE_S,
    ) -> None:
        self._channel = hub_channel(target)
        # Without serializers bytes go as they are.
        self._list: _Ask = self._channel.unary_unary("/{}/{}".format(*LIST_SESSIONS))
        self._get: _Ask = self._channel.unary_unary("/{}/{}".format(*GET_SESSION))
        self._subscribe: _Subscribe = self._channel.unary_stream("/{}/{}".format(*SUBSCRIBE))
        self._metadata = None if token is None else (("authorization", f"Bearer {token}"),)
        self._tell = tell
        self._patience_s = patience_s

    def read(
        self,
        session: str,
        after: Cursor | None = None,
        *,
        follow: bool = True,
        page_frames: int = 4096,
    ) -> HubPages:
        """As in `ReadLog`. What the hub's log raises is raised here."""
        check_session_id(session)
        if page_frames < 1:
            raise OperationError(ErrorCode.UNSUPPORTED_INPUT)
        return HubPages(
            self,
            session,
            after,
            follow=follow,
            page_frames=page_frames,
            patience_s=self._patience_s,
        )

    def subscribe(self, request: bytes) -> aio.UnaryStreamCall[bytes, bytes]:
        """Begin a call of `SubscribeAgentSession`, which the caller has to cancel."""
        return self._subscribe(request, metadata=self._metadata)

    def tell(self, link: HubAway | HubBack) -> None:
        """Tell whoever wants to know how readings fare."""
        if self._tell is not None:
            self._tell(link)

    async def sessions(self) -> list[SessionSummary]:
        """As in `ReadLog`. One that is updated meanwhile may be missing from a long list."""
        found: dict[str, SessionSummary] = {}
        token, more = "", True
        while more:
            request = list_request_to_bytes(ListRequest(page_token=token))
            infos, token = listed_from_bytes(await self._ask(self._list, request))
            for info in infos:
                found.setdefault(info.session, summary_of(info))
            more = bool(token)
        return sorted(found.values(), key=lambda summary: (-summary.updated_ms, summary.session))

    async def session(self, session: str) -> SessionSummary:
        """Return where one session stands.

        Raises:
            OperationError: `not_found`, or as the hub's log raises.
        """
        answer = await self._ask(self._get, get_request_to_bytes(session))
        return summary_of(session_from_bytes(answer))

    async def delete(self, session: str) -> None:
        """Raise `unsupported_input`: a hub lets nobody remove a session."""
        del session
        raise OperationError(ErrorCode.UNSUPPORTED_INPUT)

    async def close_below(self, session: str, epoch: str) -> None:
        """Do nothing: the hub's own readings store that mark."""

    async def aclose(self) -> None:
        """As in `ReadLog`."""
        with anyio.CancelScope(shield=True):
            await self._channel.close()

    async def _ask(self, method: _Ask, request: bytes) -> bytes:
        try:
            return await method(request, metadata=self._metadata, timeout=_ANSWER_S)
        except grpc.RpcError as error:
            raise failure_of(error) from error
