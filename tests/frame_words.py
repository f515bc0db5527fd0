"""Short names of what frames hold, and the texts of the sessions that people are shown."""

from __future__ import annotations

__all__ = (
    "ABORTED",
    "COMPLETED",
    "ERROR",
    "ERRORED",
    "FAILED",
    "FIXED",
    "LIMIT",
    "READY",
    "STEER",
    "STOPPED",
    "TEST",
    "WORKING",
)

from compass_agent.frames import (
    AgentSessionState,
    AgentToolCallStatus,
    SessionErrorKind,
    SessionInjectionKind,
)

WORKING = AgentSessionState.AGENT_SESSION_STATE_WORKING
READY = AgentSessionState.AGENT_SESSION_STATE_READY
ERRORED = AgentSessionState.AGENT_SESSION_STATE_ERRORED
STOPPED = AgentSessionState.AGENT_SESSION_STATE_STOPPED
COMPLETED = AgentToolCallStatus.AGENT_TOOL_CALL_STATUS_COMPLETED
FAILED = AgentToolCallStatus.AGENT_TOOL_CALL_STATUS_FAILED
ERROR = SessionErrorKind.SESSION_ERROR_KIND_ERROR
ABORTED = SessionErrorKind.SESSION_ERROR_KIND_ABORTED
STEER = SessionInjectionKind.SESSION_INJECTION_KIND_STEER

LIMIT = (
    "This request would exceed your organization's rate limit of 40,000 output tokens per minute."
)

TEST = "import time\n\ndef test_retry():\n    c = Client()\n    time.sleep(3)\n    assert c.get()\n"
"""A file that the agent of these sessions changes to `FIXED`; nobody runs it."""

FIXED = TEST.replace("c = Client()", "clock = FakeClock()\n    c = Client(clock)").replace(
    "time.sleep(3)", "clock.advance(3)"
)
