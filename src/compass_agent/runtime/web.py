"""Serves a log over HTTP: at a unix socket that is its owner's alone, and by TCP with a token.

Needs the extra `serve`, and asyncio. Stopping it ends the open streams first, so that it takes a
moment and no reader that stands still can hold it up.
"""

from __future__ import annotations

__all__ = ("running_http",)

import os
import socket
from contextlib import ExitStack, asynccontextmanager, nullcontext
from typing import TYPE_CHECKING

import anyio
import uvicorn

from compass_agent.errors.codes import ErrorCode, OperationError
from compass_agent.runtime.totals import HUBS
from compass_agent.services.http import LOOPBACK_HOSTS, HttpApp, Pace, Shared, http_app
from compass_agent.services.sockets import owned_socket, place_taken

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable
    from contextlib import AbstractContextManager
    from pathlib import Path

    from compass_agent.log.read import ReadLog

_GRACE_S = 2
_BACKLOG = 128
_EVERYWHERE = frozenset({"0.0.0.0", "[::]"})  # noqa: S104 - names to compare with


class _Server(uvicorn.Server):
    """A server that leaves signals to whoever runs it, and says when it listens."""

    def __init__(self, app: HttpApp, place: socket.socket) -> None:
        # Its own log says nothing: what fails is logged where it is told, with secrets masked, and
        # who asks for what is nobody's business.
        config = uvicorn.Config(
            app,
            http="h11",
            ws="none",
            lifespan="off",
            log_config=None,
            log_level="critical",
            access_log=False,
            proxy_headers=False,
            server_header=False,
            timeout_graceful_shutdown=_GRACE_S,
        )
        super().__init__(config)
        self._place = place
        self.listening = anyio.Event()

    def capture_signals(self) -> AbstractContextManager[None]:  # pyright: ignore[reportIncompatibleMethodOverride] - a narrower promise than a generator's
        return nullcontext()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.listening.set()

    async def run_until_told(self) -> None:
        """Serve until `should_exit`; a cancellation does not break what is being answered."""
        with anyio.CancelScope(shield=True):
            await self.serve([self._place])


@asynccontextmanager
async def running_http(
    log: ReadLog,
    *,
    unix: Path | None = None,
    listen: str | None = None,
    token: str | None = None,
    hosts: Iterable[str] = (),
    pace: Pace | None = None,
    shared: Shared | None = None,
) -> AsyncGenerator[list[str]]:
    """Serve `log`, which stays the caller's to close, until the block is left; yield the places.

    Args:
        log: Where the sessions are kept.
        unix: The path of a unix socket. Who comes through needs no token.
        listen: HOST:PORT; port 0: a free one.
        token: What callers by TCP must bring; without it nobody may come that way.
        hosts: Names in the Host header that are taken by TCP, besides the loopback's and the one
            that it listens at.
        pace: How event streams are written.
        shared: The event streams that are open, for who waits for their end; then `pace` is its.

    Yields:
        `unix:PATH` and `http://HOST:PORT`, as far as asked for.

    Raises:
        SocketRefusedError: The unix socket cannot be made there. `conflict`: the port is taken, or
            it is no place of this machine.
        OperationError: `permission_denied`: TCP without a token.
    """
    if listen is not None and not token:
        raise OperationError(ErrorCode.PERMISSION_DENIED)
    shared = shared or Shared(pace)
    servers: list[_Server] = []
    names: list[str] = []
    with ExitStack() as places:
        if unix is not None:
            place = places.enter_context(socket.socket(socket.AF_UNIX))
            places.enter_context(owned_socket(unix, lambda: _listen(place, unix)))
            servers.append(_Server(http_app(log, shared=shared), place))
            names.append(f"unix:{os.fspath(unix)}")
        if listen is not None:
            host, _, port = listen.rpartition(":")
            place = places.enter_context(_tcp(host.strip("[]"), int(port)))
            taken = {*LOOPBACK_HOSTS, *hosts, *({host} - _EVERYWHERE)}
            servers.append(_Server(http_app(log, token=token, hosts=taken, shared=shared), place))
            names.append(f"http://{host}:{place.getsockname()[1]}")
        async with anyio.create_task_group() as tasks:
            try:
                for server in servers:
                    tasks.start_soon(server.run_until_told)
                for server in servers:
                    await server.listening.wait()
                with HUBS.reading("sse", lambda: shared.streams.count):
                    yield names
            finally:
                shared.streams.stop()
                for server in servers:
                    server.should_exit = True


def _listen(place: socket.socket, path: Path) -> None:
    place.bind(os.fspath(path))
    place.listen(_BACKLOG)


def _tcp(host: str, port: int) -> socket.socket:
    """Return a socket that listens there.

    Raises:
        SocketRefusedError: `conflict`.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, *_, address = found[0]
        return socket.create_server(address, family=family, backlog=_BACKLOG)
    except OSError as error:
        raise place_taken(f"{host}:{port}") from error
