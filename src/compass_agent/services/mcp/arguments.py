"""What the tools take. What does not fit is refused as a bad request, before anything is read."""

from __future__ import annotations

__all__ = (
    "Arguments",
    "ExplainError",
    "GetSession",
    "ListSessions",
    "ReadSession",
    "Until",
    "WaitSession",
    "arguments_from",
    "cursor_from",
    "input_schema",
)

from enum import StrEnum
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from compass_agent.frames import Cursor, InvalidCursorError
from compass_agent.services.requests import MAX_LIMIT, InvalidRequestError, Issue

_MOST_ISSUES = 20
_SessionId = Annotated[str, Field(description="The session's id, whole, as a list shows it.")]


class Until(StrEnum):
    """What to wait for."""

    ANY = "any"
    TURN_END = "turn_end"
    ERROR = "error"
    ENDED = "ended"


class Arguments(BaseModel):
    """What a tool takes; a name that it does not know is refused."""

    model_config = ConfigDict(extra="forbid")


class ListSessions(Arguments):
    """Which sessions to list."""

    state: str | None = Field(None, description="Only this state, such as ERRORED or WORKING.")
    query: str = Field("", description="Stands in the id, title, agent or failure.")
    limit: int = Field(20, ge=1, le=MAX_LIMIT, strict=True)
    page: str = Field("", description="The `nextPage` of the page before.")


class GetSession(Arguments):
    """Which session."""

    session_id: _SessionId


class ReadSession(Arguments):
    """Which part of a session to read; without `after` and `before`, its end."""

    session_id: _SessionId
    after: str | None = Field(
        None,
        description="What began or changed behind this place: the `next` of a page, or `start`.",
    )
    before: str | None = Field(None, description="What came before: the `prev` of a page.")
    kinds: list[str] = Field(
        default_factory=list[str],
        description="Only these: assistantText, thinking, toolCall, plan, prompt, notice,"
        " sessionInjection, sessionError, state.",
    )
    limit: int = Field(50, ge=1, le=MAX_LIMIT, strict=True)
    max_chars: int = Field(
        12_000,
        ge=1_000,
        le=200_000,
        strict=True,
        description="How long the answer may be; long texts are cut, and fewer items come.",
    )


class WaitSession(Arguments):
    """What to wait for, and for how long."""

    session_id: _SessionId
    after: str | None = Field(
        None,
        description="Behind this place: the `next` of a page. Without it from now on; what holds"
        " already is answered at once.",
    )
    until: Until = Field(
        Until.ANY,
        description="any: something new; turn_end: the turn is over, well or not; error: it"
        " failed; ended: the session is over, or was opened again.",
    )
    timeout_s: float = Field(30.0, ge=0, le=55, strict=True, description="In seconds.")


class ExplainError(Arguments):
    """Which failure to explain; without `place`, the last one."""

    session_id: _SessionId
    place: str | None = Field(None, description="Where it stands, as `EPOCH-SEQ`.")


_Taken = TypeVar("_Taken", bound=Arguments)


def arguments_from(kind: type[_Taken], given: dict[str, Any] | None) -> _Taken:
    """Read what a caller gave.

    Raises:
        InvalidRequestError: What does not fit, each with its place.
    """
    try:
        return kind.model_validate(given or {})
    except ValidationError as error:
        # Of what was given nothing is said back.
        told = error.errors(include_url=False, include_context=False, include_input=False)
        issues = (Issue(".".join(map(str, one["loc"])), one["msg"]) for one in told[:_MOST_ISSUES])
        raise InvalidRequestError(*issues) from None


def cursor_from(text: str | None, path: str) -> Cursor | None:
    """Read an argument that is a cursor; None: it was not given.

    Raises:
        InvalidRequestError: It is none.
    """
    if text is None:
        return None
    try:
        return Cursor.parse(text)
    except InvalidCursorError as error:
        raise InvalidRequestError(Issue(path, str(error))) from error


def input_schema(kind: type[Arguments]) -> dict[str, Any]:
    """Return the JSON Schema of what a tool takes."""
    schema = kind.model_json_schema()
    del schema["title"], schema["description"]
    for one in schema["properties"].values():
        one.pop("title", None)
    return schema
