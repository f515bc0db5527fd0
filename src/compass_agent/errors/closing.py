"""Closes what a library gave. That it cannot be closed is no failure of the work."""

from __future__ import annotations

__all__ = ("close_quietly", "leave_quietly")

import logging
import sys
from contextlib import suppress
from inspect import isawaitable
from typing import TYPE_CHECKING, Any

from compass_agent.errors.foreign import attribute
from compass_agent.errors.groups import leaves

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

_logger = logging.getLogger("compass_agent")


async def close_quietly(stream: object, *names: str) -> None:
    """Close `stream` by the first of these methods that it has, whether it is awaited or not."""
    close = next((found for name in names if (found := attribute(stream, name))), None)
    if not callable(close):
        return
    before = _cancelling()
    try:
        closing: object = close()
        if isawaitable(closing):
            await closing
    except Exception as error:  # noqa: BLE001 - nothing that closing raises may hide how it ended
        _complain(error)
    except BaseException as error:
        if not _is_of_another(error, before):
            raise
        _complain(error)


async def leave_quietly(
    entered: AbstractAsyncContextManager[Any, Any], error: BaseException | None
) -> None:
    """Leave what was entered; `error`: what was raised within, which is not hidden by it."""
    trace = None if error is None else error.__traceback__
    before = _cancelling()
    try:
        await entered.__aexit__(type(error) if error is not None else None, error, trace)
    except Exception as raised:  # noqa: BLE001 - as above
        if raised is not error:
            _complain(raised)
    except BaseException as raised:
        if raised is not error and not _is_of_another(raised, before):
            raise


def _cancelling() -> int | None:
    """Return how often the task that runs was cancelled; None: not asyncio's."""
    # Whose task runs has loaded it; nothing here does.
    asyncio: Any = sys.modules.get("asyncio")
    if asyncio is None:
        return None
    with suppress(RuntimeError):
        task = asyncio.current_task()
        return None if task is None else int(task.cancelling())
    return None


def _is_of_another(error: BaseException, before: int | None) -> bool:
    """Tell whether `error` is the cancellation of a task that closing waited for, not of its own.

    Such a one is what is left of a stream that stops its own reader.
    """
    if before is None or _cancelling() != before:
        return False
    return all(type(one).__name__ == "CancelledError" for one in leaves(error))


def _complain(error: BaseException) -> None:
    # Its class alone: what a library says may hold secrets.
    with suppress(Exception):
        _logger.debug("a stream could not be closed: %s", type(error).__name__)
