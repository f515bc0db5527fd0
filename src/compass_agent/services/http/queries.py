"""Reads what a request asks for. Everything that is wrong is told at once, each with its place."""

from __future__ import annotations

__all__ = ("MOST_SESSIONS", "Query")

from typing import TYPE_CHECKING, Literal, TypeVar

from compass_agent.errors.codes import OperationError
from compass_agent.frames import check_session_id
from compass_agent.services.listing import page_from_text
from compass_agent.services.requests import (
    Issue,
    Slips,
    cursor_from_text,
    limit_from,
    unknown_name,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.requests import Request

    from compass_agent.frames import Cursor

MOST_SESSIONS = 64
"""How many sessions one connection carries at most."""

_Value = TypeVar("_Value")


class Query:
    """The parameters of one request, and what is wrong with them.

    Args:
        request: The request.
        known: The parameters that it may have.
    """

    def __init__(self, request: Request, *known: str) -> None:
        self._given = request.query_params
        self._event_id = request.headers.get("last-event-id", "")
        self._slips = Slips()
        for name in sorted(set(self._given) - set(known)):
            self._slips.note(unknown_name(name, known))

    def check(self) -> None:
        """Refuse the request if anything that was read of it is wrong.

        Raises:
            InvalidRequestError: What is wrong.
        """
        self._slips.check()

    def text(self, name: str) -> str:
        """Return a parameter that may be given once; empty: it was not."""
        values = self._given.getlist(name)
        if len(values) > 1:
            self._slips.note(Issue(name, "may be given once"))
        return values[0] if values else ""

    def limit(self, otherwise: int) -> int:
        """Return how many a page is to hold at most."""
        text = self.text("limit")
        return self._slips.read(limit_from, text, "limit", otherwise) if text else otherwise

    def page(self) -> str:
        """Return what asks for a page of a list."""
        return self._slips.read(page_from_text, self.text("page"), "page", "")

    def words(self, name: str, read: Callable[[str, str], _Value]) -> frozenset[_Value]:
        """Return a parameter given several times, or with commas, as `read` reads each of it."""
        words = [word for text in self._given.getlist(name) for word in text.split(",") if word]
        found = (self._slips.read(read, word, name, None) for word in words)
        return frozenset(value for value in found if value is not None)

    def one_of(self, name: str, values: tuple[str, ...]) -> str:
        """Return a parameter that is one of `values`; the first when it is not given."""
        text = self.text(name) or values[0]
        if text not in values:
            self._slips.note(Issue(name, f"one of {', '.join(values)}"))
        return text

    def cursor(self, name: str) -> Cursor | None:
        """Return a parameter that is a cursor."""
        return self._cursor(name, self.text(name))

    def cursor_or_start(self, name: str) -> Cursor | Literal["start"] | None:
        """Return a parameter that is a cursor, or `start`."""
        text = self.text(name)
        return "start" if text == "start" else self._cursor(name, text)

    def resume(self) -> Cursor | None:
        """Return where a stream goes on: the last id that the client saw, else `after`."""
        after = self.cursor("after")
        return self._cursor("Last-Event-ID", self._event_id) if self._event_id else after

    def places(self) -> dict[str, Cursor | None]:
        """Return the sessions of `s`, each behind its cursor, or behind the last id for it."""
        found = dict(self._place("s", text) for text in self._given.getlist("s"))
        if not 1 <= len(found) <= MOST_SESSIONS or len(found) < len(self._given.getlist("s")):
            message = f"from 1 to {MOST_SESSIONS} sessions, as SESSION or SESSION@CURSOR, each once"
            self._slips.note(Issue("s", message))
        for text in filter(None, self._event_id.split(",")):
            session, cursor = self._place("Last-Event-ID", text)
            if session not in found:
                self._slips.note(
                    Issue("Last-Event-ID", "an id of this stream: each session as in s")
                )
            elif cursor is not None:
                found[session] = cursor
        return found

    def _place(self, name: str, text: str) -> tuple[str, Cursor | None]:
        session, _, cursor = text.partition("@")
        try:
            check_session_id(session)
        except OperationError:
            self._slips.note(Issue(name, "begins with the id of a session"))
        return session, self._cursor(name, cursor)

    def _cursor(self, name: str, text: str) -> Cursor | None:
        if not text:
            return None
        return self._slips.read(cursor_from_text, text, name, None)
