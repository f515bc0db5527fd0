"""What SQLite's own error codes mean to a caller."""

from __future__ import annotations

__all__ = ("reported",)

import sqlite3
from contextlib import contextmanager
from typing import TYPE_CHECKING

from compass_agent.errors.codes import ErrorCode, OperationError

if TYPE_CHECKING:
    from collections.abc import Generator

_PASSES = frozenset({
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_INTERRUPT,
    sqlite3.SQLITE_IOERR,
    # Room can be made, and a writer that goes on trying then loses nothing.
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_PROTOCOL,
})  # fmt: skip
_DENIED = frozenset({sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH})


@contextmanager
def reported() -> Generator[None]:
    """Turn SQLite's errors into `OperationError`.

    Raises:
        OperationError: `unavailable`: locked, full or unreadable for now. `permission_denied`.
            `storage_failed`: all else, such as a file that is no database, or is read-only.
    """
    try:
        yield
    except sqlite3.Error as error:
        # The low byte is the kind; the rest of an extended code says more about the same.
        kind = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
        if kind in _PASSES:
            code = ErrorCode.UNAVAILABLE
        elif kind in _DENIED:
            code = ErrorCode.PERMISSION_DENIED
        else:
            code = ErrorCode.STORAGE_FAILED
        raise OperationError(code) from error
