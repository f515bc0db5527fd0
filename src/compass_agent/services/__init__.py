"""Session operations once, for every way in which they are offered. Services read, never append."""

from __future__ import annotations

__all__ = ("SessionRow", "list_sessions", "resolve_session", "tail")

from compass_agent.services.sessions import SessionRow, list_sessions, resolve_session, tail
