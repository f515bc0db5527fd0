"""Short readings of frames for assertions."""

from __future__ import annotations

__all__ = ("described", "errors_of", "frames_of", "states_of", "updates_of")

from typing import TYPE_CHECKING

from compass_agent.frames import (
    AgentPlanEntryStatus,
    AgentSessionState,
    AgentToolCallStatus,
    SessionError,
    SessionErrorKind,
    SessionFrame,
    SessionInjectionKind,
)

if TYPE_CHECKING:
    from collections.abc import Iterable


def frames_of(mapped: Iterable[object]) -> list[SessionFrame]:
    """Return the frames; fail on anything else."""
    frames = [item for item in mapped if isinstance(item, SessionFrame)]
    assert len(frames) == len([*mapped])
    return frames


def described(mapped: Iterable[object]) -> list[str]:
    """Return one line a frame, such as `state WORKING` or `text 1 hello`."""
    return [_describe(item) for item in mapped]


def _describe(item: object) -> str:
    if not isinstance(item, SessionFrame):
        return f"unmapped {item}"
    if not item.HasField("typed_event"):
        return f"state {_short(AgentSessionState.Name(item.state), 'AGENT_SESSION_STATE_')}"
    event = item.typed_event
    match event.WhichOneof("event"):
        case "assistant_text":
            return f"text {event.assistant_text.message_id} {event.assistant_text.text}"
        case "thinking":
            return f"thinking {event.thinking.message_id} {event.thinking.text}"
        case "prompt":
            return f"prompt {event.prompt.message_id} {event.prompt.text}"
        case "tool_call":
            call = event.tool_call
            return f"tool {call.tool_call_id} {_tool(call.status)} {call.title}"
        case "tool_call_update":
            update = event.tool_call_update
            return f"update {update.tool_call_id} {_tool(update.status)} {update.output}".rstrip()
        case "plan":
            return "plan " + ", ".join(
                f"{_short(AgentPlanEntryStatus.Name(entry.status), 'AGENT_PLAN_ENTRY_STATUS_')} "
                f"{entry.content}"
                for entry in event.plan.entries
            )
        case "notice":
            return f"notice {event.notice.text}"
        case "session_injection":
            kind = SessionInjectionKind.Name(event.session_injection.op_kind)
            return f"injection {_short(kind, 'SESSION_INJECTION_KIND_')}"
        case "session_error":
            return _describe_error(event.session_error)
        case None:
            return "empty"


def _describe_error(error: SessionError) -> str:
    status = error.status if error.HasField("status") else "-"
    kind = _short(SessionErrorKind.Name(error.kind), "SESSION_ERROR_KIND_")
    return f"{kind} {status} {error.message}".rstrip()


def _short(name: str, prefix: str) -> str:
    return name.removeprefix(prefix)


def _tool(status: AgentToolCallStatus.ValueType) -> str:
    return _short(AgentToolCallStatus.Name(status), "AGENT_TOOL_CALL_STATUS_")


def errors_of(frames: Iterable[SessionFrame]) -> list[SessionError]:
    """Return the contents of failures and stops."""
    return [
        frame.typed_event.session_error
        for frame in frames
        if frame.typed_event.HasField("session_error")
    ]


def states_of(frames: Iterable[SessionFrame]) -> list[str]:
    """Return the transitions by name."""
    return [
        _short(AgentSessionState.Name(frame.state), "AGENT_SESSION_STATE_")
        for frame in frames
        if frame.state
    ]


def updates_of(frames: Iterable[SessionFrame]) -> list[str]:
    """Return `ID STATUS` of tool call updates."""
    return [
        f"{frame.typed_event.tool_call_update.tool_call_id} "
        f"{_tool(frame.typed_event.tool_call_update.status)}"
        for frame in frames
        if frame.typed_event.HasField("tool_call_update")
    ]
