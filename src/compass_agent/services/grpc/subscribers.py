"""Serves `SubscribeAgentSession` out of a log. A reader pulls; nothing is queued for it here."""

from __future__ import annotations

__all__ = ("Subscribers",)

import asyncio
from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING

import grpc

from compass_agent.services.requests import Slips, kind_from_text
from compass_agent.wire.relay import SUBSCRIBE, Encoded, Relay, subscription_from_bytes

if TYPE_CHECKING:
    from grpc import aio

    from compass_agent.log.read import ReadLog

    _Handler = grpc.RpcMethodHandler[bytes, bytes]
    _Context = aio.ServicerContext[bytes, bytes]

# What one reader that stands still costs the hub, beside the transport's own window: one page.
_PAGE_FRAMES = 4_096


class Subscribers:
    """Gives readers the sessions of `log`, which stays its owner's to close.

    Attributes:
        count: How many readers there are now.
    """

    def __init__(self, log: ReadLog) -> None:
        self._log = log
        self._encoded = Encoded()
        self.count = 0

    def handler(self) -> grpc.GenericRpcHandler:
        """Return what a server is given."""
        service, method = SUBSCRIBE
        # Without serializers bytes go as they are.
        serve: _Handler = grpc.unary_stream_rpc_method_handler(self.subscribe)
        return grpc.method_handlers_generic_handler(service, {method: serve})

    async def subscribe(self, request: bytes, context: _Context) -> None:
        """Send what the reader asks for; return at the end of the session.

        Raises:
            MalformedRequestError: The request cannot be read.
            OperationError: `unsupported_input` (no session id), or as the log's `read` does.
        """
        wanted = subscription_from_bytes(request)
        slips = Slips()
        kinds = (slips.read(kind_from_text, one, "kinds", "") for one in sorted(wanted.kinds))
        wanted = replace(wanted, kinds=frozenset(kinds))
        slips.check()
        relay = Relay(wanted, self._encoded)
        pages = self._log.read(
            wanted.session, wanted.after, follow=wanted.follow, page_frames=_PAGE_FRAMES
        )
        self.count += 1
        try:
            async with aclosing(pages), aclosing(_Writing(context)) as writing:
                async for page in pages:
                    for message in relay.messages(page.items):
                        # Waits when the reader does not read: no other flow control is needed.
                        await writing.write(message)
                await writing.done()
        finally:
            self.count -= 1


class _Writing:
    """Writes the messages of one call in turn; the next one is made while one is written."""

    def __init__(self, context: _Context) -> None:
        self._context = context
        self._written: asyncio.Task[None] | None = None

    async def write(self, message: bytes) -> None:
        """Begin to write `message`, once the one before it is written.

        Raises:
            Exception: What gRPC raises for the one before it.
        """
        await self.done()
        self._written = asyncio.ensure_future(self._context.write(message))
        await asyncio.sleep(0)  # it begins

    async def done(self) -> None:
        """Wait until all is written."""
        if self._written is not None:
            written, self._written = self._written, None
            await written

    async def aclose(self) -> None:
        """Give up what is not written yet."""
        if self._written is not None:
            self._written.cancel()
            await asyncio.wait([self._written])
