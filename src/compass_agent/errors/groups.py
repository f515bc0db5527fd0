"""Exception groups, as task groups raise them."""

from __future__ import annotations

__all__ = ("is_group", "only_exception")

from typing import TypeGuard


def is_group(error: BaseException) -> TypeGuard[BaseExceptionGroup[BaseException]]:
    """Tell whether `error` is a group of exceptions."""
    return isinstance(error, BaseExceptionGroup)


def only_exception(error: Exception) -> Exception:
    """Return the one exception that a task group wrapped, or what was raised."""
    while _is_plain_group(error) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error


def _is_plain_group(error: Exception) -> TypeGuard[ExceptionGroup[Exception]]:
    return isinstance(error, ExceptionGroup)
