"""The trace frames of an epoch as retention sees them: their places and sizes."""

from __future__ import annotations

__all__ = ("cut_trace", "size_of_epoch", "weigh_trace")

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlite3 import Connection


def weigh_trace(
    db: Connection, eid: int, after: int, through: int, most: int
) -> list[tuple[int, int]]:
    """Return place and size in bytes of the first `most` trace frames above `after`, ascending."""
    return db.execute(
        "SELECT seq, length(data) FROM frames"
        " WHERE eid = ? AND seq > ? AND seq <= ? AND priority = 0 ORDER BY seq LIMIT ?",
        (eid, after, through, most),
    ).fetchall()


def cut_trace(db: Connection, eid: int, after: int, last: int) -> int:
    """Remove the trace frames above `after` up to `last`; return how many those were."""
    return db.execute(
        "DELETE FROM frames WHERE eid = ? AND seq > ? AND seq <= ? AND priority = 0",
        (eid, after, last),
    ).rowcount


def size_of_epoch(db: Connection, eid: int) -> int:
    """Return the bytes of all its frames."""
    (size,) = db.execute(
        "SELECT coalesce(sum(length(data)), 0) FROM frames WHERE eid = ?", (eid,)
    ).fetchone()
    return int(size)
