"""Closes what a library gave. That it cannot be closed is no failure of the work."""

from __future__ import annotations

__all__ = ("close_quietly", "leave_quietly")

import logging
from contextlib import suppress
from inspect import isawaitable
from typing import TYPE_CHECKING, Any

from compass_agent.errors.foreign import attribute

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

_logger = logging.getLogger("compass_agent")


async def close_quietly(stream: object, *names: str) -> None:
    """Close `stream` by the first of these methods that it has, whether it is awaited or not."""
    close = next((found for name in names if (found := attribute(stream, name))), None)
    if not callable(close):
        return
    try:
        closing: object = close()
        if isawaitable(closing):
            await closing
    except Exception as error:  # noqa: BLE001 - nothing that closing raises may hide how it ended
        _complain(error)


async def leave_quietly(
    entered: AbstractAsyncContextManager[Any, Any], error: BaseException | None
) -> None:
    """Leave what was entered; `error`: what was raised within, which is not hidden by it."""
    trace = None if error is None else error.__traceback__
    try:
        await entered.__aexit__(type(error) if error is not None else None, error, trace)
    except Exception as raised:  # noqa: BLE001 - as above
        if raised is not error:
            _complain(raised)


def _complain(error: Exception) -> None:
    # Its class alone: what a library says may hold secrets.
    with suppress(Exception):
        _logger.debug("a stream could not be closed: %s", type(error).__name__)
