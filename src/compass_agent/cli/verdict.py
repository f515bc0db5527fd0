"""The exit status of a tail: how the session was left, and what the user counts as a failure."""

from __future__ import annotations

__all__ = ("Verdict",)

from typing import TYPE_CHECKING

from compass_agent.cli.exits import (
    EXIT_ABORTED,
    EXIT_FAILED,
    EXIT_MISSING,
    session_exit,
)
from compass_agent.frames import AgentSessionState, AgentToolCallStatus, SessionErrorKind
from compass_agent.wire import FrameItem, Gap, decode_frame

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from compass_agent.frames import SessionError
    from compass_agent.wire import Item

_ERRORED = int(AgentSessionState.AGENT_SESSION_STATE_ERRORED)
_FAILED = AgentToolCallStatus.AGENT_TOOL_CALL_STATUS_FAILED


class Verdict:
    """Notes what happened in what was shown.

    Args:
        fail_on: What counts: error (also one that was got over), abort, tool (a call failed), gap.
    """

    def __init__(self, fail_on: Collection[str]) -> None:
        self._fail_on = frozenset(fail_on)
        self._met: set[str] = set()
        self._error: SessionError | None = None

    def push(self, items: Sequence[Item]) -> None:
        """Take items that were shown."""
        if not self._fail_on:
            return
        for item in items:
            if isinstance(item, Gap):
                self._met.add("gap")
            elif isinstance(item, FrameItem):
                self._frame(item)

    def _frame(self, item: FrameItem) -> None:
        event = decode_frame(item.data).typed_event
        kind = event.WhichOneof("event")
        if kind == "session_error":
            aborted = event.session_error.kind == SessionErrorKind.SESSION_ERROR_KIND_ABORTED
            self._met.add("abort" if aborted else "error")
            self._error = self._error if aborted else event.session_error
        elif kind in {"tool_call", "tool_call_update"}:
            told = event.tool_call if kind == "tool_call" else event.tool_call_update
            if told.status == _FAILED:
                self._met.add("tool")

    def exit_status(self, state: int, error: SessionError | None) -> int:
        """Return the exit status; a session that was left failed comes before all else."""
        status = session_exit(state, error)
        met = self._met & self._fail_on
        if status or not met:
            return status
        if "error" in met:
            return session_exit(_ERRORED, self._error)
        if "gap" in met:
            return EXIT_MISSING
        return EXIT_ABORTED if "abort" in met else EXIT_FAILED
