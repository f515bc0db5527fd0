"""What callers are told of a failed operation, whatever was raised. For those who answer them."""

from __future__ import annotations

__all__ = ("answer_for",)

from contextlib import suppress
from typing import TYPE_CHECKING

from compass_agent.errors.classify import classify_operation_error
from compass_agent.errors.codes import ErrorCode, OperationError
from compass_agent.errors.logged import is_first_time, log_cause

if TYPE_CHECKING:
    from collections.abc import Callable


def answer_for(
    error: Exception, log: Callable[[OperationError], object] | None = None
) -> OperationError:
    """Return what the caller is told, having logged the cause when that is ours to look at.

    Never raises: when telling the code fails by itself, that is `internal`, and both are logged.

    Args:
        error: What the operation raised.
        log: Is handed each new error with its cause, instead of the program's log.
    """
    try:
        known = isinstance(error, OperationError)
        told = error if known else classify_operation_error(error, log=log or log_cause)
        if log is None:
            # What storage raised as such an error already.
            log_cause(told)
    except Exception as failure:  # noqa: BLE001 - without an answer the transport's own text leaks
        told = OperationError(ErrorCode.INTERNAL)
        told.__cause__ = error
        _log_both(error, failure, log or log_cause)
    return told


def _log_both(
    error: Exception, failure: Exception, log: Callable[[OperationError], object]
) -> None:
    """Log a failure to tell a code, with what it was to tell the code of before it."""
    if failure is not error:
        failure.__context__ = error
    both = OperationError(ErrorCode.INTERNAL)
    both.__cause__ = failure
    # A log that fails too has nobody left to tell.
    with suppress(Exception):
        if is_first_time(error):
            log(both)
