"""What each operation of the log does in one transaction, on a connection that the caller holds."""

from __future__ import annotations

__all__ = (
    "append_batch",
    "close_epoch",
    "doom_session",
    "list_sessions",
    "look_behind",
    "open_epoch",
    "read_version",
    "renew_leases",
    "sweep",
)

from dataclasses import replace
from typing import TYPE_CHECKING

from compass_agent.errors.codes import ErrorCode, OperationError
from compass_agent.log.epoch import FOREVER
from compass_agent.log.reading import View
from compass_agent.log.rules import close_head, decide, goes_behind, new_head, seal, summarise
from compass_agent.log.sqlite.heads import COLUMNS, INSERT, UPDATE, from_row, to_row
from compass_agent.log.sqlite.records import read_page, store_frames
from compass_agent.wire import FrameItem

if TYPE_CHECKING:
    from collections.abc import Iterable
    from sqlite3 import Connection

    from compass_agent.log.read import SessionSummary
    from compass_agent.log.reading import Place
    from compass_agent.wire import Answer, Batch, SessionMeta

_SWEPT = 16
"""Records that one transaction of a deletion removes: writers wait for a few milliseconds."""

_GIVEN_BACK = 1024
"""Pages that the same transaction gives back to the file system."""

_OF_SESSION = f"SELECT eid, ord, {COLUMNS} FROM epochs WHERE session = ?"  # noqa: S608 - our own names
_CURRENT = f"{_OF_SESSION} ORDER BY ord DESC LIMIT 1"
_EPOCH = f"{_OF_SESSION} AND epoch = ?"
_FOLLOWING = "SELECT epoch FROM epochs WHERE session = ? AND ord > ? ORDER BY ord LIMIT 1"
_SESSIONS = f"""
SELECT session, (SELECT sum(frames) FROM epochs AS e WHERE e.session = epochs.session), {COLUMNS}
FROM epochs
WHERE ord = (SELECT max(ord) FROM epochs AS e WHERE e.session = epochs.session)
ORDER BY updated_ms DESC, session
"""  # noqa: S608 - our own names
_PASSED = """
SELECT seq, data, epochs.epoch
FROM behind JOIN epochs USING (eid)
WHERE behind.arrival > ? AND epochs.session = ?
  AND (epochs.ord < ? OR (epochs.ord = ? AND seq <= ?))
ORDER BY behind.arrival
"""


def open_epoch(
    db: Connection,
    session: str,
    epoch: str,
    meta: SessionMeta | None,
    now_ms: int,
    *,
    recovered: bool,
) -> None:
    """Make `epoch` the current one, or place it before one that is at work."""
    if db.execute(_EPOCH, (session, epoch)).fetchone() is not None:
        return
    new = new_head(epoch, meta, now_ms)
    row = db.execute(_CURRENT, (session,)).fetchone()
    current_eid, place = row[:2] if row else (0, 0)
    if goes_behind(from_row(row[2:]) if row else None, now_ms, recovered=recovered):
        db.execute("UPDATE epochs SET ord = ord + 1 WHERE eid = ?", (current_eid,))
        db.execute(INSERT, (session, place, *to_row(seal(new))))
        return
    for eid, _, *values in db.execute(_OF_SESSION, (session,)).fetchall():
        head = from_row(values)
        if head.open:
            db.execute(UPDATE, (*to_row(seal(head)), eid))
    db.execute(INSERT, (session, place + 1, *to_row(new)))


def append_batch(db: Connection, batch: Batch, now_ms: int) -> Answer:
    """Store what the batch brings, and the epoch as it is then."""
    row = db.execute(_EPOCH, (batch.session, batch.epoch)).fetchone()
    if row is None:
        raise OperationError(ErrorCode.NOT_FOUND)
    eid, head = row[0], from_row(row[2:])
    applied = decide(head, batch, now_ms)
    if applied.head is None:
        return applied.answer
    through = applied.head.through
    stored = store_frames(db, eid, applied.priority, applied.trace, before=head, through=through)
    if applied.behind:
        late = [(eid, seq, data) for seq, data in applied.priority]
        db.executemany("INSERT INTO behind (eid, seq, data) VALUES (?, ?, ?)", late)
    after = replace(applied.head, frames=head.frames + stored)
    db.execute(UPDATE, (*to_row(after), eid))
    return applied.answer


def renew_leases(db: Connection, epochs: Iterable[tuple[str, str]], until_ms: int) -> None:
    """Set the end of the leases."""
    rows = [(until_ms, session, epoch) for session, epoch in epochs]
    db.executemany("UPDATE epochs SET lease_ms = ? WHERE session = ? AND epoch = ?", rows)


def close_epoch(db: Connection, session: str, epoch: str, now_ms: int) -> None:
    """Store the closing mark, if the epoch is still as the reader saw it."""
    row = db.execute(_EPOCH, (session, epoch)).fetchone()
    closed = close_head(from_row(row[2:]), now_ms) if row else None
    if row and closed:
        db.execute(UPDATE, (*to_row(closed), row[0]))


def look_behind(db: Connection, session: str, place: Place, page_frames: int) -> View | None:
    """Return what lies behind `place`; all of it is of the same moment."""
    db.execute("BEGIN")
    try:
        row = db.execute(_EPOCH, (session, place.epoch)).fetchone()
        if row is None:
            oldest = db.execute(_FOLLOWING, (session, -1)).fetchone()
            return oldest and View(None, oldest[0], arrivals=_arrivals(db))
        eid, order, *values = row
        head = from_row(values)
        rows, complete = read_page(db, eid, head, place.seq, page_frames)
        # At every look: what comes late is late by where the reader stands now. Asked later, a
        # frame that the reader meets at its place meanwhile would be told twice.
        arrivals = _arrivals(db)
        late: list[FrameItem] = []
        if place.arrivals is not None and place.arrivals < arrivals:
            seq = min(place.seq, FOREVER)
            found = db.execute(_PASSED, (place.arrivals, session, order, order, seq))
            late = [
                FrameItem(name, seq, data, priority=True, late=True) for seq, data, name in found
            ]
        following = db.execute(_FOLLOWING, (session, order)).fetchone()
        return View(head, following and following[0], rows, complete, late, arrivals)
    finally:
        db.execute("COMMIT")


def _arrivals(db: Connection) -> int:
    (last,) = db.execute("SELECT max(arrival) FROM behind").fetchone()
    return last or 0


def list_sessions(db: Connection, now_ms: int) -> list[SessionSummary]:
    """Return every session, the one that was updated last first."""
    return [
        summarise(session, from_row(values), frames, now_ms)
        for session, frames, *values in db.execute(_SESSIONS)
    ]


def doom_session(db: Connection, session: str) -> None:
    """Take the session out of all lists and readings; `sweep` then removes its frames."""
    db.execute("INSERT INTO doomed SELECT eid FROM epochs WHERE session = ?", (session,))
    if db.execute("DELETE FROM epochs WHERE session = ?", (session,)).rowcount == 0:
        raise OperationError(ErrorCode.NOT_FOUND)


def sweep(db: Connection) -> bool:
    """Remove some frames of deleted sessions and give back room; tell whether there may be more."""
    doomed = db.execute("SELECT eid FROM doomed LIMIT 1").fetchone()
    if doomed is not None:
        removed = db.execute(
            "DELETE FROM records WHERE eid = ?1 AND last IN"
            " (SELECT last FROM records WHERE eid = ?1 ORDER BY last LIMIT ?2)",
            (*doomed, _SWEPT),
        ).rowcount
        if removed < _SWEPT:
            db.execute("DELETE FROM behind WHERE eid = ?", doomed)
            db.execute("DELETE FROM strides WHERE eid = ?", doomed)
            db.execute("DELETE FROM doomed WHERE eid = ?", doomed)
    (free,) = db.execute("PRAGMA freelist_count").fetchone()
    for _ in range(min(free, _GIVEN_BACK)):
        # Python takes one step of this statement, and one step gives back one page.
        db.execute("PRAGMA incremental_vacuum")
    return doomed is not None or free > _GIVEN_BACK


def read_version(db: Connection) -> int:
    """Return a number that changes whenever another connection stored something."""
    (version,) = db.execute("PRAGMA data_version").fetchone()
    return int(version)
