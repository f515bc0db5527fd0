"""Session operations once, for every way in which they are offered. Services read, never append.

Every way in (command, gRPC, HTTP, MCP) calls these and nothing else. An operation that fails raises
`OperationError`; a request that cannot be read `InvalidRequestError` or `InvalidCursorError`.

Names are imported when they are first used: who tails a session needs not what exports one.
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

from typing import TYPE_CHECKING

if TYPE_CHECKING:
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

_HOMES = {
    "START": "reading",
    "EntriesPage": "entries",
    "ExportFormat": "export",
    "FramesPage": "reading",
    "InvalidRequestError": "requests",
    "Issue": "requests",
    "SessionDetail": "detail",
    "SessionQuery": "listing",
    "SessionRow": "sessions",
    "SessionsPage": "listing",
    "export_session": "export",
    "find_session": "sessions",
    "find_sessions": "listing",
    "get_session": "detail",
    "list_sessions": "sessions",
    "read_entries": "entries",
    "read_session": "reading",
    "resolve_session": "sessions",
    "tail": "sessions",
}


def __getattr__(name: str) -> object:
    """Import a public name from its home, once."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib  # noqa: PLC0415 - only needed here

    value = globals()[name] = getattr(importlib.import_module(f"{__name__}.{home}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
