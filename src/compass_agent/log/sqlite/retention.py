"""What retention does in one transaction, on a connection that the caller holds.

How much trace there is, and since when, is noted a run of frames at a time in the table `strides`,
by whoever trims: appending does nothing for it, and a log that trims nothing has no such rows.
"""

from __future__ import annotations

__all__ = (
    "foresee",
    "give_back",
    "has_doomed",
    "live_bytes",
    "remove_over",
    "sessions_kept",
    "sessions_to_trim",
    "trim_session",
)

from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from compass_agent.log.retention import (
    KeptSession,
    Pruned,
    expired,
    how_many,
    oldest_first,
    over_since,
)
from compass_agent.log.sqlite.heads import COLUMNS, from_row
from compass_agent.log.sqlite.statements import doom_session
from compass_agent.log.sqlite.trace import cut_trace, size_of_epoch, weigh_trace

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from sqlite3 import Connection

    from compass_agent.log.retention import Retention

_STEP = 4096
"""Trace frames that one transaction notes or removes: writers wait for a few milliseconds."""

_STEP_BYTES = 8 << 20
"""Bytes of trace, likewise."""

_PAGES = 1024
"""Pages that one transaction gives back to the file system, and that may stay free for later."""

_LATEST = "(SELECT max(updated_ms) FROM epochs AS e WHERE e.session = epochs.session)"
_CURRENT = f"""
SELECT session, {_LATEST}, {COLUMNS} FROM epochs
WHERE ord = (SELECT max(ord) FROM epochs AS e WHERE e.session = epochs.session)
"""  # noqa: S608 - our own names
_EPOCHS = """
SELECT eid, trimmed, through, updated_ms,
  coalesce((SELECT max(last_seq) FROM strides AS s WHERE s.eid = epochs.eid), trimmed)
FROM epochs WHERE session = ? ORDER BY ord
"""
_AMOUNTS = """
SELECT session, sum(coalesce(n.frames, 0)), sum(coalesce(n.bytes, 0)), min(n.oldest_ms),
  max(through > coalesce(n.last_seq, trimmed))
FROM epochs LEFT JOIN (
  SELECT eid, sum(frames) AS frames, sum(bytes) AS bytes, max(last_seq) AS last_seq,
    min(CASE WHEN frames > 0 THEN stored_ms END) AS oldest_ms
  FROM strides GROUP BY eid
) AS n USING (eid)
GROUP BY session ORDER BY session
"""
_WHOLE = """
SELECT coalesce(sum(frames), 0), coalesce(sum(bytes), 0) FROM strides
WHERE eid = ? AND last_seq <= ?
"""
_PART = """
UPDATE strides SET frames = frames - ?3, bytes = bytes - ?4
WHERE eid = ?1 AND last_seq = (SELECT min(last_seq) FROM strides WHERE eid = ?1 AND last_seq > ?2)
"""
_OLD = "SELECT max(last_seq) FROM strides WHERE eid = ? AND stored_ms <= ?"


class _Epoch(NamedTuple):
    """An epoch: its row, what is gone of it, its watermark, and up to where its trace is noted."""

    eid: int
    trimmed: int
    through: int
    updated_ms: int
    noted: int


def sessions_kept(db: Connection, now_ms: int) -> list[KeptSession]:
    """Return every session and since when it is over."""
    return [
        KeptSession(session, over_since(from_row(values), stored_ms, now_ms))
        for session, stored_ms, *values in db.execute(_CURRENT)
    ]


def remove_over(db: Connection, kept: KeptSession, now_ms: int) -> bool:
    """Take out a session unless it came back to work meanwhile; `sweep` removes its frames."""
    row = db.execute(f"{_CURRENT} AND session = ?", (kept.session,)).fetchone()
    if row is None or over_since(from_row(row[2:]), row[1], now_ms) != kept.over_ms:
        return False
    doom_session(db, kept.session)
    return True


def has_doomed(db: Connection) -> bool:
    """Tell whether frames of sessions that are gone are still to be removed."""
    return db.execute("SELECT 1 FROM doomed LIMIT 1").fetchone() is not None


def live_bytes(db: Connection) -> int:
    """Return how large the log is, without free room."""
    (pages,) = db.execute("PRAGMA page_count").fetchone()
    (free,) = db.execute("PRAGMA freelist_count").fetchone()
    (size,) = db.execute("PRAGMA page_size").fetchone()
    return int((pages - free) * size)


def give_back(db: Connection) -> bool:
    """Give some free room back to the file system; tell whether there is more."""
    return _give_back(db, 0)


def _give_back(db: Connection, kept: int) -> bool:
    (free,) = db.execute("PRAGMA freelist_count").fetchone()
    for _ in range(min(free - kept, _PAGES)):
        # Python takes one step of this statement, and one step gives back one page.
        db.execute("PRAGMA incremental_vacuum")
    return free - kept > _PAGES


def sessions_to_trim(db: Connection, retention: Retention, now_ms: int) -> list[str]:
    """Return the sessions that have too much trace, or trace that was not noted yet."""
    old_ms = retention.too_old_ms(now_ms)
    return [
        session
        for session, frames, size, oldest_ms, not_noted in db.execute(_AMOUNTS)
        if not_noted
        or retention.too_much(frames, size)
        or (oldest_ms is not None and oldest_ms <= old_ms)
    ]


def trim_session(
    db: Connection, session: str, retention: Retention, now_ms: int
) -> tuple[int, bool]:
    """Note and remove some trace of a session, oldest first.

    Returns:
        How many frames were removed, and whether there may be more to do.
    """
    left = _STEP
    for epoch in _epochs(db, session):
        left -= _note(db, epoch, left, now_ms)
        if left <= 0:
            return 0, True
    removed, more = _remove_surplus(db, session, retention, now_ms)
    # Some room is left free for what is appended next.
    _give_back(db, _PAGES)
    return removed, more


def _remove_surplus(
    db: Connection, session: str, retention: Retention, now_ms: int
) -> tuple[int, bool]:
    frames, size = _noted(db, session)
    for epoch in _epochs(db, session):
        old = _old(db, epoch.eid, retention.too_old_ms(now_ms))
        if old <= epoch.trimmed and not retention.too_much(frames, size):
            continue
        seen: list[int] = []
        trace = _bearable(weigh_trace(db, epoch.eid, epoch.trimmed, epoch.noted), seen)
        count, weight = how_many(trace, retention, (frames, size), old)
        trace.close()
        if count:
            _cut(db, epoch, seen[count - 1], (count, weight))
        if seen:
            return count, count == len(seen)
    return 0, False


def _bearable(
    trace: Iterator[tuple[int, int]], seen: list[int]
) -> Generator[tuple[int, int], None, None]:
    """Yield as many of the first frames as one transaction removes; add their places to `seen`."""
    size = 0
    for seq, weight in islice(trace, _STEP):
        size += weight
        if seen and size > _STEP_BYTES:
            return
        seen.append(seq)
        yield seq, weight


def foresee(db: Connection, retention: Retention, now_ms: int) -> Pruned:
    """Return what pruning would do, with nothing changed; it reads a good part of the file."""
    kept = sessions_kept(db, now_ms)
    late = {one.session for one in expired(kept, retention, now_ms)}
    before = after = live_bytes(db)
    most = retention.total_bytes
    removed: list[str] = []
    for one in oldest_first(kept):
        if one.session in late or (most is not None and after > most):
            after -= sum(size_of_epoch(db, epoch.eid) for epoch in _epochs(db, one.session))
            removed.append(one.session)
    trimmed: dict[str, int] = {}
    for session in sorted({one.session for one in kept} - {*removed} if retention.trims else ()):
        count, weight = _would_trim(db, session, retention, now_ms)
        after -= weight
        if count:
            trimmed[session] = count
    return Pruned(tuple(removed), trimmed, before, max(0, after))


def _would_trim(db: Connection, session: str, retention: Retention, now_ms: int) -> tuple[int, int]:
    """Return how many trace frames, of how many bytes, trimming would remove."""
    epochs = _epochs(db, session)
    frames = size = 0
    for epoch in epochs:
        for _, weight in _trace(db, epoch):
            frames, size = frames + 1, size + weight
    gone = gone_bytes = 0
    old_ms = retention.too_old_ms(now_ms)
    for epoch in epochs:
        old = epoch.through if epoch.updated_ms <= old_ms else _old(db, epoch.eid, old_ms)
        amounts = (frames - gone, size - gone_bytes)
        count, weight = how_many(_trace(db, epoch), retention, amounts, old)
        gone, gone_bytes = gone + count, gone_bytes + weight
    return gone, gone_bytes


def _epochs(db: Connection, session: str) -> list[_Epoch]:
    return [_Epoch(*row) for row in db.execute(_EPOCHS, (session,))]


def _trace(db: Connection, epoch: _Epoch) -> Iterator[tuple[int, int]]:
    return weigh_trace(db, epoch.eid, epoch.trimmed, epoch.through)


def _note(db: Connection, epoch: _Epoch, most: int, now_ms: int) -> int:
    """Note trace up to the watermark that nobody noted yet; return how many frames it was.

    What is noted was stored by the time that the epoch was changed last.
    """
    if epoch.noted >= epoch.through:
        return 0
    rows = [*islice(weigh_trace(db, epoch.eid, epoch.noted, epoch.through), most)]
    last = epoch.through if len(rows) < most else rows[-1][0]
    weight = sum(size for _, size in rows)
    stored_ms = min(now_ms, epoch.updated_ms)
    db.execute(
        "INSERT INTO strides VALUES (?, ?, ?, ?, ?)",
        (epoch.eid, last, len(rows), weight, stored_ms),
    )
    return len(rows)


def _noted(db: Connection, session: str) -> tuple[int, int]:
    return db.execute(
        "SELECT coalesce(sum(strides.frames), 0), coalesce(sum(strides.bytes), 0)"
        " FROM strides JOIN epochs USING (eid) WHERE session = ?",
        (session,),
    ).fetchone()


def _old(db: Connection, eid: int, old_ms: int) -> int:
    (last,) = db.execute(_OLD, (eid, old_ms)).fetchone()
    return last or 0


def _cut(db: Connection, epoch: _Epoch, last: int, amounts: tuple[int, int]) -> None:
    """Remove trace up to `last`, and what was noted of it; `amounts` are its frames and bytes."""
    removed, weight = amounts
    cut_trace(db, epoch.eid, epoch.trimmed, last)
    db.execute(
        "UPDATE epochs SET trimmed = ?, frames = frames - ? WHERE eid = ?",
        (last, removed, epoch.eid),
    )
    place = (epoch.eid, last)
    whole, whole_bytes = db.execute(_WHOLE, place).fetchone()
    db.execute("DELETE FROM strides WHERE eid = ? AND last_seq <= ?", place)
    db.execute(_PART, (*place, removed - whole, weight - whole_bytes))
