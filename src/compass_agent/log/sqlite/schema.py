"""Brings a file of an older minor version of the schema up to date, or refuses what it cannot read.

A minor version only adds what older programs may leave alone, such as a table. So programs of
different minor versions share one file, also at the same time: an older file is brought up to date
by the first newer program that opens it, and a newer file is opened as it is. Another major version
is never touched.
"""

from __future__ import annotations

__all__ = ("STEPS", "VersionError", "add_steps", "newest_minor", "version_of")

from typing import TYPE_CHECKING

from compass_agent.errors.codes import ErrorCode, OperationError

if TYPE_CHECKING:
    from sqlite3 import Connection

_MINORS = 1000

STEPS: tuple[str, ...] = (
    # 1: up to `last_seq`, from the row before on: how many trace frames of how many bytes there
    # are, which were stored at `stored_ms` or before.
    """
    CREATE TABLE strides (
      eid INTEGER NOT NULL,
      last_seq INTEGER NOT NULL,
      frames INTEGER NOT NULL,
      bytes INTEGER NOT NULL,
      stored_ms INTEGER NOT NULL,
      PRIMARY KEY (eid, last_seq)
    ) WITHOUT ROWID;
    """,
)
"""What each minor version adds to the one before it. A step that was released is never changed."""


class VersionError(OperationError):
    """The file is of another major version; `reason` says so, to the person who named the file."""

    def __init__(self, major: int, ours: int) -> None:
        super().__init__(ErrorCode.UNSUPPORTED_INPUT)
        newer = "a newer" if major > ours else "an older"
        self.reason = (
            f"the log was made by {newer} Compass (its format is {major}, this one has {ours})"
        )


def newest_minor() -> int:
    """Return the minor version that this program makes."""
    return len(STEPS)


def version_of(number: int) -> tuple[int, int]:
    """Return the major and minor version that a `user_version` says."""
    # Below are the files that were made before there were minor versions.
    return (number, 0) if number < _MINORS else divmod(number, _MINORS)


def add_steps(db: Connection, major: int, minor: int) -> None:
    """Bring the file from `minor` up to date; the caller holds the write transaction."""
    for step in STEPS[minor:]:
        for statement in step.split(";"):
            db.execute(statement)
    db.execute(f"PRAGMA user_version = {major * _MINORS + len(STEPS)}")
