"""What a caller may ask for, in words that every way in takes alike, and how it is told of a slip.

A request that cannot be read is no failed operation: it is refused before the operation is called.
"""

from __future__ import annotations

__all__ = (
    "KINDS",
    "MAX_LIMIT",
    "InvalidRequestError",
    "Issue",
    "check_page",
    "kind_from_text",
    "state_from_text",
)

from dataclasses import dataclass

from compass_agent.errors.codes import ErrorCode, OperationError
from compass_agent.frames import AgentSessionState, SessionEvent, check_session_id
from compass_agent.wire.malformed import MalformedRequestError

MAX_LIMIT = 1_000
"""The most frames, entries or sessions that one page holds."""

_EVENTS = SessionEvent.DESCRIPTOR.oneofs_by_name["event"].fields
KINDS = frozenset(("state", "unknown", *(field.name for field in _EVENTS)))
"""Kinds of frames: the names of the oneof, `state` for a transition alone, `unknown`."""

_BY_NAME = {name: name for name in KINDS} | {field.json_name: field.name for field in _EVENTS}
_STATE_PREFIX = "AGENT_SESSION_STATE_"


@dataclass(frozen=True, slots=True)
class Issue:
    """What is wrong with one part of a request: where, and what a caller can do about it."""

    path: str
    message: str


class InvalidRequestError(MalformedRequestError):
    """The request cannot be read, and where: a bad request, outside the nine codes.

    Attributes:
        issues: What is wrong; at least one.
    """

    def __init__(self, *issues: Issue) -> None:
        super().__init__("; ".join(f"{issue.path}: {issue.message}" for issue in issues))
        self.issues = issues


def check_page(session: str, *, after: object, before: object, limit: int) -> None:
    """Check what a page is asked for with, whatever it is a page of.

    Raises:
        OperationError: `unsupported_input` (a limit that is not taken, both `after` and `before`,
            no session id).
    """
    check_session_id(session)
    if not 1 <= limit <= MAX_LIMIT or (after is not None and before is not None):
        raise OperationError(ErrorCode.UNSUPPORTED_INPUT)


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
    name = text.upper().removeprefix(_STATE_PREFIX)
    try:
        return AgentSessionState.Value(_STATE_PREFIX + name)
    except ValueError as error:
        words = [known.removeprefix(_STATE_PREFIX) for known in AgentSessionState.keys()[1:]]
        raise InvalidRequestError(Issue(path, f"one of {', '.join(words)}")) from error
