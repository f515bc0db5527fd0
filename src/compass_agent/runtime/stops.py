"""Tells a stop on purpose from a failure, by the exception that leaves the host's block."""

from __future__ import annotations

__all__ = ("is_clean_exit", "is_stop")

from asyncio import CancelledError

from compass_agent.errors.groups import is_group

_STOPS = (CancelledError, KeyboardInterrupt, GeneratorExit)


def is_stop(error: BaseException) -> bool:
    """Tell whether `error` is a cancellation or an interrupt: nobody failed.

    A group is one when all that it holds is. A TimeoutError is not: nobody asked for it.
    """
    if is_group(error):
        return all(is_stop(part) for part in error.exceptions)
    # trio's class is told by its name, so that trio need not be installed.
    kind = type(error)
    is_trio = kind.__name__ == "Cancelled" and str(kind.__module__).split(".", 1)[0] == "trio"
    return isinstance(error, _STOPS) or is_trio


def is_clean_exit(error: BaseException) -> bool:
    """Tell whether `error` is a `sys.exit` that reports success."""
    return isinstance(error, SystemExit) and error.code in (None, 0)
