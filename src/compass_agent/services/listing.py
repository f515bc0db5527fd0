"""Lists sessions, a page at a time: those in ERRORED first, and within that the last updated first.

A page goes on behind the last session of the page before it. A session that is updated between two
pages moves to the front, and may be missing from the pages that follow.
"""

from __future__ import annotations

__all__ = ("SessionQuery", "SessionsPage", "find_sessions", "page_from_text")

import base64
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from compass_agent.errors.codes import ErrorCode, OperationError
from compass_agent.errors.shapes import is_list
from compass_agent.services.requests import MAX_LIMIT, InvalidRequestError, Issue
from compass_agent.services.sessions import list_sessions
from compass_agent.view.words import ERRORED

if TYPE_CHECKING:
    from compass_agent.log.read import ReadLog
    from compass_agent.services.sessions import SessionRow

_Place = tuple[bool, int, str]


@dataclass(frozen=True, slots=True)
class SessionQuery:
    """Which sessions to list.

    Attributes:
        states: Numbers of AgentSessionState; empty: any.
        text: Stands in the id, the title, the agent's name or the text of the failure, whatever the
            case; empty: any.
        limit: How many a page holds, from 1 to `MAX_LIMIT`.
        page: The `next_page` of the page before; empty: the first one.
    """

    states: frozenset[int] = frozenset()
    text: str = ""
    limit: int = 50
    page: str = ""


@dataclass(frozen=True, slots=True)
class SessionsPage:
    """Some sessions.

    Attributes:
        rows: The sessions.
        next_page: Asks for those behind; empty: there are none.
        total: How many fit the query, over all pages.
    """

    rows: list[SessionRow]
    next_page: str
    total: int


async def find_sessions(log: ReadLog, query: SessionQuery | None = None) -> SessionsPage:
    """Return a page of the sessions that fit `query`.

    Raises:
        InvalidRequestError: `page` was not given by this operation.
        OperationError: `unsupported_input` (a limit that is not taken), or as the log's `sessions`.
    """
    query = query or SessionQuery()
    if not 1 <= query.limit <= MAX_LIMIT:
        raise OperationError(ErrorCode.UNSUPPORTED_INPUT)
    behind = _place_from_token(query.page, "page") if query.page else None
    fitting = [row for row in await list_sessions(log) if _fits(row, query)]
    rest = [row for row in fitting if behind is None or _place(row) > behind]
    rows = rest[: query.limit]
    more = len(rest) > len(rows)
    return SessionsPage(rows, _token(_place(rows[-1])) if more else "", len(fitting))


def page_from_text(text: str, path: str = "page") -> str:
    """Return what asks for a page as it was given; empty: the first one.

    Raises:
        InvalidRequestError: No page gave it.
    """
    if text:
        _place_from_token(text, path)
    return text


def _fits(row: SessionRow, query: SessionQuery) -> bool:
    if query.states and row.summary.state not in query.states:
        return False
    if not query.text:
        return True
    summary, cause = row.summary, row.cause
    texts = (summary.session, summary.title, summary.agent)
    failure = (cause.title, cause.message) if cause is not None else ()
    wanted = query.text.casefold()
    return any(wanted in text.casefold() for text in (*texts, *failure))


def _place(row: SessionRow) -> _Place:
    """Where the session stands in the order of all."""
    summary = row.summary
    return summary.state != ERRORED, -summary.updated_ms, summary.session


def _token(place: _Place) -> str:
    text = json.dumps(place, separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _place_from_token(token: str, path: str) -> _Place:
    try:
        text = base64.b64decode(token + "=" * (-len(token) % 4), b"-_", validate=True)
        values: Any = json.loads(text)
    except (ValueError, RecursionError):
        values = None
    if is_list(values):
        match values:
            case [bool(later), int(negative_ms), str(session)]:
                return later, negative_ms, session
            case _:
                pass
    raise InvalidRequestError(Issue(path, "what the page before gave, as it was given"))
