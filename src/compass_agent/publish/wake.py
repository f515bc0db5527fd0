"""Wakes a task of an event loop from any thread, without waiting."""

from __future__ import annotations

__all__ = ("waker_of",)

import contextlib
from typing import TYPE_CHECKING, Any

from anyio.lowlevel import current_token

if TYPE_CHECKING:
    from collections.abc import Callable

    import anyio


def waker_of(event: anyio.Event) -> Callable[[], None]:
    """Return a function that sets `event` in the loop that is running now.

    It may be called from any thread, from a signal handler, and after the loop has closed (then it
    does nothing). anyio has no such call that does not wait, so each loop's own is used.
    """
    loop: Any = current_token().native_token
    on_asyncio = hasattr(loop, "call_soon_threadsafe")
    schedule = loop.call_soon_threadsafe if on_asyncio else loop.run_sync_soon

    def wake() -> None:
        with contextlib.suppress(RuntimeError):
            schedule(event.set)

    return wake
