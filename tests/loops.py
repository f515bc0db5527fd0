"""The asyncio loop that tests run on, for what gRPC does to one loop on behalf of another."""

from __future__ import annotations

__all__ = ("ASYNCIO", "HostLoop")

import asyncio
from typing import Any

from compass_agent.runtime.late_calls import is_late_call


class HostLoop(asyncio.SelectorEventLoop):
    """Passes over the ends of gRPC calls that the loop of an earlier test left behind.

    A cancelled call ends some time after its test, and gRPC has the loop of whatever test runs by
    then log that. The thread of a session does the same, see `runtime.late_calls`.
    """

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        if not is_late_call(context):
            super().call_exception_handler(context)


# What anyio's plugin takes as a backend.
ASYNCIO = ("asyncio", {"debug": True, "loop_factory": HostLoop})
