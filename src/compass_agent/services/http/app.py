"""The HTTP end of a session log, as a plain ASGI application: JSON, streams, exports, the pane.

It runs under any ASGI server, on asyncio and on trio, and may be mounted into another application.
Every answer is made by the session operations; every failure is told by its code.
"""

from __future__ import annotations

__all__ = ("HttpApp", "Shared", "http_app")

import math
from http import HTTPStatus
from typing import TYPE_CHECKING

import anyio
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.routing import Router
from starlette.websockets import WebSocketClose

from compass_agent.errors.answering import answer_for
from compass_agent.errors.groups import only_exception
from compass_agent.frames import InvalidCursorError
from compass_agent.services.http.guard import LOOPBACK_HOSTS, Guard
from compass_agent.services.http.pane import is_page
from compass_agent.services.http.problems import problem, refusal
from compass_agent.services.http.routes import Routes, needs_no_token
from compass_agent.services.http.sse import Encoder
from compass_agent.services.http.streams import Pace, Streams
from compass_agent.services.requests import InvalidRequestError, Issue

if TYPE_CHECKING:
    from collections.abc import Iterable

    from starlette.responses import Response
    from starlette.types import Message, Receive, Scope, Send

    from compass_agent.log.read import ReadLog

_HEADERS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class Shared:
    """What several applications over one log share: the streams that are open, and encoded frames.

    Args:
        pace: How event streams are written.
    """

    def __init__(self, pace: Pace | None = None) -> None:
        self.streams = Streams(pace or Pace())
        self.encoder = Encoder()


class HttpApp:
    """An ASGI application over a log. Made by `http_app`."""

    def __init__(self, log: ReadLog, guard: Guard, shared: Shared) -> None:
        self._guard = guard
        self._shared = shared
        routes = Routes(log, shared.streams, shared.encoder)
        self._router = Router(routes.all(), redirect_slashes=False)

    def stop(self) -> None:
        """End every open stream, and refuse new ones; call it in the event loop that serves."""
        self._shared.streams.stop()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or take part in the server's start and stop."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "websocket":
            await WebSocketClose()(scope, receive, send)
        elif scope["type"] == "http":
            await self._answer(scope, receive, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                await send({"type": "lifespan.startup.complete"})
            elif message["type"] == "lifespan.shutdown":
                self.stop()
                await send({"type": "lifespan.shutdown.complete"})
                return

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = False

        async def sending(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        path = scope["path"].removeprefix(scope.get("root_path", ""))
        refused = self._guard.refuse(scope["method"], path, Headers(scope=scope))
        if refused is not None:
            await refused(scope, receive, sending)
            return
        scope = {**scope, "app": self}  # so that the router raises what it cannot route
        try:
            await self._router(scope, receive, sending)
        except anyio.get_cancelled_exc_class():
            if not started and anyio.current_effective_deadline() > -math.inf:
                # Nobody of ours asked for it: the caller gets an answer all the same.
                status = HTTPStatus.INTERNAL_SERVER_ERROR
                with anyio.CancelScope(shield=True):
                    await refusal(status, "The request was cancelled.")(scope, receive, sending)
            raise
        except Exception as error:
            failure = only_exception(error)
            if started and isinstance(failure, OSError | ClientDisconnect):
                return  # the reader has gone
            if started:
                # What was sent cannot be taken back: a connection that breaks off tells it.
                answer_for(failure)
                raise
            await _failed(failure)(scope, receive, sending)


def http_app(
    log: ReadLog,
    *,
    token: str | None = None,
    hosts: Iterable[str] = LOOPBACK_HOSTS,
    shared: Shared | None = None,
) -> HttpApp:
    """Return an ASGI application that gives readers the sessions of `log`.

    The log stays the caller's to close. Without a token whoever reaches the application may read
    everything: then it belongs behind a socket that only its owner can open.

    Args:
        log: Where the sessions are kept.
        token: What callers must bring, as `Authorization: Bearer TOKEN`.
        hosts: The names in the Host header that are taken, without a port.
        shared: What it shares with other applications over the same log.
    """
    return HttpApp(log, Guard(token, hosts, needs_no_token, is_page), shared or Shared())


def _failed(error: Exception) -> Response:
    match error:
        case InvalidRequestError():
            message = "The request cannot be read."
            return refusal(HTTPStatus.BAD_REQUEST, message, issues=error.issues)
        case InvalidCursorError():
            issues = [Issue("cursor", str(error))]
            message = "The request cannot be read."
            return refusal(HTTPStatus.BAD_REQUEST, message, issues=issues)
        case HTTPException(status_code=404):
            return refusal(HTTPStatus.NOT_FOUND, "There is no such route.")
        case HTTPException(status_code=405):
            message = "This route does not take that method."
            headers = error.headers
            return refusal(HTTPStatus.METHOD_NOT_ALLOWED, message, headers=headers)
        case _:
            return problem(answer_for(error))
