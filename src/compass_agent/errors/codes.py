"""The nine codes of a failed operation and the one table that every transport reads.

A failed *operation* (list, read, tail, append …) is an `OperationError`. A failed *turn* is data: a
`SessionError` frame in the stream, and reading it succeeds.
"""

from __future__ import annotations

__all__ = ("TABLE", "CodeRow", "ErrorCode", "OperationError")

from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping


class ErrorCode(StrEnum):
    """Why an operation failed. The set is closed."""

    PERMISSION_DENIED = "permission_denied"
    NOT_FOUND = "not_found"
    CONFLICT = "conflict"
    UNSUPPORTED_INPUT = "unsupported_input"
    NOT_READY = "not_ready"
    UNAVAILABLE = "unavailable"
    BUDGET_EXHAUSTED = "budget_exhausted"
    STORAGE_FAILED = "storage_failed"
    INTERNAL = "internal"


class CodeRow(NamedTuple):
    """How one code is told, wherever it is told.

    Attributes:
        http_status: The status of an HTTP answer.
        grpc_status: The name of the gRPC status.
        exit_status: The exit status of the command.
        retryable: Whether the same request can succeed later.
        logged: Whether the cause is for those who run the service, who then find it in their log.
        message: What happened.
        guidance: What the caller can do next. It names no means that an operation lacks.
    """

    http_status: int
    grpc_status: str
    exit_status: int
    retryable: bool
    logged: bool
    message: str
    guidance: str


# Read by index alone: a code without a row must fail in the tests, not get a default.
TABLE: Mapping[ErrorCode, CodeRow] = MappingProxyType({
    ErrorCode.PERMISSION_DENIED: CodeRow(
        403,
        "PERMISSION_DENIED",
        77,
        retryable=False,
        logged=False,
        message="You may not use this session.",
        guidance="Ask whoever runs the session for access, or use other credentials.",
    ),
    ErrorCode.NOT_FOUND: CodeRow(
        404,
        "NOT_FOUND",
        4,
        retryable=False,
        logged=False,
        message="There is no such session.",
        guidance="List the sessions and use an id from that list.",
    ),
    ErrorCode.CONFLICT: CodeRow(
        409,
        "ABORTED",
        9,
        retryable=False,
        logged=False,
        message="The request does not fit what is stored.",
        guidance="Read the session anew and start over from what is stored now.",
    ),
    ErrorCode.UNSUPPORTED_INPUT: CodeRow(
        422,
        "INVALID_ARGUMENT",
        65,
        retryable=False,
        logged=False,
        message="This operation does not take that input.",
        guidance="Correct the input; the documentation lists what is taken.",
    ),
    ErrorCode.NOT_READY: CodeRow(
        409,
        "FAILED_PRECONDITION",
        8,
        retryable=True,
        logged=False,
        message="The session is not in a state for this.",
        guidance="Wait until the session reaches the state, then try again; before that it cannot "
        "succeed.",
    ),
    ErrorCode.UNAVAILABLE: CodeRow(
        503,
        "UNAVAILABLE",
        5,
        retryable=True,
        logged=True,
        message="The session log cannot be reached for now.",
        guidance="Try again in a moment.",
    ),
    ErrorCode.BUDGET_EXHAUSTED: CodeRow(
        402,
        "RESOURCE_EXHAUSTED",
        10,
        retryable=False,
        logged=False,
        message="The authorised budget is used up.",
        guidance="Ask for a larger budget.",
    ),
    ErrorCode.STORAGE_FAILED: CodeRow(
        409,
        "FAILED_PRECONDITION",
        11,
        retryable=False,
        logged=True,
        message="The session log refused the request.",
        guidance="The same request will be refused again; look at the log's own messages.",
    ),
    ErrorCode.INTERNAL: CodeRow(
        500,
        "INTERNAL",
        1,
        retryable=False,
        logged=True,
        message="Something went wrong inside Compass.",
        guidance="Report it, with the time and what you did.",
    ),
})  # fmt: skip


class OperationError(Exception):
    """An operation failed for one of nine reasons.

    Message, guidance and the other facts come from the table alone, so that the text of a cause
    never reaches a caller; the cause itself stays as `__cause__`.

    Attributes:
        code: One of the nine.
        retry_after_s: Seconds to wait before trying again, when known.

    >>> from compass_agent.errors import OperationError
    >>> error = OperationError("not_found")
    >>> str(error), error.exit_status, error.retryable
    ('There is no such session.', 4, False)
    """

    def __init__(self, code: ErrorCode | str, *, retry_after_s: float | None = None) -> None:
        self.code = ErrorCode(code)
        self.retry_after_s = retry_after_s
        # `args` stay what a class was called with: copies and pickles are made from them.

    def __str__(self) -> str:
        return self.message

    @property
    def message(self) -> str:
        """What happened, for a person."""
        return TABLE[self.code].message

    @property
    def guidance(self) -> str:
        """What the caller can do next."""
        return TABLE[self.code].guidance

    @property
    def retryable(self) -> bool:
        """Whether the same request can succeed later."""
        return TABLE[self.code].retryable

    @property
    def http_status(self) -> int:
        """The HTTP status."""
        return TABLE[self.code].http_status

    @property
    def grpc_status(self) -> str:
        """The name of the gRPC status."""
        return TABLE[self.code].grpc_status

    @property
    def exit_status(self) -> int:
        """The exit status of the command."""
        return TABLE[self.code].exit_status
