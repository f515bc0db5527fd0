"""The session log: what it promises to writers and to readers, and where to get one."""

from __future__ import annotations

__all__ = (
    "AppendLog",
    "KeepLog",
    "Pages",
    "Pruned",
    "ReadLog",
    "Retention",
    "SessionLog",
    "SessionSummary",
    "default_path",
    "default_socket",
    "is_hub",
    "log_file",
    "log_url",
    "open_log",
)

from compass_agent.log.append import AppendLog
from compass_agent.log.read import Pages, ReadLog, SessionSummary
from compass_agent.log.retention import KeepLog, Pruned, Retention
from compass_agent.log.where import (
    SessionLog,
    default_path,
    default_socket,
    is_hub,
    log_file,
    log_url,
    open_log,
)
