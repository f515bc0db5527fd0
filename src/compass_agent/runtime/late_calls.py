"""What gRPC tells of a call whose event loop is closed is nothing to tell anybody."""

from __future__ import annotations

__all__ = ("expect_late_calls",)

import asyncio
from typing import Any


def expect_late_calls() -> None:
    """Have the running loop pass over the ends of calls that another loop left behind.

    gRPC has one queue for all loops of a process, and a cancelled call ends there some time after
    its loop may have been closed. Whichever loop is at the queue then logs that as a failure of
    its own, with a stack trace, although nothing is lost by it. Everything else is logged as usual.
    """
    asyncio.get_running_loop().set_exception_handler(_tell)


def _tell(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    at_the_queue = "PollerCompletionQueue" in str(context.get("message"))
    if not (at_the_queue and isinstance(context.get("exception"), RuntimeError)):
        loop.default_exception_handler(context)
