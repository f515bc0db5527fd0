"""One call to a hub over grpclib, on a connection of its own. Lives in one asyncio loop."""

from __future__ import annotations

__all__ = ("Call", "Hub")

import asyncio
import sys
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import anyio
from grpclib.client import Channel, UnaryStreamMethod
from grpclib.config import Configuration
from grpclib.encoding.base import CodecBase

from compass_agent.client.failures import BROKEN, FailureDetails, failure_of
from compass_agent.errors.codes import ErrorCode, OperationError
from compass_agent.wire.relay import SUBSCRIBE
from compass_subscriber.v1 import (
    CompassServiceStub,
    GetSessionRequest,
    SubscribeAgentSessionRequest,
)

if TYPE_CHECKING:
    import betterproto2
    from grpclib.client import Stream

_ANSWER_S = 20.0
_SUBSCRIBE = "/{}/{}".format(*SUBSCRIBE)

# A hub that no longer answers is noticed, also while there is nothing to read.
_CONFIG = Configuration(
    _keepalive_time=20.0,
    _keepalive_timeout=10.0,
    _http2_max_pings_without_data=0,
    _http2_min_sent_ping_interval_without_data=10.0,
)


class _Codec(CodecBase):
    """Messages of the subscriber lane; those that are asked for as bytes stay bytes."""

    @property
    def __content_subtype__(self) -> str:
        return "proto"

    def encode(self, message: betterproto2.Message, message_type: object) -> bytes:
        """Return the message's bytes."""
        del message_type
        return bytes(message)

    def decode(self, data: bytes, message_type: Any) -> Any:
        """Return the message, or its bytes."""
        return data if message_type is bytes else message_type.parse(data)


@dataclass(frozen=True, slots=True)
class Hub:
    """Where a hub is, and what it asks for.

    Attributes:
        path: Its unix socket; None: it is reached by TCP.
        host: Its address, by TCP.
        port: Its port, by TCP.
        token: What it asks for; None: nothing.
    """

    path: str | None = None
    host: str | None = None
    port: int | None = None
    token: str | None = field(default=None, repr=False)

    def channel(self) -> Channel:
        """Return a channel; it connects when it is used, and its user closes it."""
        return Channel(
            self.host,
            self.port,
            path=self.path,
            codec=_Codec(),
            status_details_codec=FailureDetails(),
            config=_CONFIG,
        )

    @property
    def metadata(self) -> list[tuple[str, str]]:
        """What each call carries."""
        return [] if self.token is None else [("authorization", f"Bearer {self.token}")]

    async def state(self, session: str) -> int:
        """Return the number of the session's state.

        Raises:
            OperationError: `unavailable`, or as the hub's log raises.
        """
        try:
            async with self.channel() as channel:
                stub = CompassServiceStub(channel, metadata=self.metadata)
                request = GetSessionRequest(session_id=session)
                answer = await stub.get_session(request, timeout=_ANSWER_S)
        except BROKEN as error:
            raise failure_of(error) from error
        if answer.session is None:
            raise OperationError(ErrorCode.UNAVAILABLE)
        return int(answer.session.state)


class Call:
    """One call of `SubscribeAgentSession`.

    Making one connects to nothing.

    Args:
        hub: Where to call.
        request: What to ask.

    Raises:
        RuntimeError: It is not asyncio that runs.
    """

    def __init__(self, hub: Hub, request: SubscribeAgentSessionRequest) -> None:
        self._request = request
        self._loop = asyncio.get_running_loop()
        self._channel = hub.channel()
        self._stack = AsyncExitStack()
        self._metadata = hub.metadata
        self._stream: Stream[SubscribeAgentSessionRequest, bytes] | None = None

    async def receive(self) -> bytes | None:
        """Return the next message; None: the hub says that this is all.

        Whatever it raises ends the call; cancelling the wait does too.

        Raises:
            OperationError: What the hub said; `unavailable` when the connection broke.
        """
        try:
            return await self._receive_or_leave()
        except BROKEN as error:
            raise failure_of(error) from error

    async def _receive_or_leave(self) -> bytes | None:
        try:
            stream = self._stream
            if stream is None:
                with anyio.fail_after(_ANSWER_S):
                    stream = self._stream = await self._begin()
            data = await stream.recv_message()
            if data is None:
                # How the call ended: OK, or the hub's error.
                await stream.recv_trailing_metadata()
        except BaseException:
            # With an error in hand it waits for nothing; it raises what the hub said, if anything.
            await self._stack.__aexit__(*sys.exc_info())
            raise
        return data

    async def _begin(self) -> Stream[SubscribeAgentSessionRequest, bytes]:
        await self._stack.enter_async_context(self._channel)
        method = UnaryStreamMethod(self._channel, _SUBSCRIBE, SubscribeAgentSessionRequest, bytes)
        stream = await self._stack.enter_async_context(method.open(metadata=self._metadata))
        await stream.send_message(self._request, end=True)
        return stream

    def close(self) -> None:
        """End the call, and the connection with it. Waits for nothing."""
        if not self._loop.is_closed():
            with suppress(RuntimeError):  # a loop that is being closed
                self._channel.close()
