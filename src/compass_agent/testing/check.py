"""Holds a session log to what writers and readers rely on."""

from __future__ import annotations

__all__ = ("check_log",)

import inspect
from typing import TYPE_CHECKING

import anyio

from compass_agent.errors.codes import OperationError
from compass_agent.testing.log_keeping import PROMISES as KEEPING
from compass_agent.testing.log_reading import PROMISES as READING
from compass_agent.testing.log_writing import PROMISES as WRITING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from compass_agent.log import SessionLog

_SECONDS = 30.0


async def check_log(
    factory: Callable[[], SessionLog] | Callable[[], Awaitable[SessionLog]],
) -> None:
    """Check that the logs of `factory` keep every promise of a session log.

    Each promise is checked on a log of its own, which is closed afterwards. Run it on every event
    loop that the log is meant for. It takes about as long as the log waits before it refuses a
    cursor that is above what is stored (2 seconds), and a little more.

    Args:
        factory: Returns a log that holds no session; plain or async.

    Raises:
        AssertionError: A promise is broken; the text is a sentence that says which, and how.
    """
    for sentence, holds in (*WRITING, *READING, *KEEPING):
        made = factory()
        log = await made if inspect.isawaitable(made) else made
        try:
            await _hold(sentence, holds, log)
        finally:
            with anyio.CancelScope(shield=True):
                await log.aclose()


async def _hold(
    sentence: str, holds: Callable[[SessionLog], Awaitable[None]], log: SessionLog
) -> None:
    try:
        with anyio.fail_after(_SECONDS):
            await holds(log)
    except AssertionError as broken:
        raise AssertionError(f"{sentence}. This log: {broken}") from None
    except OperationError as error:
        raise AssertionError(f"{sentence}. This log raised {error.code.value!r}") from error
    except TimeoutError:
        raise AssertionError(f"{sentence}. This log took over {_SECONDS:g} s") from None
