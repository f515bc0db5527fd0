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
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from compass_agent.services.listing import page_from_text
from compass_agent.services.reading import START
from compass_agent.services.requests import (
    MAX_LIMIT,
    InvalidRequestError,
    Issue,
    cursor_from_text,
    kind_from_text,
    limit_from,
    state_from_text,
    unknown_name,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydantic_core import ErrorDetails

    from compass_agent.frames import Cursor


def _checked(read: Callable[[str, str], object], *others: str) -> AfterValidator:
    """Return what holds a text to what `read` takes, or to be one of `others`."""

    def check(text: str) -> str:
        if text not in others:
            read(text, "")
        return text

    return AfterValidator(check)


def _limit(given: object) -> int:
    if isinstance(given, str):
        given = None  # JSON has numbers
    return limit_from(given)


_Limit = Annotated[
    int, BeforeValidator(_limit), Field(json_schema_extra={"minimum": 1, "maximum": MAX_LIMIT})
]
_Place = Annotated[str, _checked(cursor_from_text)]
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

    state: Annotated[str, _checked(state_from_text)] | None = Field(
        None, description="Only this state, such as ERRORED or WORKING."
    )
    query: str = Field("", description="Stands in the id, title, agent or failure.")
    limit: _Limit = 20
    page: Annotated[str, _checked(page_from_text)] = Field(
        "", description="The `nextPage` of the page before."
    )


class GetSession(Arguments):
    """Which session."""

    session_id: _SessionId


class ReadSession(Arguments):
    """Which part of a session to read; without `after` and `before`, its end."""

    session_id: _SessionId
    after: Annotated[str, _checked(cursor_from_text, START)] | None = Field(
        None,
        description="What began or changed behind this place: the `next` of a page, or `start`.",
    )
    before: _Place | None = Field(None, description="What came before: the `prev` of a page.")
    kinds: list[Annotated[str, _checked(kind_from_text)]] = Field(
        default_factory=list[str],
        description="Only these: assistantText, thinking, toolCall, plan, prompt, notice,"
        " sessionInjection, sessionError, state.",
    )
    limit: _Limit = 50
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
    after: _Place | None = Field(
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
    place: _Place | None = Field(None, description="Where it stands, as `EPOCH-SEQ`.")


_Taken = TypeVar("_Taken", bound=Arguments)


def arguments_from(kind: type[_Taken], given: dict[str, Any] | None) -> _Taken:
    """Read what a caller gave.

    Raises:
        InvalidRequestError: What does not fit, each with its place.
    """
    try:
        return kind.model_validate(given or {})
    except ValidationError as error:
        # Of what was given nothing is said back but names.
        told = error.errors(include_url=False, include_input=False)
        raise InvalidRequestError(*(_issue(kind, one) for one in told)) from None


def _issue(kind: type[Arguments], told: ErrorDetails) -> Issue:
    """Return what is wrong in the words of every way in, where there are such."""
    path = ".".join(part for part in told["loc"] if isinstance(part, str))
    if told["type"] == "extra_forbidden":
        return unknown_name(path, kind.model_fields)
    error = told.get("ctx", {}).get("error")
    found = error.issues[0].message if isinstance(error, InvalidRequestError) else told["msg"]
    return Issue(path, found)


def cursor_from(text: str | None, path: str) -> Cursor | None:
    """Read an argument that is a cursor; None: it was not given.

    Raises:
        InvalidRequestError: It is none.
    """
    return None if text is None else cursor_from_text(text, path)


def input_schema(kind: type[Arguments]) -> dict[str, Any]:
    """Return the JSON Schema of what a tool takes."""
    schema = kind.model_json_schema()
    del schema["title"], schema["description"]
    for one in schema["properties"].values():
        one.pop("title", None)
    return schema
