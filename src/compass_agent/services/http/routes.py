"""The routes: each reads a request, calls one session operation, and tells what it returned."""

from __future__ import annotations

__all__ = ("Routes", "needs_no_token")

import json
import secrets
import time
from contextlib import aclosing
from importlib.metadata import version
from typing import TYPE_CHECKING, TypeVar

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from compass_agent.services.as_json import (
    detail_to_dict,
    entries_to_dict,
    frames_to_dict,
    sessions_to_dict,
)
from compass_agent.services.detail import get_session
from compass_agent.services.entries import read_entries
from compass_agent.services.export import ExportFormat, export_session
from compass_agent.services.http.causes import causes_of
from compass_agent.services.http.feeds import BoardFeed, SessionsFeed
from compass_agent.services.http.pane import is_of_pane, pane_routes
from compass_agent.services.http.queries import MOST_SESSIONS, Query
from compass_agent.services.listing import SessionQuery, find_sessions
from compass_agent.services.reading import read_session
from compass_agent.services.requests import MAX_LIMIT, kind_from_text, state_from_text

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable

    from starlette.types import ASGIApp, Receive, Scope, Send

    from compass_agent.log.read import ReadLog
    from compass_agent.services.http.feeds import Feed
    from compass_agent.services.http.sse import Encoder
    from compass_agent.services.http.streams import Streams

_HEALTH = "/healthz"

_P = TypeVar("_P")

_SESSION = "/v1/sessions/{session}"
_BOARD_EVERY_S = 0.5
_MEDIA_TYPES = {
    ExportFormat.JSONL: "application/jsonl",
    ExportFormat.MARKDOWN: "text/markdown; charset=utf-8",
}


def needs_no_token(path: str) -> bool:
    """Tell whether `path` is answered to whoever may ask at all: it tells nothing of sessions."""
    return path == _HEALTH or is_of_pane(path)


class Routes:
    """All routes over one log.

    Args:
        log: Where the sessions are kept.
        streams: Sends the event streams.
        encoder: Encodes their frames.
    """

    def __init__(self, log: ReadLog, streams: Streams, encoder: Encoder) -> None:
        self._log = log
        self._streams = streams
        self._encoder = encoder
        self._instance = secrets.token_hex(8)

    def all(self) -> list[Route]:
        """Return what a router is given."""
        return [
            Route(_HEALTH, self._health),
            Route("/v1/info", self._info),
            Route("/v1/sessions", self._sessions),
            Route(_SESSION, self._session),
            Route(f"{_SESSION}/frames", self._frames),
            Route(f"{_SESSION}/items", self._items),
            Route(f"{_SESSION}/transcript", self._transcript),
            Route(f"{_SESSION}/events", self._stream(self._session_feed), methods=["GET"]),
            Route("/v1/events", self._stream(self._sessions_feed), methods=["GET"]),
            Route("/v1/board/events", self._stream(self._board_feed), methods=["GET"]),
            *pane_routes(),
        ]

    async def _health(self, request: Request) -> Response:
        Query(request).check()
        return _json({"ok": True})

    async def _info(self, request: Request) -> Response:
        Query(request).check()
        limits = {
            "page": MAX_LIMIT,
            "readers": self._streams.pace.readers,
            "sessionsPerStream": MOST_SESSIONS,
        }
        return _json(
            {
                "version": version("compass-agent"),
                "instance": self._instance,
                "timeMs": time.time_ns() // 1_000_000,
                "limits": limits,
            }
        )

    async def _sessions(self, request: Request) -> Response:
        query = Query(request, "state", "q", "limit", "page")
        wanted = SessionQuery(
            states=query.words("state", state_from_text),
            text=query.text("q"),
            limit=query.limit(50),
            page=query.page(),
        )
        query.check()
        return _json(sessions_to_dict(await find_sessions(self._log, wanted)))

    async def _session(self, request: Request) -> Response:
        Query(request).check()
        return _json(detail_to_dict(await get_session(self._log, _name(request))))

    async def _frames(self, request: Request) -> Response:
        page = await self._page(request, read_session)
        body: dict[str, object] = {**frames_to_dict(page), "causes": causes_of(page.items)}
        return _json(body)

    async def _items(self, request: Request) -> Response:
        return _json(entries_to_dict(await self._page(request, read_entries)))

    async def _page(self, request: Request, read: Callable[..., Awaitable[_P]]) -> _P:
        """Return the page that the query asks `read` for."""
        query = Query(request, "after", "before", "limit", "kind")
        after, before = query.cursor_or_start("after"), query.cursor("before")
        limit, kinds = query.limit(100), query.words("kind", kind_from_text)
        query.check()
        return await read(
            self._log, _name(request), after=after, before=before, limit=limit, kinds=kinds
        )

    async def _transcript(self, request: Request) -> Response:
        query = Query(request, "format")
        form = query.one_of("format", tuple(ExportFormat))
        query.check()
        pieces = export_session(self._log, _name(request), ExportFormat(form))
        # The first piece is there before the answer begins: what fails until then is told by it.
        first = await anext(pieces)
        name = f"{_name(request).replace(':', '_')}.{form}"
        return StreamingResponse(
            _all(first, pieces),
            headers={"Content-Disposition": f'attachment; filename="{name}"'},
            media_type=_MEDIA_TYPES[ExportFormat(form)],
        )

    def _stream(self, feed_of: Callable[[Request], Feed]) -> ASGIApp:
        async def stream(scope: Scope, receive: Receive, send: Send) -> None:
            feed = feed_of(Request(scope))
            await self._streams.serve(feed, receive, send, head=scope["method"] == "HEAD")

        return _Endpoint(stream)

    def _session_feed(self, request: Request) -> Feed:
        query = Query(request, "after")
        after = query.resume()
        query.check()
        batch = self._streams.pace.batch
        places = {_name(request): after}
        return SessionsFeed(self._log, places, self._encoder, batch=batch, several=False)

    def _sessions_feed(self, request: Request) -> Feed:
        query = Query(request, "s")
        places = query.places()
        query.check()
        batch = self._streams.pace.batch
        return SessionsFeed(self._log, places, self._encoder, batch=batch, several=True)

    def _board_feed(self, request: Request) -> Feed:
        Query(request).check()
        return BoardFeed(self._log, _BOARD_EVERY_S)


class _Endpoint:
    """An ASGI application as a router takes it: no function, so that it is called as it is."""

    def __init__(self, app: Callable[[Scope, Receive, Send], Awaitable[None]]) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)


async def _all(first: str, rest: AsyncGenerator[str]) -> AsyncGenerator[str]:
    async with aclosing(rest):
        yield first
        async for piece in rest:
            yield piece


def _name(request: Request) -> str:
    name: str = request.path_params["session"]
    return name


def _json(body: dict[str, object]) -> Response:
    return Response(json.dumps(body), media_type="application/json")
