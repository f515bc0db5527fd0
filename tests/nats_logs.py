"""Logs on a NATS server, each on a stream of its own."""

from __future__ import annotations

__all__ = ("fresh_log", "fresh_stream", "server_with_rights")

from itertools import count
from typing import TYPE_CHECKING, Any

from compass_agent.log.jetstream import JetStreamLog
from compass_agent.log.jetstream.rights import writer_rights
from compass_agent.log.jetstream.setup import init_engine, stream_settings
from nats_servers import NatsServer
from writing_logs import S

if TYPE_CHECKING:
    from pathlib import Path

    from compass_agent.log import Retention
    from writing_logs import Clock

_numbers = count(1)


async def fresh_stream(server: NatsServer, settings: dict[str, Any] | None = None) -> str:
    """The name of a new stream; in memory unless the test says otherwise."""
    name = f"test-{next(_numbers)}"
    changed = {"storage": "memory", **(settings or {})}
    await init_engine([server.url], stream_settings(name) | changed)
    return name


async def server_with_rights(folder: Path) -> tuple[NatsServer, str, str]:
    """A server with a stream; the URLs of its log for who may write to `S` alone, and for all."""
    stream = "rights"
    mine = f"{{ user: {S}, password: s, permissions: {writer_rights(stream, S)} }}"
    users = f"authorization {{ users: [{{ user: all, password: all }}, {mine}] }}"
    server = NatsServer(folder, extra=[users])
    server.start()
    place = server.url.removeprefix("nats://")
    await init_engine([f"nats://all:all@{place}"], stream_settings(stream))
    return server, f"nats://{S}:s@{place}/{stream}", f"nats://all:all@{place}/{stream}"


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
