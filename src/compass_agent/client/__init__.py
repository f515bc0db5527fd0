"""Tail a session at a hub, as whoever writes a subscriber in plain Python does.

::

    async for item in tail("unix:", "fix-1"):
        match item:
            case Frame(kind="session_error"):
                print(item.content.message)

Needs the extra `subscriber`, and asyncio. `compass_agent.view.fold` takes the items as they are.
"""

from __future__ import annotations

__all__ = (
    "CaughtUp",
    "Cursor",
    "End",
    "Frame",
    "Gap",
    "GapReason",
    "Link",
    "LinkStatus",
    "Reset",
    "ResetReason",
    "StateSignal",
    "Tail",
    "TailError",
    "TailItem",
    "tail",
)

try:
    from compass_agent.client.failures import TailError
    from compass_agent.client.items import Frame, TailItem
    from compass_agent.client.link import Link, LinkStatus
    from compass_agent.client.tail import Tail, tail
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"no module {error.name}: install compass-agent[subscriber]", name=error.name
    ) from error
from compass_agent.frames import Cursor
from compass_agent.wire import CaughtUp, End, Gap, GapReason, Reset, ResetReason, StateSignal
