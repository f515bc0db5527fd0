"""Session frames: the generated messages, how they are built, what kind they are, their place.

The generated `SessionFrame` is the frame everywhere; there is no second form of it.
"""

from __future__ import annotations

__all__ = (
    "AgentPlanEntryStatus",
    "AgentSessionState",
    "AgentToolCallStatus",
    "Cursor",
    "FrameBuilder",
    "InvalidCursorError",
    "SessionError",
    "SessionErrorKind",
    "SessionEvent",
    "SessionFileDiff",
    "SessionFrame",
    "SessionInjectionKind",
    "as_state",
    "check_session_id",
    "event_kind",
    "is_injection",
    "is_lifecycle",
    "is_priority",
    "is_session_error",
    "new_epoch",
    "valid_text",
)

from compass.v1.compass_pb2 import (
    AgentPlanEntryStatus,
    AgentSessionState,
    AgentToolCallStatus,
    SessionError,
    SessionErrorKind,
    SessionEvent,
    SessionFileDiff,
    SessionFrame,
    SessionInjectionKind,
)
from compass_agent.errors.shapes import valid_text
from compass_agent.frames.build import FrameBuilder
from compass_agent.frames.classify import (
    event_kind,
    is_injection,
    is_lifecycle,
    is_priority,
    is_session_error,
)
from compass_agent.frames.cursor import Cursor, InvalidCursorError
from compass_agent.frames.enums import as_state
from compass_agent.frames.ids import check_session_id, new_epoch
