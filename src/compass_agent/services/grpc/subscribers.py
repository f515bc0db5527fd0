"""Serves `SubscribeAgentSession` out of a log. A reader pulls; nothing is queued for it here."""

from __future__ import annotations

__all__ = ("Subscribers",)

from contextlib import aclosing
from typing import TYPE_CHECKING

import grpc

from compass_agent.wire.relay import SUBSCRIBE, Relay, subscription_from_bytes

if TYPE_CHECKING:
    from grpc import aio

    from compass_agent.log.read import ReadLog

    _Handler = grpc.RpcMethodHandler[bytes, bytes]
    _Context = aio.ServicerContext[bytes, bytes]

# What one reader that stands still costs the hub, beside the transport's own window: one page.
_PAGE_FRAMES = 1_024


class Subscribers:
    """Gives readers the sessions of `log`, which stays its owner's to close.

    Attributes:
        count: How many readers there are now.
    """

    def __init__(self, log: ReadLog) -> None:
        self._log = log
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
            OperationError: `unsupported_input` (no such kind, no session id), or as the log's
                `read` does.
        """
        wanted = subscription_from_bytes(request)
        relay = Relay(wanted)
        pages = self._log.read(
            wanted.session, wanted.after, follow=wanted.follow, page_frames=_PAGE_FRAMES
        )
        self.count += 1
        try:
            async with aclosing(pages):
                async for page in pages:
                    for message in relay.messages(page.items):
                        # Waits when the reader does not read: no other flow control is needed.
                        await context.write(message)
        finally:
            self.count -= 1
