"""A hub for tests that ends every stream well, whatever its session does."""

from __future__ import annotations

__all__ = ("plain_hub",)

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from grpclib.const import Cardinality, Handler
from grpclib.server import Server

from compass_subscriber.v1 import (
    AgentSessionFrame,
    SessionAssistantText,
    SessionEvent,
    SubscribeAgentSessionRequest,
)

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping
    from pathlib import Path

    from grpclib.server import Stream

_EPOCH = "1" * 16


class _Bytes:
    """What grpclib's own codec takes: a message class of the usual names."""

    def __init__(self, message: AgentSessionFrame) -> None:
        self._message = message

    def SerializeToString(self) -> bytes:  # noqa: N802 - as protobuf has it
        return bytes(self._message)


class _Request:
    """As above."""

    @classmethod
    def FromString(cls, data: bytes) -> SubscribeAgentSessionRequest:  # noqa: N802 - as above
        return SubscribeAgentSessionRequest.parse(data)


class _PlainHub:
    """Serves one frame and that all was read, then says that this is all."""

    async def subscribe(self, stream: Stream[Any, Any]) -> None:
        """Serve one call."""
        request = await stream.recv_message()
        assert isinstance(request, SubscribeAgentSessionRequest)
        if request.after_seq == 0:
            words = SessionAssistantText(text="t1", message_id="m1")
            event = SessionEvent(event_id="1", assistant_text=words)
            first = AgentSessionFrame(session_id="s1", epoch=_EPOCH, seq=1, event=event)
            await stream.send_message(_Bytes(first))
        last = AgentSessionFrame(session_id="s1", epoch=_EPOCH, caught_up=True)
        await stream.send_message(_Bytes(last))

    def __mapping__(self) -> Mapping[str, Handler]:
        return {
            "/compass.v1.CompassService/SubscribeAgentSession": Handler(
                self.subscribe, Cardinality.UNARY_STREAM, _Request, _Bytes
            )
        }


@asynccontextmanager
async def plain_hub(place: Path) -> AsyncGenerator[None]:
    """Serve at the socket `place` until the block is left."""
    server = Server([_PlainHub()])
    await server.start(path=str(place))
    try:
        yield
    finally:
        server.close()
        await server.wait_closed()
