"""What a caller may ask for, in words that every way in takes alike, and how it is told of a slip.

A request cannot be read when one of its fields holds what that field never can: a limit out of
range, a kind, a state or a page that there is not, a cursor that is none, a name that is not known.
That is no failed operation: it is refused before the operation is called, by every way in with the
same issues. Fields that are right each, and do not fit together, are `unsupported_input`; so is,
as everywhere, an id that no session can have.
"""

from __future__ import annotations

__all__ = (
    "KINDS",
    "MAX_LIMIT",
    "InvalidRequestError",
    "Issue",
    "Slips",
    "check_page",
    "cursor_from_text",
    "kind_from_text",
    "limit_from",
    "state_from_number",
    "state_from_text",
    "unknown_name",
)

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from compass_agent.errors.codes import ErrorCode, OperationError
from compass_agent.frames import (
    AgentSessionState,
    Cursor,
    InvalidCursorError,
    SessionEvent,
    check_session_id,
)
from compass_agent.wire.malformed import MalformedRequestError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

MAX_LIMIT = 1_000
"""The most frames, entries or sessions that one page holds."""

_EVENTS = SessionEvent.DESCRIPTOR.oneofs_by_name["event"].fields
KINDS = frozenset(("state", "unknown", *(field.name for field in _EVENTS)))
"""Kinds of frames: the names of the oneof, `state` for a transition alone, `unknown`."""

_BY_NAME = {name: name for name in KINDS} | {field.json_name: field.name for field in _EVENTS}
_STATE_PREFIX = "AGENT_SESSION_STATE_"
_STATES = {
    name.removeprefix(_STATE_PREFIX): number for name, number in AgentSessionState.items() if number
}
_MOST_ISSUES = 20
_LONGEST_PATH = 64
_LONGEST_NUMBER = 9

_Given = TypeVar("_Given")
_Read = TypeVar("_Read")


@dataclass(frozen=True, slots=True)
class Issue:
    """What is wrong with one part of a request: where, and what a caller can do about it."""

    path: str
    message: str


class InvalidRequestError(MalformedRequestError):
    """The request cannot be read, and where: a bad request, outside the nine codes.

    Attributes:
        issues: What is wrong; at least one, each once. However much was sent, no more than twenty
            are told, with paths of 64 characters.
    """

    def __init__(self, *issues: Issue) -> None:
        short = (replace(issue, path=_short(issue.path)) for issue in issues)
        self.issues = tuple(dict.fromkeys(short))[:_MOST_ISSUES]
        super().__init__("; ".join(f"{issue.path}: {issue.message}" for issue in self.issues))


class Slips:
    """Collects what is wrong with one request, so that all of it is told at once."""

    def __init__(self) -> None:
        self._issues: list[Issue] = []

    def note(self, issue: Issue) -> None:
        """Note what is wrong with one part."""
        self._issues.append(issue)

    def read(
        self, read: Callable[[_Given, str], _Read], given: _Given, path: str, otherwise: _Read
    ) -> _Read:
        """Return what `read` makes of one part; `otherwise`, having noted it, when it cannot."""
        try:
            return read(given, path)
        except InvalidRequestError as error:
            self._issues += error.issues
            return otherwise

    def check(self) -> None:
        """Refuse the request when anything was noted.

        Raises:
            InvalidRequestError: What is wrong.
        """
        if self._issues:
            raise InvalidRequestError(*self._issues)


def check_page(session: str, *, after: object, before: object, limit: int) -> None:
    """Check what a page is asked for with, whatever it is a page of.

    Raises:
        OperationError: `unsupported_input` (a limit that is not taken, both `after` and `before`,
            no session id).
    """
    check_session_id(session)
    if not 1 <= limit <= MAX_LIMIT or (after is not None and before is not None):
        raise OperationError(ErrorCode.UNSUPPORTED_INPUT)


def cursor_from_text(text: str, path: str) -> Cursor:
    """Return the cursor that `text` is.

    Raises:
        InvalidRequestError: It is none.
    """
    try:
        return Cursor.parse(text)
    except InvalidCursorError as error:
        raise InvalidRequestError(Issue(path, str(error))) from error


def limit_from(given: object, path: str = "limit") -> int:
    """Return how many a page is to hold at most.

    Args:
        given: A number, or its digits.
        path: Where it stands.

    Raises:
        InvalidRequestError: It is no whole number, or out of range.
    """
    if isinstance(given, str) and given.isascii() and given.isdigit():
        given = int(given) if len(given) <= _LONGEST_NUMBER else 0
    if isinstance(given, bool) or not isinstance(given, int) or not 1 <= given <= MAX_LIMIT:
        raise InvalidRequestError(Issue(path, f"a whole number from 1 to {MAX_LIMIT}"))
    return given


def kind_from_text(text: str, path: str = "kind") -> str:
    """Return the kind that `text` names, as the contract or as its JSON writes it.

    Raises:
        InvalidRequestError: There is no such kind.
    """
    found = _BY_NAME.get(text)
    if found is None:
        raise InvalidRequestError(Issue(path, f"one of {', '.join(sorted(KINDS))}"))
    return found


def state_from_text(text: str, path: str = "state") -> int:
    """Return the number of the AgentSessionState that `text` names, with or without its prefix.

    Raises:
        InvalidRequestError: There is no such state.
    """
    number = _STATES.get(text.upper().removeprefix(_STATE_PREFIX))
    if number is None:
        raise InvalidRequestError(_no_state(path))
    return number


def state_from_number(number: int, path: str = "state") -> int:
    """Return the number of an AgentSessionState as it was given.

    Raises:
        InvalidRequestError: There is no such state; 0 is none.
    """
    if number not in _STATES.values():
        raise InvalidRequestError(_no_state(path))
    return number


def unknown_name(name: str, known: Iterable[str]) -> Issue:
    """Return what is wrong with a part whose name is none of those that are known."""
    return Issue(name, f"not known here; known: {', '.join(known) or 'none'}")


def _no_state(path: str) -> Issue:
    return Issue(path, f"one of {', '.join(_STATES)}")


def _short(path: str) -> str:
    return path if len(path) <= _LONGEST_PATH else f"{path[: _LONGEST_PATH - 1]}…"
