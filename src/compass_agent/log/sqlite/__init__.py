"""A session log in one SQLite file: several processes may write and read it at the same time."""

from __future__ import annotations

__all__ = ("SqliteLog",)

from compass_agent.log.sqlite.log import SqliteLog
