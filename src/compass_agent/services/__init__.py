"""Session operations once, for every way in which they are offered. Services read, never append.

Every way in (command, gRPC, HTTP, MCP) calls these and nothing else. An operation that fails raises
`OperationError`; a request that cannot be read `InvalidRequestError` or `InvalidCursorError`.
"""

from __future__ import annotations

__all__ = (
    "START",
    "EntriesPage",
    "ExportFormat",
    "FramesPage",
    "InvalidRequestError",
    "Issue",
    "SessionDetail",
    "SessionQuery",
    "SessionRow",
    "SessionsPage",
    "export_session",
    "find_session",
    "find_sessions",
    "get_session",
    "list_sessions",
    "read_entries",
    "read_session",
    "resolve_session",
    "tail",
)

from compass_agent.services.detail import SessionDetail, get_session
from compass_agent.services.entries import EntriesPage, read_entries
from compass_agent.services.export import ExportFormat, export_session
from compass_agent.services.listing import SessionQuery, SessionsPage, find_sessions
from compass_agent.services.reading import START, FramesPage, read_session
from compass_agent.services.requests import InvalidRequestError, Issue
from compass_agent.services.sessions import (
    SessionRow,
    find_session,
    list_sessions,
    resolve_session,
    tail,
)
