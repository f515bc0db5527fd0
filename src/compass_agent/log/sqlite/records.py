"""Frames as rows of the table `records`: up to 256 of them a row, because rows are what is dear.

The records of an epoch never overlap, so that readers take them as they stand, one behind the
other. What arrives between frames that are stored already is merged with them.
"""

from __future__ import annotations

__all__ = ("read_page", "store_frames", "weigh_frames")

import struct
from bisect import bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING

from compass_agent.log.reading import PAGE_BYTES
from compass_agent.wire import FrameRun

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from sqlite3 import Connection

    from compass_agent.log.epoch import EpochHead
    from compass_agent.log.rules import Frames

_MOST_FRAMES = 256
_MOST_BYTES = 256 * 1024
_LONGEST_SPAN = 2**32

_INSERT = """
INSERT INTO records (eid, first, last, frames, offsets, ends, lanes, data)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)
"""
_OVERLAPPING = """
SELECT first, last, offsets, ends, lanes, data FROM records
WHERE eid = ? AND last >= ? AND first <= ? ORDER BY last
"""
_REMOVE = "DELETE FROM records WHERE eid = ? AND last >= ? AND first <= ?"
_PAGE = """
SELECT first, last, offsets, ends, lanes, data FROM records
WHERE eid = ? AND last > ? AND first <= ? ORDER BY last
"""
_WEIGHTS = """
SELECT first, last, offsets, ends, lanes FROM records
WHERE eid = ? AND last > ? AND first <= ? ORDER BY last
"""

_Row = tuple[int, int, bytes, bytes, bytes, bytes]
"""A record as it is stored.

Its first and last `seq`; how far each frame is from the first (empty: no `seq` between is missing);
where each frame's bytes end (both as little-endian uint32); 1 for each frame of the priority lane,
else 0 (empty: all are trace); the frames' bytes.
"""


def store_frames(
    db: Connection, eid: int, priority: Frames, trace: Frames, *, before: EpochHead, through: int
) -> int:
    """Store frames that are not stored yet; return how many that were.

    Args:
        db: A connection inside a write transaction.
        eid: The epoch.
        priority: Frames of that lane, ascending.
        trace: Likewise.
        before: The epoch before these frames.
        through: The watermark behind them. Frames above it stand apart, because others will come
            between them.
    """
    run = _in_order(before.epoch, priority, trace)
    if not run:
        return 0
    stored = 0
    if run.seqs[0] <= before.highest:
        run, stored = _merged(db, eid, run)
    border = bisect_right(run.seqs, through)
    db.executemany(_INSERT, [*_rows(eid, run[:border]), *_rows(eid, run[border:])])
    return len(run) - stored


def read_page(
    db: Connection, eid: int, head: EpochHead, after: int, page_frames: int
) -> tuple[FrameRun, bool]:
    """Return frames behind `after` and up to the watermark, and whether these are all of them."""
    seqs: list[int] = []
    frames: list[bytes] = []
    lanes = bytearray()
    size = 0
    complete = True
    if after < head.through:
        found = db.execute(_PAGE, (eid, after, head.through))
        for first, last, offsets, ends, row_lanes, data in found:
            places = _places(first, last, offsets)
            begin = bisect_right(places, after) if first <= after else 0
            end = bisect_right(places, head.through) if last > head.through else len(places)
            seqs += places[begin:end]
            frames += _cut(data, ends)[begin:end]
            lanes += row_lanes[begin:end] if row_lanes else bytes(end - begin)
            size += len(data)
            if size >= PAGE_BYTES or len(seqs) >= page_frames:
                found.close()
                del seqs[page_frames:]
                complete = seqs[-1] == head.through
                break
    count = len(seqs)
    in_a_row = bool(seqs) and seqs[-1] - seqs[0] == count - 1
    run = FrameRun(
        head.epoch,
        range(seqs[0], seqs[-1] + 1) if in_a_row else seqs,
        frames[:count],
        bytes(lanes[:count]) if any(lanes) else b"",
    )
    return run, complete


def weigh_frames(
    db: Connection, eid: int, after: int, through: int
) -> Iterator[tuple[int, int, bool]]:
    """Yield place, size in bytes and lane (True: priority) of the frames above `after`, ascending.

    Their bytes stay where they are.
    """
    for first, last, offsets, ends, lanes in db.execute(_WEIGHTS, (eid, after, through)):
        bounds = struct.unpack(f"<{len(ends) // 4}I", ends)
        seqs = _places(first, last, offsets)
        for number, (seq, begin, end) in enumerate(zip(seqs, (0, *bounds), bounds, strict=False)):
            if after < seq <= through:
                yield seq, end - begin, bool(lanes) and lanes[number] == 1


def _in_order(epoch: str, priority: Frames, trace: Frames) -> FrameRun:
    """Return the frames of both lanes by their places."""
    if priority:
        by_place = {seq: (seq, data, 0) for seq, data in trace}
        by_place |= {seq: (seq, data, 1) for seq, data in priority}
        return _sorted(epoch, by_place)
    seqs, frames = zip(*trace, strict=True) if trace else ((), ())
    return FrameRun(epoch, seqs, frames)


def _sorted(epoch: str, by_place: dict[int, tuple[int, bytes, int]]) -> FrameRun:
    seqs, frames, lanes = zip(*(by_place[seq] for seq in sorted(by_place)), strict=True)
    return FrameRun(epoch, seqs, frames, bytes(lanes))


def _merged(db: Connection, eid: int, run: FrameRun) -> tuple[FrameRun, int]:
    """Take out the records that `run` meets; return both together, and how many frames they had.

    What was stored first stays.
    """
    place = (eid, run.seqs[0], run.seqs[-1])
    stored = [
        item for row in db.execute(_OVERLAPPING, place).fetchall() for item in _run(run.epoch, row)
    ]
    if not stored:
        return run, 0
    db.execute(_REMOVE, place)
    by_place = {item.seq: (item.seq, item.data, int(item.priority)) for item in [*run, *stored]}
    return _sorted(run.epoch, by_place), len(stored)


def _rows(
    eid: int, run: FrameRun
) -> Iterator[tuple[int, int, int, int, bytes, bytes, bytes, bytes]]:
    """Yield the rows that hold `run`."""
    count = len(run)
    if not count:
        return
    first, last = run.seqs[0], run.seqs[-1]
    ends = list(accumulate(map(len, run.frames)))
    large = count > _MOST_FRAMES or ends[-1] > _MOST_BYTES or last - first >= _LONGEST_SPAN
    if large and count > 1:
        yield from _rows(eid, run[: count // 2])
        yield from _rows(eid, run[count // 2 :])
        return
    offsets = b""
    if last - first != count - 1:
        offsets = struct.pack(f"<{count}I", *(seq - first for seq in run.seqs))
    lanes = run.lanes if any(run.lanes) else b""
    packed = struct.pack(f"<{count}I", *ends)
    yield eid, first, last, count, offsets, packed, lanes, b"".join(run.frames)


def _run(epoch: str, row: _Row) -> FrameRun:
    first, last, offsets, ends, lanes, data = row
    return FrameRun(epoch, _places(first, last, offsets), _cut(data, ends), lanes)


def _cut(data: bytes, ends: bytes) -> list[bytes]:
    """Return the frames of which `data` is made."""
    bounds = struct.unpack(f"<{len(ends) // 4}I", ends)
    return [data[begin:end] for begin, end in zip((0, *bounds), bounds, strict=False)]


def _places(first: int, last: int, offsets: bytes) -> Sequence[int]:
    if not offsets:
        return range(first, last + 1)
    return [first + offset for offset in struct.unpack(f"<{len(offsets) // 4}I", offsets)]
