"""Builds frames: event ids and times are stamped in one place."""

from __future__ import annotations

__all__ = ("FrameBuilder",)

from typing import TYPE_CHECKING

from compass.v1.compass_pb2 import AgentToolCallStatus, SessionEvent, SessionFrame
from compass_agent.errors.shapes import valid_text
from compass_agent.frames.pieces import PieceEncoder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from compass.v1.compass_pb2 import (
        AgentPlanEntryStatus,
        AgentSessionState,
        SessionErrorKind,
        SessionFileDiff,
        SessionInjectionKind,
    )


class FrameBuilder:
    """Builds the frames of one epoch; event ids count "1", "2", … over all of its events.

    Args:
        now: Gives the time in milliseconds since 1970-01-01 UTC.
    """

    __slots__ = ("_answer", "_count", "_now", "_reasoning")

    def __init__(self, now: Callable[[], int]) -> None:
        self._now = now
        self._count = 0
        self._answer = PieceEncoder("assistant_text")
        self._reasoning = PieceEncoder("thinking")

    def _stamp(self) -> tuple[SessionFrame, SessionEvent]:
        frame = SessionFrame()
        event = frame.typed_event
        self._count = count = self._count + 1
        event.event_id = str(count)
        event.at_unix_ms = self._now()
        return frame, event

    def assistant_text(self, text: str, message_id: str) -> SessionFrame:
        """A piece of the answer."""
        frame, event = self._stamp()
        part = event.assistant_text
        part.message_id = message_id
        part.text = valid_text(text)
        return frame

    def encoded_assistant_text(self, text: str, message_id: str) -> bytes:
        """The bytes of `assistant_text`, for a text of at most `SHORT_CHARS` characters."""
        self._count = count = self._count + 1
        return self._answer.encode(count, self._now(), text, message_id)

    def thinking(self, text: str, message_id: str) -> SessionFrame:
        """A piece of reasoning."""
        frame, event = self._stamp()
        part = event.thinking
        part.message_id = message_id
        part.text = valid_text(text)
        return frame

    def encoded_thinking(self, text: str, message_id: str) -> bytes:
        """The bytes of `thinking`, for a text of at most `SHORT_CHARS` characters."""
        self._count = count = self._count + 1
        return self._reasoning.encode(count, self._now(), text, message_id)

    def prompt(self, text: str, message_id: str) -> SessionFrame:
        """What the user asked."""
        frame, event = self._stamp()
        event.prompt.text = valid_text(text)
        event.prompt.message_id = message_id
        return frame

    def tool_call(self, tool_call_id: str, title: str) -> SessionFrame:
        """A tool call that began."""
        frame, event = self._stamp()
        call = event.tool_call
        call.tool_call_id = valid_text(tool_call_id)
        call.title = valid_text(title)
        call.status = AgentToolCallStatus.AGENT_TOOL_CALL_STATUS_IN_PROGRESS
        return frame

    def tool_call_update(
        self,
        tool_call_id: str,
        status: AgentToolCallStatus.ValueType,
        output: str = "",
        diffs: Iterable[SessionFileDiff] = (),
        full_output_chars: int | None = None,
    ) -> SessionFrame:
        """A tool call that goes on or ended; `full_output_chars` only when `output` was cut."""
        frame, event = self._stamp()
        update = event.tool_call_update
        update.tool_call_id = valid_text(tool_call_id)
        update.status = status
        update.output = valid_text(output)
        update.diffs.extend(diffs)
        if full_output_chars is not None:
            update.full_output_chars = full_output_chars
        return frame

    def plan(self, entries: Iterable[tuple[str, AgentPlanEntryStatus.ValueType]]) -> SessionFrame:
        """The whole plan, as pairs of content and status."""
        frame, event = self._stamp()
        event.plan.SetInParent()
        for content, status in entries:
            event.plan.entries.add(content=valid_text(content), status=status)
        return frame

    def notice(self, text: str, link: str | None = None) -> SessionFrame:
        """A line of information."""
        frame, event = self._stamp()
        event.notice.text = valid_text(text)
        if link is not None:
            event.notice.link = valid_text(link)
        return frame

    def session_injection(
        self,
        kind: SessionInjectionKind.ValueType,
        message_id: str,
        from_handle: str,
        traceparent: str = "",
    ) -> SessionFrame:
        """The observation that a message was put into the running agent."""
        frame, event = self._stamp()
        injection = event.session_injection
        injection.op_kind = kind
        injection.message_id = valid_text(message_id)
        injection.from_handle = valid_text(from_handle)
        injection.traceparent = valid_text(traceparent)
        return frame

    def session_error(
        self,
        kind: SessionErrorKind.ValueType,
        message: str,
        *,
        status: int | None = None,
        retry_after_ms: int | None = None,
        code: str = "",
        request_id: str = "",
        stopped_by: str = "",
    ) -> SessionFrame:
        """The content of a turn that failed or was stopped; absent facts stay absent."""
        frame, event = self._stamp()
        error = event.session_error
        error.kind = kind
        error.message = valid_text(message)
        error.code = valid_text(code)
        error.request_id = valid_text(request_id)
        error.stopped_by = valid_text(stopped_by)
        if status is not None:
            error.status = status
        if retry_after_ms is not None:
            error.retry_after_ms = retry_after_ms
        return frame

    @staticmethod
    def lifecycle(state: AgentSessionState.ValueType) -> SessionFrame:
        """A transition: a state and no event."""
        return SessionFrame(state=state)
