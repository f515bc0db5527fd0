"""Exception groups, as task groups raise them."""

from __future__ import annotations

__all__ = ("comes_of", "is_group", "leaves", "of_failures", "only_exception")

from typing import TypeGuard

_MOST_LEAVES = 16


def is_group(error: BaseException) -> TypeGuard[BaseExceptionGroup[BaseException]]:
    """Tell whether `error` is a group of exceptions."""
    return isinstance(error, BaseExceptionGroup)


def leaves(error: BaseException) -> list[BaseException]:
    """Return the exceptions in a group, at any depth; a lone exception is its own leaf."""
    found: list[BaseException] = []
    waiting = [error]
    seen: set[int] = set()
    while waiting and len(found) < _MOST_LEAVES:
        current = waiting.pop(0)
        if id(current) in seen:
            continue
        seen.add(id(current))
        if is_group(current):
            waiting[:0] = current.exceptions
        else:
            found.append(current)
    return found or [error]


def of_failures(found: list[BaseException]) -> list[BaseException]:
    """Return those that are no cancellations, which what failed beside them caused; else all."""
    names = ("Cancelled", "CancelledError")
    return [one for one in found if type(one).__name__ not in names] or found


def comes_of(error: BaseException, first: BaseException | None) -> bool:
    """Tell whether `error` is `first`, holds it, or was raised from it or while it was handled.

    So is what a deadline makes of the cancellation that it caused, and what a caller raises `from`
    the failure that it caught.
    """
    waiting, seen = [error], set[int]()
    while waiting and len(seen) < _MOST_LEAVES:
        current = waiting.pop(0)
        if current is first:
            return True
        if id(current) in seen:
            continue
        seen.add(id(current))
        waiting += current.exceptions if is_group(current) else ()
        hidden = current.__suppress_context__
        before = (current.__cause__, None if hidden else current.__context__)
        waiting += [one for one in before if one is not None]
    return False


def only_exception(error: Exception) -> Exception:
    """Return the one exception that a task group wrapped, or what was raised."""
    while _is_plain_group(error) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error


def _is_plain_group(error: Exception) -> TypeGuard[ExceptionGroup[Exception]]:
    return isinstance(error, ExceptionGroup)
