"""Reads what a request asks for. Everything that is wrong is told at once, each with its place."""

from __future__ import annotations

__all__ = ("MOST_SESSIONS", "Query")

from typing import TYPE_CHECKING, Literal, TypeVar

from compass_agent.errors.codes import OperationError
from compass_agent.frames import Cursor, InvalidCursorError, check_session_id
from compass_agent.services.requests import InvalidRequestError, Issue

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.requests import Request

MOST_SESSIONS = 64
"""How many sessions one connection carries at most."""

_LONGEST_NUMBER = 9
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
        odd = sorted(set(self._given) - set(known))
        self._issues = [Issue(name, f"not known here; known: {', '.join(known)}") for name in odd]

    def check(self) -> None:
        """Refuse the request if anything that was read of it is wrong.

        Raises:
            InvalidRequestError: What is wrong.
        """
        if self._issues:
            raise InvalidRequestError(*self._issues)

    def text(self, name: str) -> str:
        """Return a parameter that may be given once; empty: it was not."""
        values = self._given.getlist(name)
        if len(values) > 1:
            self._issues.append(Issue(name, "may be given once"))
        return values[0] if values else ""

    def number(self, name: str, otherwise: int) -> int:
        """Return a parameter that is a whole number."""
        text = self.text(name)
        if not text:
            return otherwise
        if not text.isascii() or not text.isdigit() or len(text) > _LONGEST_NUMBER:
            self._issues.append(Issue(name, "a whole number"))
            return otherwise
        return int(text)

    def words(self, name: str, read: Callable[[str, str], _Value]) -> frozenset[_Value]:
        """Return a parameter given several times, or with commas, as `read` reads each of it."""
        found: set[_Value] = set()
        for text in self._given.getlist(name):
            for word in filter(None, text.split(",")):
                try:
                    found.add(read(word, name))
                except InvalidRequestError as error:
                    self._issues += error.issues
        return frozenset(found)

    def one_of(self, name: str, values: tuple[str, ...]) -> str:
        """Return a parameter that is one of `values`; the first when it is not given."""
        text = self.text(name) or values[0]
        if text not in values:
            self._issues.append(Issue(name, f"one of {', '.join(values)}"))
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
            self._issues.append(Issue("s", message))
        for text in filter(None, self._event_id.split(",")):
            session, cursor = self._place("Last-Event-ID", text)
            if session in found and cursor is not None:
                found[session] = cursor
        return found

    def _place(self, name: str, text: str) -> tuple[str, Cursor | None]:
        session, _, cursor = text.partition("@")
        try:
            check_session_id(session)
        except OperationError:
            self._issues.append(Issue(name, "begins with the id of a session"))
        return session, self._cursor(name, cursor)

    def _cursor(self, name: str, text: str) -> Cursor | None:
        if not text:
            return None
        try:
            return Cursor.parse(text)
        except InvalidCursorError as error:
            self._issues.append(Issue(name, str(error)))
            return None
