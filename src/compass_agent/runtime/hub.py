"""A hub: takes frames from agents' processes, keeps them in a log, gives them to readers.

Needs the extra `grpc`, and asyncio.
"""

from __future__ import annotations

__all__ = ("Hub", "running_hub")

import asyncio
import logging
import os
from contextlib import ExitStack, asynccontextmanager
from typing import TYPE_CHECKING

import anyio
from grpc import aio

from compass_agent.errors.codes import ErrorCode, OperationError
from compass_agent.log.hubs import LARGEST_MESSAGE
from compass_agent.runtime.totals import HUBS
from compass_agent.services.connections import break_off
from compass_agent.services.grpc import Catalog, Guard, Subscribers
from compass_agent.services.sockets import owned_socket, place_taken
from compass_agent.transport.grpc import Ingest

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from compass_agent.log import SessionLog

_OPTIONS = (
    ("grpc.max_send_message_length", LARGEST_MESSAGE),
    ("grpc.max_receive_message_length", LARGEST_MESSAGE),
    # Two hubs on one port would each get some of the calls.
    ("grpc.so_reuseport", 0),
    # Streams may be idle for hours: pings keep them, and are never held against who sends them.
    ("grpc.http2.max_ping_strikes", 0),
    ("grpc.http2.min_ping_interval_without_data_ms", 1_000),
    ("grpc.keepalive_permit_without_calls", 1),
    # Who vanished without a word is noticed within a minute.
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.keepalive_timeout_ms", 20_000),
    ("grpc.http2.max_pings_without_data", 0),
)

_logger = logging.getLogger("compass_agent.runtime")

# For callers to be told that the hub stops; then for calls to end that are cancelled.
_GRACE_S = 1.0
_BREAK_S = 0.4


class Hub:
    """What runs while `running_hub` is entered.

    Attributes:
        ingest: Takes what agents publish.
        subscribers: Gives readers what they ask for.
        targets: Where it listens, as gRPC names places: `unix:PATH`, `HOST:PORT`.
    """

    def __init__(self, log: SessionLog, token: str | None) -> None:
        self.ingest = Ingest(log)
        self.subscribers = Subscribers(log)
        self.targets: list[str] = []
        self._guard = Guard(token)
        self._server = aio.server(interceptors=[self._guard], options=_OPTIONS)
        services = (self.ingest, self.subscribers, Catalog(log))
        self._server.add_generic_rpc_handlers([service.handler() for service in services])

    def bind(self, target: str) -> None:
        """Bind and listen at `target`, before the hub starts.

        Raises:
            SocketRefusedError: `conflict`: somebody listens there, or it is no place of this
                machine.
        """
        try:
            port = self._server.add_insecure_port(target)
        except RuntimeError as error:
            raise place_taken(target) from error
        if not target.startswith("unix:"):
            host, _, _ = target.rpartition(":")
            target = f"{host}:{port}"
        self.targets.append(target)

    async def start(self) -> None:
        """Begin to serve."""
        await self._server.start()

    async def stop(self) -> None:
        """End every call as `unavailable`, so that clients come again, then close.

        Returns within two seconds, whatever the callers do: a connection whose other end takes
        nothing is broken off.
        """
        self._guard.stop()
        closing = asyncio.ensure_future(self._server.stop(_GRACE_S))
        with anyio.CancelScope(shield=True):
            done, _ = await asyncio.wait([closing], timeout=_GRACE_S + _BREAK_S)
            if not done:
                _logger.info("connections were broken off: %d", break_off(self.targets))
                await asyncio.wait([closing], timeout=_BREAK_S)
        if closing.done():
            closing.result()
        else:
            _logger.warning("the hub stops, and not all of its calls have ended")


@asynccontextmanager
async def running_hub(
    log: SessionLog,
    *,
    unix: Path | None = None,
    listen: str | None = None,
    token: str | None = None,
) -> AsyncGenerator[Hub]:
    """Serve `log`, which stays the caller's to close, until the block is left.

    Args:
        log: Where the sessions are kept.
        unix: The path of a unix socket.
        listen: HOST:PORT; port 0: a free one.
        token: What callers by TCP must bring; without it nobody may come that way.

    Raises:
        SocketRefusedError: The unix socket cannot be made there. `conflict`: the port is taken.
        OperationError: `permission_denied`: TCP without a token.
    """
    if listen is not None and not token:
        raise OperationError(ErrorCode.PERMISSION_DENIED)
    hub = Hub(log, token)
    with ExitStack() as places:
        if unix is not None:
            target = f"unix:{os.fspath(unix)}"
            places.enter_context(owned_socket(unix, lambda: hub.bind(target)))
        if listen is not None:
            hub.bind(listen)
        await hub.start()
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(hub.ingest.keep_leases)
                HUBS.count(hub.ingest.counts)
                with HUBS.reading("grpc", lambda: hub.subscribers.count):
                    yield hub
                tasks.cancel_scope.cancel()
        finally:
            await hub.stop()
