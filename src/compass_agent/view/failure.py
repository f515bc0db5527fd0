"""What a SessionError says to a person: the facts of the frame, and the advice that follows."""

from __future__ import annotations

__all__ = ("NO_MESSAGE", "Cause", "FailureKind", "explain")

import json
import re
from dataclasses import dataclass
from enum import StrEnum
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from compass_agent.frames import SessionErrorKind

if TYPE_CHECKING:
    from compass_agent.frames import SessionError

NO_MESSAGE = "the agent reported no message"

_NOTHING_TOLD = (
    "Neither a message nor a status was reported. The agent's own log of this moment is the next"
    " place to look."
)
_HEADLINE_CHARS = 160
_JSON_BODY = re.compile(r"\s*(?:[0-9]{3}\s+)?(\{.*\})\s*", re.DOTALL)


class FailureKind(StrEnum):
    """A failure, a stop on purpose, or a kind that this version cannot read: no success."""

    ERROR = "error"
    ABORTED = "aborted"
    UNKNOWN = "unknown"


_KINDS = {
    SessionErrorKind.SESSION_ERROR_KIND_ERROR: FailureKind.ERROR,
    SessionErrorKind.SESSION_ERROR_KIND_ABORTED: FailureKind.ABORTED,
}


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a turn failed or was stopped. Facts that were not told are None, or empty.

    Attributes:
        kind: A failure or a stop.
        message: The agent's text, verbatim; empty when it gave none.
        status: The HTTP status that the provider gave; None: there was none. 0 is a status.
        retry_after_ms: How long the provider asked to wait, in milliseconds.
        code: The provider's own code.
        request_id: The provider's id of the request.
        stopped_by: Who asked for a stop.
        title: What it is, in a few words; never empty.
        retryable: Whether the same request may succeed later; None: not known.
        guidance: What a person can do; may be empty.
    """

    kind: FailureKind
    message: str
    status: int | None
    retry_after_ms: int | None
    code: str
    request_id: str
    stopped_by: str
    title: str
    retryable: bool | None
    guidance: str

    @property
    def aborted(self) -> bool:
        """Whether it was a stop on purpose."""
        return self.kind is FailureKind.ABORTED

    @property
    def http(self) -> str:
        """The status with its standard phrase, such as `HTTP 429 Too Many Requests`, or empty."""
        if self.status is None:
            return ""
        try:
            phrase = HTTPStatus(self.status).phrase
        except ValueError:
            return f"HTTP {self.status}"
        return f"HTTP {self.status} {phrase}"

    @property
    def headline(self) -> str:
        """The message in one line of at most 160 characters: for lists, never for the card."""
        text = _inner_message(self.message) or self.message
        line = next((line.strip() for line in text.split("\n") if line.strip()), NO_MESSAGE)
        return line if len(line) <= _HEADLINE_CHARS else line[: _HEADLINE_CHARS - 1] + "…"


def explain(error: SessionError) -> Cause:
    """Return what `error` says, with the advice that follows from it."""
    kind = _KINDS.get(error.kind, FailureKind.UNKNOWN)
    status = error.status if error.HasField("status") else None
    retry_after_ms = error.retry_after_ms if error.HasField("retry_after_ms") else None
    title, retryable, guidance = _advice(error, kind, status, retry_after_ms)
    return Cause(
        kind=kind,
        message=error.message,
        status=status,
        retry_after_ms=retry_after_ms,
        code=error.code,
        request_id=error.request_id,
        stopped_by=error.stopped_by,
        title=title,
        retryable=retryable,
        guidance=guidance,
    )


def _advice(
    error: SessionError, kind: FailureKind, status: int | None, retry_after_ms: int | None
) -> tuple[str, bool | None, str]:
    if kind is FailureKind.ABORTED:
        return "Turn aborted", None, ""
    # Dear to import, for whom nothing went wrong.
    from compass_agent.errors.advice import advise  # noqa: PLC0415 - see above
    from compass_agent.errors.detail import FailureDetail  # noqa: PLC0415 - likewise

    advice = advise(
        FailureDetail(
            message=error.message,
            status=status,
            retry_after_s=None if retry_after_ms is None else retry_after_ms / 1000,
            code=error.code or None,
            request_id=error.request_id or None,
        )
    )
    guidance = advice.guidance
    if status is None and not (error.message.strip() or error.code):
        guidance = _NOTHING_TOLD
    if kind is FailureKind.UNKNOWN:
        return f"Turn ended, not successful: {advice.title}", advice.retryable, guidance
    return advice.title, advice.retryable, guidance


def _inner_message(text: str) -> str:
    """Return the message inside a JSON body that some agents hand on whole, or empty."""
    match = _JSON_BODY.fullmatch(text)
    if match is None:
        return ""
    try:
        body: Any = json.loads(match[1])
    except (ValueError, RecursionError):
        return ""
    inner = body.get("error", body)
    found = inner.get("message") if isinstance(inner, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - JSON is anything
    return found if isinstance(found, str) else ""
