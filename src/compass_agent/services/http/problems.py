"""Failures as HTTP answers: `application/problem+json`, in our own words.

A failed operation is told by its code. What is refused before an operation is called has no code:
it says what was wrong, and for a request that cannot be read, where.
"""

from __future__ import annotations

__all__ = ("problem", "problem_body", "refusal")

import json
import math
from typing import TYPE_CHECKING

from starlette.responses import Response

from compass_agent.errors.told import PROBLEM_TYPE, problem_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from http import HTTPStatus

    from compass_agent.errors.codes import OperationError
    from compass_agent.services.requests import Issue


def problem(error: OperationError) -> Response:
    """Return the answer for a failed operation."""
    headers: dict[str, str] = {}
    if error.retry_after_s is not None:
        headers["Retry-After"] = str(math.ceil(error.retry_after_s))
    return Response(problem_body(error), error.http_status, headers, media_type=PROBLEM_TYPE)


def problem_body(error: OperationError) -> str:
    """Return the object for a failed operation, as one line of JSON."""
    return json.dumps(problem_json(error))


def refusal(
    status: HTTPStatus,
    message: str,
    *,
    issues: Iterable[Issue] = (),
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Return the answer for a request that no operation was called for.

    Args:
        status: Why.
        message: What was wrong, for a person; our own words.
        issues: Where, for a request that cannot be read.
        headers: More headers.
    """
    body: dict[str, object] = {
        "type": "about:blank",
        "title": status.phrase,
        "status": status.value,
        "detail": message,
        "error": message,
    }
    told = [{"path": issue.path, "message": issue.message} for issue in issues]
    if told:
        body["issues"] = told
    return Response(json.dumps(body), status.value, headers, media_type=PROBLEM_TYPE)
