"""The session pane's files: its page at `/` and at `/s/SESSION`, the rest below `/static/`.

They hold no session and no secret, so that they need no token; the page brings it when it asks.
"""

from __future__ import annotations

__all__ = ("is_of_pane", "is_page", "pane_routes")

from http import HTTPStatus
from typing import TYPE_CHECKING

from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Route

from compass_agent.pane import PAGE_HEADERS, board_page, pane_files, session_page

if TYPE_CHECKING:
    from starlette.requests import Request

    from compass_agent.pane import PaneFile

_SESSION = "/s/"
_STATIC = "/static/"
_WORKER = "worker.js"


def is_of_pane(path: str) -> bool:
    """Tell whether `path` is one of the page's."""
    return is_page(path) or path.startswith(_STATIC)


def is_page(path: str) -> bool:
    """Tell whether `path` is that of a page, which people open."""
    return path in {"/", ""} or path.startswith(_SESSION)


def pane_routes() -> list[Route]:
    """Return what a router is given."""
    return [
        Route("/", _board),
        Route(_SESSION + "{session}", _session),
        Route(_STATIC + "{path:path}", _static),
    ]


async def _board(_: Request) -> Response:
    return _page(board_page(), "static/")


async def _session(_: Request) -> Response:
    return _page(session_page(), "../static/")


def _page(page: PaneFile, static: str) -> Response:
    """Return a page, and which modules it will import: so none of them waits for another."""
    answer = _answer(page)
    modules = (name for name in pane_files() if name.endswith(".js") and name != _WORKER)
    preloads = (f"<{static}{name}>; rel=modulepreload" for name in modules)
    answer.headers["Link"] = ", ".join(preloads)
    return answer


async def _static(request: Request) -> Response:
    path: str = request.path_params["path"]
    found = pane_files().get(path)
    if found is None:
        raise HTTPException(HTTPStatus.NOT_FOUND)
    return _answer(found)


def _answer(file: PaneFile) -> Response:
    return Response(file.body, headers=dict(PAGE_HEADERS), media_type=file.media_type)
