"""A failed operation as data: the object that every way in tells, and its form for HTTP."""

from __future__ import annotations

__all__ = ("PROBLEM_TYPE", "format_operation_error", "problem_json")

from typing import TYPE_CHECKING

from compass_agent.errors.codes import TABLE

if TYPE_CHECKING:
    from compass_agent.errors.codes import OperationError

PROBLEM_TYPE = "application/problem+json"
"""The media type of `problem_json`."""
_TYPES = "urn:compass-agent:error:"


def format_operation_error(error: OperationError) -> dict[str, object]:
    """Return `error` as an object for programs.

    Returns:
        `success` (False), `code`, `message`, `retryable`, `guidance`, and `retry_after_s` when it
        is known.
    """
    row = TABLE[error.code]
    told: dict[str, object] = {
        "success": False,
        "code": error.code.value,
        "message": row.message,
        "retryable": row.retryable,
        "guidance": row.guidance,
    }
    if error.retry_after_s is not None:
        told["retry_after_s"] = error.retry_after_s
    return told


def problem_json(error: OperationError) -> dict[str, object]:
    """Return `error` as the body of an HTTP answer, by RFC 9457.

    Returns:
        `type`, `title`, `status`, `detail`, and besides `error` (the message), `code`, `retryable`,
        `guidance`, and `retry_after_s` when it is known.
    """
    told = format_operation_error(error)
    del told["success"]
    message = told.pop("message")
    return {
        "type": f"{_TYPES}{error.code.value}",
        "title": error.code.value.replace("_", " ").capitalize(),
        "status": TABLE[error.code].http_status,
        "detail": message,
        "error": message,
        **told,
    }
