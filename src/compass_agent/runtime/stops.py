"""Tells a stop on purpose from a failure, by the exception that leaves the host's block."""

from __future__ import annotations

__all__ = ("is_clean_exit", "is_own_deadline", "is_stop")

import asyncio
from traceback import walk_tb

from compass_agent.errors.groups import is_group

_STOPS = (asyncio.CancelledError, KeyboardInterrupt, GeneratorExit)


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


def is_own_deadline(error: BaseException, session: object) -> bool:
    """Tell whether `error` is of a deadline that the host set around its own work on `session`.

    Such a TimeoutError was made of a cancellation that went through a frame that holds the session.
    Through none goes that of a deadline which a library, or a tool, set for itself. A group is one
    when all that it holds is, cancellations apart.
    """
    if is_group(error):
        failed = [one for one in error.exceptions if not is_stop(one)]
        return bool(failed) and all(is_own_deadline(one, session) for one in failed)
    if type(error) not in (TimeoutError, asyncio.TimeoutError):
        return False
    stop = error.__cause__ or error.__context__
    if stop is None or not is_stop(stop):
        return False
    frames = (frame for frame, _ in walk_tb(stop.__traceback__))
    return any(held is session for frame in frames for held in frame.f_locals.values())


def is_clean_exit(error: BaseException) -> bool:
    """Tell whether `error` is a `sys.exit` that reports success."""
    return isinstance(error, SystemExit) and error.code in (None, 0)
