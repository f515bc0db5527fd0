"""What the mapper knows of one session, and the few steps by which it changes."""

from __future__ import annotations

__all__ = ("Frames", "MappingState")

from typing import TYPE_CHECKING, TypeAlias

from compass_agent.frames import (
    AgentSessionState,
    AgentToolCallStatus,
    FrameBuilder,
    SessionError,
    SessionErrorKind,
    SessionFrame,
)
from compass_agent.mapping.told import ToldFailures, without_secrets
from compass_agent.mapping.tools import OpenTools

if TYPE_CHECKING:
    from collections.abc import Callable

    from compass_agent.events import Failure

Frames: TypeAlias = list[SessionFrame]

_AT_WORK = frozenset(
    {
        AgentSessionState.AGENT_SESSION_STATE_STARTING,
        AgentSessionState.AGENT_SESSION_STATE_WORKING,
    }
)


class MappingState:
    """State of one session and epoch.

    Attributes:
        build: Builds and stamps frames.
        told: Failures that were told since the current work began.
        tools: Tool calls that are open.
        message_id: The current message's; "0" before the first.
        lifecycle_state: The state that was emitted last.
        failed: The current work failed: ERRORED stays until work starts again.
        over: The current work failed or was stopped, and none has started since.
        last_error: The last SessionError of the current work, by the rule of the log and its
            readers: WORKING clears it, and work that ends as ERRORED without a reason of its own
            (a retry that is given up) has the reason before it again.
        stopped_by: Not empty: the runtime was asked to stop, and by whom.
        stops_for_good: It was asked to stop the agent, not only the current work.
        stop_told: A stop of the current work was told.
        stop_missed: The work was over before the stop that was asked for.
        run_open: A run began and has not ended.
        assistant_seen: The run has had an assistant message.
        message_open: An assistant message began and has not ended.
        message_told: The current message's failure was told.
        message_has_content: The current message brought a delta.
        last_message_failed: The last assistant message failed, and that was told.
        turn_settled: The turn's assistant message ended, so its failure, if any, was told.
        retrying: A retry was announced and its chain is not over.
    """

    def __init__(self, now: Callable[[], int]) -> None:
        self.build = FrameBuilder(now)
        self.told = ToldFailures()
        self.tools = OpenTools()
        self.message_id = "0"
        self.lifecycle_state: AgentSessionState.ValueType = (
            AgentSessionState.AGENT_SESSION_STATE_UNSPECIFIED
        )
        self.failed = False
        self.over = False
        self.last_error: SessionError | None = None
        self._error_before: SessionError | None = None
        self.stopped_by = ""
        self.stops_for_good = False
        self.stop_told = False
        self.stop_missed = False
        self.run_open = False
        self.assistant_seen = False
        self.message_open = False
        self.message_told = False
        self.message_has_content = False
        self.last_message_failed = False
        self.turn_settled = False
        self.retrying = False
        self._messages = 0

    def next_message(self) -> None:
        """Give the message that begins its id."""
        self._messages += 1
        self.message_id = str(self._messages)
        self.message_told = False
        self.message_has_content = False

    def to(self, state: AgentSessionState.ValueType) -> Frames:
        """Return the transition to `state`: a frame when the state changes, else nothing.

        Nothing runs on in a session that has stopped: its open tool calls get their last update.
        """
        stopped = state == AgentSessionState.AGENT_SESSION_STATE_STOPPED
        frames = self.close_tools(aborted=True) if stopped else []
        if state == self.lifecycle_state:
            return frames
        self._enter(state)
        return [*frames, self.build.lifecycle(state)]

    def _enter(self, state: AgentSessionState.ValueType) -> None:
        self.lifecycle_state = state
        if state in _AT_WORK:
            self.last_error, self._error_before = None, self.last_error or self._error_before
        elif state == AgentSessionState.AGENT_SESSION_STATE_ERRORED:
            self.last_error, self._error_before = self.last_error or self._error_before, None
        else:
            self._error_before = None

    def begin_anew(self) -> None:
        """Note that other work begins: the stop of the work before says nothing of it."""
        if self.stops_for_good or self.retrying:
            return
        if self.stop_told or self.stop_missed:
            self.stopped_by = ""
            self.stop_told = self.stop_missed = False

    def work(self) -> Frames:
        """Note that work starts: what failed before is over."""
        self.failed = self.over = False
        return self.to(AgentSessionState.AGENT_SESSION_STATE_WORKING)

    def settle(self) -> Frames:
        """Return the transition at the end of work: READY, or ERRORED as long as it failed."""
        if self.failed:
            return self.to(AgentSessionState.AGENT_SESSION_STATE_ERRORED)
        return self.to(AgentSessionState.AGENT_SESSION_STATE_READY)

    def tell(self, failure: Failure) -> Frames:
        """Return the frames of a failed or stopped turn, content first.

        Open tool calls get their last update before it. A failure is followed by an ERRORED frame
        of its own, whatever the state is; a stop brings no lifecycle frame. Once the runtime was
        asked to stop, whatever comes is a stop.
        """
        aborted = failure.aborted or bool(self.stopped_by)
        self.message_told = True
        self.told.add(failure.message, failure.status)
        self.stop_told = self.stop_told or bool(self.stopped_by)
        self.failed, self.over = not aborted, True
        frames = self.close_tools(aborted=aborted)
        content = self.build.session_error(
            SessionErrorKind.SESSION_ERROR_KIND_ABORTED
            if aborted
            else SessionErrorKind.SESSION_ERROR_KIND_ERROR,
            without_secrets(failure.message),
            status=failure.status,
            retry_after_ms=failure.retry_after_ms,
            code=without_secrets(failure.code),
            request_id=without_secrets(failure.request_id),
            stopped_by=(failure.stopped_by or self.stopped_by) if aborted else "",
        )
        self.last_error, self._error_before = content.typed_event.session_error, None
        frames.append(content)
        if not aborted:
            self._enter(AgentSessionState.AGENT_SESSION_STATE_ERRORED)
            frames.append(self.build.lifecycle(self.lifecycle_state))
        return frames

    def close_tools(self, *, aborted: bool) -> Frames:
        """Return the last updates of open tool calls: interrupted, or else failed."""
        status = (
            AgentToolCallStatus.AGENT_TOOL_CALL_STATUS_INTERRUPTED
            if aborted
            else AgentToolCallStatus.AGENT_TOOL_CALL_STATUS_FAILED
        )
        return [self.build.tool_call_update(name, status) for name in self.tools.end_all()]
