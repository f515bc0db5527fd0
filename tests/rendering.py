"""Renders frames as a tail does, for assertions."""

from __future__ import annotations

__all__ = (
    "ABORTED",
    "AT_MS",
    "CLOCK",
    "COMPLETED",
    "EPOCH",
    "ERROR",
    "ERRORED",
    "FAILED",
    "RUNNING",
    "STOPPED",
    "WORKING",
    "build",
    "placed",
    "rendered",
)

import time
from typing import TYPE_CHECKING

from compass_agent.frames import (
    AgentSessionState,
    AgentToolCallStatus,
    FrameBuilder,
    SessionErrorKind,
    SessionFrame,
)
from compass_agent.view.style import Style
from compass_agent.view.text import TextRenderer, Thinking
from compass_agent.wire import (
    FrameItem,
)

if TYPE_CHECKING:
    from compass_agent.wire import Item

EPOCH = "0123456789abcdef"
AT_MS = 1_700_000_000_000
CLOCK = time.strftime("%H:%M:%S", time.localtime(AT_MS / 1000))
RUNNING = AgentToolCallStatus.AGENT_TOOL_CALL_STATUS_IN_PROGRESS
COMPLETED = AgentToolCallStatus.AGENT_TOOL_CALL_STATUS_COMPLETED
FAILED = AgentToolCallStatus.AGENT_TOOL_CALL_STATUS_FAILED
WORKING = AgentSessionState.AGENT_SESSION_STATE_WORKING
ERRORED = AgentSessionState.AGENT_SESSION_STATE_ERRORED
STOPPED = AgentSessionState.AGENT_SESSION_STATE_STOPPED
ERROR = SessionErrorKind.SESSION_ERROR_KIND_ERROR
ABORTED = SessionErrorKind.SESSION_ERROR_KIND_ABORTED

build = FrameBuilder(lambda: AT_MS)


def placed(*frames: SessionFrame) -> list[Item]:
    return [FrameItem(EPOCH, seq, frame.SerializeToString()) for seq, frame in enumerate(frames, 1)]


def rendered(
    *items: Item, style: Style | None = None, width: int | None = None, full: bool = False
) -> str:
    renderer = TextRenderer(
        style or Style(), width=width, thinking=Thinking.FULL if full else Thinking.SHORT
    )
    return renderer.render(items) + renderer.finish()
