"""Connections to the log's file, and the file's schema.

The file is made readable for its owner alone. A file with another schema is never touched.
"""

from __future__ import annotations

__all__ = ("BUSY_S", "SCHEMA_MAJOR", "connect", "prepare", "writing")

import os
import sqlite3
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal

from compass_agent.errors.codes import ErrorCode, OperationError
from compass_agent.log.sqlite.faults import reported
from compass_agent.log.sqlite.schema import VersionError, add_steps, newest_minor, version_of

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

SCHEMA_MAJOR = 2
"""Files of another major version are not opened; the default file's name carries it."""

BUSY_S = 2.0
"""How long to wait for another process that writes, in seconds."""

_APPLICATION_ID = 0x436D7053  # "CmpS": `file` and others can tell what it is

# Records (see `records.py`) are clustered by epoch and place, so that a page is one short walk
# through the tree. Ids of epochs are never used twice: a reader of a deleted session cannot end up
# in another one.
_SCHEMA = """
CREATE TABLE epochs (
  eid INTEGER PRIMARY KEY AUTOINCREMENT,
  session TEXT NOT NULL,
  ord INTEGER NOT NULL,
  epoch TEXT NOT NULL,
  title TEXT NOT NULL,
  agent TEXT NOT NULL,
  version TEXT NOT NULL,
  opened_ms INTEGER NOT NULL,
  updated_ms INTEGER NOT NULL,
  lease_ms INTEGER NOT NULL,
  sealed INTEGER NOT NULL,
  through INTEGER NOT NULL,
  last_priority INTEGER NOT NULL,
  highest INTEGER NOT NULL,
  trimmed INTEGER NOT NULL,
  frames INTEGER NOT NULL,
  state INTEGER NOT NULL,
  resumed INTEGER NOT NULL,
  error BLOB,
  finish TEXT,
  marks TEXT NOT NULL,
  told TEXT NOT NULL,
  UNIQUE (session, epoch),
  UNIQUE (session, ord)
);
CREATE TABLE records (
  eid INTEGER NOT NULL,
  last INTEGER NOT NULL,
  first INTEGER NOT NULL,
  frames INTEGER NOT NULL,
  offsets BLOB NOT NULL,
  ends BLOB NOT NULL,
  lanes BLOB NOT NULL,
  data BLOB NOT NULL,
  PRIMARY KEY (eid, last)
) WITHOUT ROWID;
CREATE TABLE behind (
  arrival INTEGER PRIMARY KEY AUTOINCREMENT,
  eid INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  data BLOB NOT NULL
);
CREATE TABLE doomed (eid INTEGER PRIMARY KEY);
"""
"""Of version `SCHEMA_MAJOR`.0; the steps of `schema.py` bring it to the newest minor version."""


def prepare(path: Path, durability: Literal["normal", "full"]) -> sqlite3.Connection:
    """Make the file where there is none, and return a connection that writes.

    Raises:
        OperationError: `unsupported_input`: the path cannot be used, or the file is another
            program's, or of another major version. `permission_denied`, `unavailable`,
            `storage_failed`.
    """
    try:
        # Not left to SQLite, which would follow the umask; its side files take over the mode.
        _make_file(path)
    except PermissionError as error:
        raise OperationError(ErrorCode.PERMISSION_DENIED) from error
    except (OSError, ValueError) as error:
        raise OperationError(ErrorCode.UNSUPPORTED_INPUT) from error
    with reported():
        connection = connect(path, durability)
        try:
            _ensure_schema(connection)
        except BaseException:
            connection.close()
            raise
        return connection


def _make_file(path: Path) -> None:
    """Make the file where there is none, and check that this one can be written.

    Raises:
        OSError: It cannot.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
    try:
        made = os.open(path, flags | os.O_EXCL, 0o600)
    except FileExistsError:
        os.close(os.open(path, flags, 0o600))
        return
    try:
        os.fchmod(made, 0o600)  # whatever the umask takes from the owner
    finally:
        os.close(made)


def connect(
    path: Path, durability: Literal["normal", "full"] = "normal", *, read_only: bool = False
) -> sqlite3.Connection:
    """Return a new connection to a file that exists; any thread may use it, one at a time."""
    # The mode keeps SQLite from making a new, empty file where somebody removed it.
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode=rw",
        timeout=BUSY_S,
        isolation_level=None,
        check_same_thread=False,
        uri=True,
    )
    try:
        connection.execute(f"PRAGMA synchronous = {'FULL' if durability == 'full' else 'NORMAL'}")
        if read_only:
            connection.execute("PRAGMA query_only = ON")
    except BaseException:  # such as: the file is no database
        connection.close()
        raise
    return connection


@contextmanager
def writing(connection: sqlite3.Connection) -> Generator[None]:
    """Hold the one write transaction of the file: all of the block is stored, or nothing."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        # SQLite ends some failed transactions by itself.
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _ensure_schema(connection: sqlite3.Connection) -> None:
    minor = _minor_version(connection)
    if minor is None:
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        _write_ahead(connection)
    elif minor >= newest_minor():
        return
    with writing(connection):
        # Another process may have been faster.
        minor = _minor_version(connection)
        if minor is None:
            for statement in _SCHEMA.split(";"):
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
        if minor is None or minor < newest_minor():
            add_steps(connection, SCHEMA_MAJOR, minor or 0)


def _minor_version(connection: sqlite3.Connection) -> int | None:
    """Return the minor version of the file's schema; None: the file is empty.

    Raises:
        OperationError: `unsupported_input`: it is another program's, or (a `VersionError`) of
            another major version.
    """
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (number,) = connection.execute("PRAGMA user_version").fetchone()
    if application == _APPLICATION_ID:
        major, minor = version_of(number)
        if major != SCHEMA_MAJOR:
            raise VersionError(major, SCHEMA_MAJOR)
        return minor
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if application or number or tables:
        raise OperationError(ErrorCode.UNSUPPORTED_INPUT)
    return None


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Switch the file to write-ahead logging, for which SQLite itself waits for nobody."""
    give_up = time.monotonic() + BUSY_S
    pause = threading.Event()
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError:
            if time.monotonic() > give_up:
                raise
            pause.wait(0.005)
        else:
            return
