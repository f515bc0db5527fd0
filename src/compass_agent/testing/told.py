"""Looks at the frames of one run, one after the other, for what must not be."""

from __future__ import annotations

__all__ = ("Told",)

from typing import TYPE_CHECKING, TypeAlias

from compass_agent.frames import AgentSessionState, AgentToolCallStatus, SessionErrorKind

if TYPE_CHECKING:
    from compass_agent.frames import SessionError, SessionEvent, SessionFrame

_Broken: TypeAlias = tuple[str, str] | None

_WORKING = AgentSessionState.AGENT_SESSION_STATE_WORKING
_ERROR = SessionErrorKind.SESSION_ERROR_KIND_ERROR
_OVER = (
    AgentToolCallStatus.AGENT_TOOL_CALL_STATUS_COMPLETED,
    AgentToolCallStatus.AGENT_TOOL_CALL_STATUS_FAILED,
    AgentToolCallStatus.AGENT_TOOL_CALL_STATUS_INTERRUPTED,
)
_ENDS = (
    AgentSessionState.AGENT_SESSION_STATE_READY,
    AgentSessionState.AGENT_SESSION_STATE_STOPPED,
)
_LARGEST_MESSAGE = 8_192
_WRAPPINGS = ("{", "[{", "<", "Traceback ")


class Told:
    """What was told so far.

    Attributes:
        errors: How many failures.
    """

    def __init__(self) -> None:
        self.errors = 0
        self._state: AgentSessionState.ValueType = AgentSessionState.AGENT_SESSION_STATE_UNSPECIFIED
        self._open: dict[str, int] = {}
        self._over = ""
        self._stopped = False

    @property
    def open_tools(self) -> list[str]:
        """The calls that began and have not ended."""
        return list(self._open)

    def take(self, frame: SessionFrame) -> _Broken:
        """Take the next frame; return what is broken by it, as a promise and a how."""
        if frame.state:
            return self._transition(frame.state)
        return self._event(frame.typed_event)

    def end(self) -> _Broken:
        """Return what is broken when nothing comes after what was taken."""
        if self._state == _WORKING and not self._over:
            return "A stream that ended is over", "it leaves its session at work"
        if self._open:
            return "Every tool call ends before its run", f"open: {', '.join(self._open)}"
        return None

    def _transition(self, state: AgentSessionState.ValueType) -> _Broken:
        self._state = state
        if state == _WORKING:
            self._over, self._stopped = "", False
        if state in _ENDS and self._open:
            return "Every tool call ends before its run", f"open: {', '.join(self._open)}"
        return None

    def _event(self, event: SessionEvent) -> _Broken:
        match event.WhichOneof("event"):
            case "tool_call":
                call = event.tool_call.tool_call_id
                self._open[call] = self._open.get(call, 0) + 1
            case "tool_call_update":
                return self._updated(
                    event.tool_call_update.tool_call_id, event.tool_call_update.status
                )
            case "session_error":
                return self._failed(event.session_error)
            case "assistant_text" | "thinking":
                if self._over and not self._stopped:
                    return "Words come before the end of their turn", f"after {self._over!r}"
                if self._state in _ENDS:
                    return "Words come before the end of their turn", "after the end of its run"
            case _:
                pass
        return None

    def _updated(self, call: str, status: AgentToolCallStatus.ValueType) -> _Broken:
        if call not in self._open:
            return "A tool call has a start, and one end", f"an update of {call!r} is outside them"
        if status in _OVER:
            self._open[call] -= 1
            if not self._open[call]:
                del self._open[call]
        return None

    def _failed(self, error: SessionError) -> _Broken:
        stopped, self._stopped = self._stopped, error.kind != _ERROR
        before, self._over = self._over, error.message or "a failure"
        if self._open:
            return "Every tool call ends before its run", f"open: {', '.join(self._open)}"
        if self._stopped:
            return None
        self.errors += 1
        if stopped:
            return "A stop is told as a stop", f"a failure after it: {error.message!r}"
        if not error.message.strip():
            return "A failure says why", "its message is empty"
        if before:
            again = "twice" if before == error.message else f"{error.message!r} after"
            return "A failure is told once", f"{again}: {before!r}"
        size = len(error.message.encode())
        if size > _LARGEST_MESSAGE or error.message.startswith(_WRAPPINGS):
            return "A failure is a text for a person", f"{size} bytes: {error.message[:80]!r}"
        return None
