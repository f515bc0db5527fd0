"""Names for numbers: states, tool and step statuses. A number that nobody knows stays visible."""

from __future__ import annotations

__all__ = (
    "DISCONNECTED",
    "ERRORED",
    "SETTLED",
    "STARTING",
    "WORKING",
    "duration",
    "state_word",
    "step_status",
    "tool_status",
)

from compass_agent.frames import (
    AgentPlanEntryStatus,
    AgentSessionState,
    AgentToolCallStatus,
    as_state,
)
from compass_agent.view.entries import StepStatus, ToolStatus

ERRORED = int(AgentSessionState.AGENT_SESSION_STATE_ERRORED)
STARTING = int(AgentSessionState.AGENT_SESSION_STATE_STARTING)
WORKING = int(AgentSessionState.AGENT_SESSION_STATE_WORKING)
SETTLED = frozenset[int](
    {
        AgentSessionState.AGENT_SESSION_STATE_STARTING,
        AgentSessionState.AGENT_SESSION_STATE_READY,
        AgentSessionState.AGENT_SESSION_STATE_STOPPED,
    }
)
DISCONNECTED = int(AgentSessionState.AGENT_SESSION_STATE_DISCONNECTED)

_STATE_PREFIX = "AGENT_SESSION_STATE_"
_TOOL_STATUSES: dict[int, ToolStatus] = {
    AgentToolCallStatus.AGENT_TOOL_CALL_STATUS_PENDING: ToolStatus.PENDING,
    AgentToolCallStatus.AGENT_TOOL_CALL_STATUS_IN_PROGRESS: ToolStatus.RUNNING,
    AgentToolCallStatus.AGENT_TOOL_CALL_STATUS_COMPLETED: ToolStatus.COMPLETED,
    AgentToolCallStatus.AGENT_TOOL_CALL_STATUS_FAILED: ToolStatus.FAILED,
    AgentToolCallStatus.AGENT_TOOL_CALL_STATUS_INTERRUPTED: ToolStatus.INTERRUPTED,
}
_STEP_STATUSES: dict[int, StepStatus] = {
    AgentPlanEntryStatus.AGENT_PLAN_ENTRY_STATUS_PENDING: StepStatus.PENDING,
    AgentPlanEntryStatus.AGENT_PLAN_ENTRY_STATUS_IN_PROGRESS: StepStatus.ACTIVE,
    AgentPlanEntryStatus.AGENT_PLAN_ENTRY_STATUS_COMPLETED: StepStatus.DONE,
}


def state_word(number: int) -> str:
    """Return the state's name without its prefix, such as `WORKING`; `UNKNOWN (9)` for others."""
    try:
        name = AgentSessionState.Name(as_state(number))
    except ValueError:
        return f"UNKNOWN ({number})"
    return name.removeprefix(_STATE_PREFIX)


def tool_status(number: int) -> ToolStatus:
    """Return the status of a tool call; UNKNOWN for a number that is not known."""
    return _TOOL_STATUSES.get(number, ToolStatus.UNKNOWN)


def step_status(number: int) -> StepStatus:
    """Return the status of a plan's step; UNKNOWN for a number that is not known."""
    return _STEP_STATUSES.get(number, StepStatus.UNKNOWN)


def duration(milliseconds: int) -> str:
    """Return a span of time as a person says it: `150 ms`, `12.3 s`, `3 min 5 s`, `2 h 4 min`."""
    if milliseconds < 1000:  # noqa: PLR2004 - a second
        return f"{milliseconds} ms"
    seconds, rest = divmod(milliseconds, 1000)
    if seconds < 60:  # noqa: PLR2004 - a minute
        return f"{seconds}.{rest // 100} s" if rest >= 100 else f"{seconds} s"  # noqa: PLR2004 - a tenth
    minutes, seconds = divmod(seconds, 60)
    if minutes < 60:  # noqa: PLR2004 - an hour
        return f"{minutes} min {seconds} s" if seconds else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"
