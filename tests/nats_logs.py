"""Logs on a NATS server, each on a stream of its own."""

from __future__ import annotations

__all__ = ("fresh_log", "fresh_stream")

from itertools import count
from typing import TYPE_CHECKING, Any

from compass_agent.log.jetstream import JetStreamLog
from compass_agent.log.jetstream.setup import init_engine, stream_settings

if TYPE_CHECKING:
    from compass_agent.log import Retention
    from nats_servers import NatsServer
    from writing_logs import Clock

_numbers = count(1)


async def fresh_stream(server: NatsServer, settings: dict[str, Any] | None = None) -> str:
    """The name of a new stream; in memory unless the test says otherwise."""
    name = f"test-{next(_numbers)}"
    changed = {"storage": "memory", **(settings or {})}
    await init_engine([server.url], stream_settings(name) | changed)
    return name


async def fresh_log(
    server: NatsServer,
    clock: Clock | None = None,
    *,
    ahead_s: float = 2.0,
    retention: Retention | None = None,
    settings: dict[str, Any] | None = None,
    one_loop: bool = False,
) -> JetStreamLog:
    """A log on a new stream."""
    stream = await fresh_stream(server, settings)
    return JetStreamLog(
        [server.url],
        stream,
        now_ms=clock,
        ahead_s=ahead_s,
        retention=retention,
        one_loop=one_loop,
    )
