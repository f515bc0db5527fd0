"""What gRPC tells of a call whose event loop is closed is nothing to tell anybody."""

from __future__ import annotations

__all__ = ("expect_late_calls", "is_late_call")

import asyncio
from typing import Any


def expect_late_calls() -> None:
    """Have the running loop pass over the ends of calls that another loop left behind.

    gRPC has one queue for all loops of a process, and a cancelled call ends there some time after
    its loop may have been closed. Whichever loop is at the queue then logs that as a failure of
    its own, with a stack trace, although nothing is lost by it. Everything else is logged as usual.
    """
    asyncio.get_running_loop().set_exception_handler(_tell)


def is_late_call(context: dict[str, Any]) -> bool:
    """Tell whether what a loop's exception handler is told is the end of such a call."""
    at_the_queue = "PollerCompletionQueue" in str(context.get("message"))
    return at_the_queue and isinstance(context.get("exception"), RuntimeError)


def _tell(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    if not is_late_call(context):
        loop.default_exception_handler(context)
