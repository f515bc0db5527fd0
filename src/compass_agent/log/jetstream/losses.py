"""What is told of sessions that the engine does not have as they were written. Pure."""

from __future__ import annotations

__all__ = ("unreadable",)

from compass_agent.frames import AgentSessionState, Cursor, SessionError, SessionErrorKind
from compass_agent.log.read import SessionSummary

_NOWHERE = "0" * 16


def unreadable(session: str) -> SessionSummary:
    """Return how a list shows a session of which nothing can be read."""
    error = SessionError(
        kind=SessionErrorKind.SESSION_ERROR_KIND_ERROR,
        message="What is stored of this session cannot be read.",
    )
    return SessionSummary(
        session=session,
        epoch=_NOWHERE,
        state=AgentSessionState.AGENT_SESSION_STATE_ERRORED,
        last_error=error,
        title="",
        agent="",
        version="",
        opened_ms=0,
        updated_ms=0,
        frames=0,
        cursor=Cursor(_NOWHERE, 0),
        ended=False,
    )
