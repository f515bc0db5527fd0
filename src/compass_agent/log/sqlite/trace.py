"""The trace frames of an epoch as retention sees them: their places and sizes."""

from __future__ import annotations

__all__ = ("cut_trace", "size_of_epoch", "weigh_trace")

from dataclasses import replace
from typing import TYPE_CHECKING

from compass_agent.log.epoch import EpochHead
from compass_agent.log.sqlite.records import read_page, store_frames, weigh_frames
from compass_agent.wire import FrameItem, SessionMeta

if TYPE_CHECKING:
    from collections.abc import Iterator
    from sqlite3 import Connection

_PAGE_FRAMES = 4096

_REMOVE_WHOLE = """
DELETE FROM records WHERE eid = ? AND last > ? AND last <= ? AND length(lanes) = 0
"""
_TOUCHED = "SELECT min(first), max(last) FROM records WHERE eid = ? AND last > ? AND first <= ?"
_REMOVE_TOUCHED = "DELETE FROM records WHERE eid = ? AND last > ? AND first <= ?"
_SIZE = """
SELECT coalesce(sum(length(data) + length(offsets) + length(ends) + length(lanes)), 0)
FROM records WHERE eid = ?
"""


def weigh_trace(db: Connection, eid: int, after: int, through: int) -> Iterator[tuple[int, int]]:
    """Yield place and size in bytes of the trace frames above `after`, ascending."""
    frames = weigh_frames(db, eid, after, through)
    return ((seq, size) for seq, size, priority in frames if not priority)


def cut_trace(db: Connection, eid: int, after: int, last: int) -> None:
    """Remove the trace frames above `after` up to `last`; priority frames stay."""
    place = (eid, after, last)
    db.execute(_REMOVE_WHOLE, place)
    first, end = db.execute(_TOUCHED, place).fetchone()
    if first is None:
        return
    kept = [frame for frame in _frames(db, eid, first, end) if frame.priority or frame.seq > last]
    db.execute(_REMOVE_TOUCHED, place)
    # Apart, so that the next cut does not touch what is left of this one.
    _store(db, eid, [frame for frame in kept if frame.seq <= last])
    _store(db, eid, [frame for frame in kept if frame.seq > last])


def size_of_epoch(db: Connection, eid: int) -> int:
    """Return about how many bytes its frames take."""
    (size,) = db.execute(_SIZE, (eid,)).fetchone()
    return int(size)


def _frames(db: Connection, eid: int, first: int, last: int) -> list[FrameItem]:
    head = replace(_NO_HEAD, through=last)
    found: list[FrameItem] = []
    after, complete = first - 1, False
    while not complete:
        some, complete = read_page(db, eid, head, after, _PAGE_FRAMES)
        found += some
        after = found[-1].seq
    return found


def _store(db: Connection, eid: int, frames: list[FrameItem]) -> None:
    """Store frames at places where nothing is stored."""
    priority = [(frame.seq, frame.data) for frame in frames if frame.priority]
    trace = [(frame.seq, frame.data) for frame in frames if not frame.priority]
    through = frames[-1].seq if frames else 0
    store_frames(db, eid, priority, trace, before=_NO_HEAD, through=through)


_NO_HEAD = EpochHead("", SessionMeta())
