"""Inner events: what an agent does, as frozen classes, and their decoding from canonical JSON.

`decode(value)` turns the canonical JSON object of the pi and oh-my-pi agents into a class; it takes
any value and never raises.
"""

from __future__ import annotations

__all__ = (
    "AgentExited",
    "Failure",
    "Ignored",
    "InnerEvent",
    "MessageEnded",
    "MessageFailed",
    "MessageStarted",
    "Noticed",
    "PlanChanged",
    "PlanEntry",
    "RetryEnded",
    "RetryScheduled",
    "RunEnded",
    "RunStarted",
    "TextDelta",
    "ThinkingDelta",
    "ToolEnded",
    "ToolStarted",
    "ToolUpdated",
    "TurnEnded",
    "Unknown",
    "decode",
    "readable_text",
)

from compass_agent.events.classes import (
    AgentExited,
    Failure,
    Ignored,
    InnerEvent,
    MessageEnded,
    MessageFailed,
    MessageStarted,
    Noticed,
    PlanChanged,
    PlanEntry,
    RetryEnded,
    RetryScheduled,
    RunEnded,
    RunStarted,
    TextDelta,
    ThinkingDelta,
    ToolEnded,
    ToolStarted,
    ToolUpdated,
    TurnEnded,
    Unknown,
)
from compass_agent.events.decode import decode
from compass_agent.events.readable import readable_text
