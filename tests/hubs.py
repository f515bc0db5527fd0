"""Hubs for tests: one in this process, or `compass serve` in another; and plain gRPC clients."""

from __future__ import annotations

__all__ = (
    "Metadata",
    "Subscriber",
    "published",
    "publishing",
    "serving",
    "short_folder",
    "subscribed",
)

import shutil
import subprocess
import tempfile
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from grpc import StatusCode, aio

from commands import COMPASS
from compass.v1.compass_pb2 import AgentSessionFrame, SubscribeAgentSessionRequest
from compass_agent.wire.publish import (
    PUBLISH_FRAME,
    answer_from_bytes,
    request_to_bytes,
)
from compass_agent.wire.relay import SUBSCRIBE

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator

    from compass_agent.wire import Answer, Batch, SessionMeta

Metadata: TypeAlias = tuple[tuple[str, str], ...]

_PATIENCE_S = 20


@contextmanager
def short_folder() -> Generator[Path]:
    """A private folder whose name leaves room for a socket's."""
    folder = Path(tempfile.mkdtemp(prefix="hub", dir="/tmp"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


@contextmanager
def serving(*arguments: str) -> Generator[tuple[subprocess.Popen[str], list[str]]]:
    """`compass serve`, once it listens, and the URLs at which it does."""
    wanted = 1 + ("--listen" in arguments)
    lines: list[str] = []
    with subprocess.Popen(
        [COMPASS, "serve", *arguments], stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stderr is not None
            while len(lines) < wanted:
                line = process.stderr.readline()
                assert "listening at" in line or "serving HTTP at" in line, line
                lines += [line] if "listening at" in line else []
            yield process, [line.split("listening at ")[1].split(";")[0] for line in lines]
        finally:
            if process.poll() is None:
                process.kill()


class Subscriber:
    """One call of `SubscribeAgentSession` from a reader with gRPC's own settings."""

    def __init__(self, call: aio.UnaryStreamCall[bytes, bytes]) -> None:
        self.call = call

    async def next(self) -> AgentSessionFrame | None:
        """The next message; None at the end of the stream."""
        data: Any = await self.call.read()
        return AgentSessionFrame.FromString(data) if isinstance(data, bytes) else None

    async def rest(self) -> list[AgentSessionFrame]:
        """All messages to the end."""
        found: list[AgentSessionFrame] = []
        while (frame := await self.next()) is not None:
            found.append(frame)
        return found


@asynccontextmanager
async def subscribed(
    target: str, metadata: Metadata = (), **request: Any
) -> AsyncGenerator[Subscriber]:
    """A reader at `target`; `request` is the fields of SubscribeAgentSessionRequest."""
    async with aio.insecure_channel(target) as channel:
        ask: aio.UnaryStreamMultiCallable[bytes, bytes] = channel.unary_stream(
            "/{}/{}".format(*SUBSCRIBE)
        )
        message = SubscribeAgentSessionRequest(**request).SerializeToString()
        call = ask(message, metadata=metadata)
        try:
            yield Subscriber(call)
        finally:
            call.cancel()


async def following(
    target: str, session: str, metadata: Metadata = (), **request: Any
) -> AsyncGenerator[AgentSessionFrame]:
    """What a reader at the hub gets, waiting for a session that is not there yet."""
    there = False
    while not there:
        async with subscribed(target, metadata, session_id=session, **request) as reader:
            try:
                while (frame := await reader.next()) is not None:
                    there = True
                    yield frame
            except aio.AioRpcError as error:
                if error.code() is not StatusCode.NOT_FOUND:
                    raise
                continue
            return


@asynccontextmanager
async def publishing(
    target: str, metadata: Metadata = ()
) -> AsyncGenerator[aio.StreamStreamCall[bytes, bytes]]:
    """One call of `PublishFrame` from a client with gRPC's own limits, apart from large sends."""
    async with aio.insecure_channel(
        target, options=(("grpc.max_send_message_length", -1),)
    ) as channel:
        publish: aio.StreamStreamMultiCallable[bytes, bytes] = channel.stream_stream(
            "/{}/{}".format(*PUBLISH_FRAME)
        )
        call = publish(metadata=metadata)
        try:
            yield call
        finally:
            call.cancel()


async def published(
    call: aio.StreamStreamCall[bytes, bytes], batch: Batch, meta: SessionMeta | None = None
) -> Answer:
    """Send one batch and return its answer."""
    await call.write(request_to_bytes(batch, meta))
    data: Any = await call.read()
    session, epoch, answer = answer_from_bytes(data)
    assert (session, epoch) == (batch.session, batch.epoch)
    return answer
