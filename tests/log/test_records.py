"""Frames share rows of the file: in whatever order they arrive, each is read once, in place."""

from __future__ import annotations

import sqlite3
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compass_agent.log.epoch import EpochHead
from compass_agent.log.sqlite.connect import prepare, writing
from compass_agent.log.sqlite.records import read_page, store_frames
from compass_agent.wire import SessionMeta

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Frames = list[tuple[int, bytes]]


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sqlite3.Connection]:
    connection = prepare(tmp_path_factory.mktemp("records") / "log.db", "normal")
    yield connection
    connection.close()


@pytest.fixture
def db(file: sqlite3.Connection) -> sqlite3.Connection:
    file.execute("DELETE FROM records")
    return file


def frames(seqs: Iterable[int], word: str = "") -> Frames:
    return [(seq, f"{seq}{word}".encode()) for seq in seqs]


def store(
    db: sqlite3.Connection, priority: Frames, trace: Frames, *, highest: int, through: int
) -> int:
    before = EpochHead("e", SessionMeta(), highest=highest)
    with writing(db):
        return store_frames(db, 1, priority, trace, before=before, through=through)


def read(
    db: sqlite3.Connection, through: int, *, after: int = 0, page_frames: int = 4096
) -> list[tuple[int, bytes, bool]]:
    head = EpochHead("e", SessionMeta(), through=through)
    found: list[tuple[int, bytes, bool]] = []
    while True:
        items, complete = read_page(db, 1, head, after, page_frames)
        assert len(items) <= page_frames
        found += [(item.seq, item.data, item.priority) for item in items]
        if complete:
            return found
        after = items[-1].seq


def rows(db: sqlite3.Connection) -> list[tuple[int, int, int]]:
    return db.execute("SELECT first, last, frames FROM records ORDER BY last").fetchall()


def test_a_batch_is_one_row_of_both_lanes_in_order(db: sqlite3.Connection) -> None:
    assert store(db, frames([3]), frames([1, 2, 4]), highest=0, through=4) == 4
    assert rows(db) == [(1, 4, 4)]
    assert read(db, 4) == [(1, b"1", False), (2, b"2", False), (3, b"3", True), (4, b"4", False)]


def test_a_page_may_begin_and_end_inside_of_a_row(db: sqlite3.Connection) -> None:
    store(db, [], frames(range(1, 11)), highest=0, through=10)
    assert [seq for seq, _, _ in read(db, 7, after=3, page_frames=2)] == [4, 5, 6, 7]


def test_priority_that_went_ahead_stands_apart_until_its_neighbours_come(
    db: sqlite3.Connection,
) -> None:
    store(db, frames([9]), frames([1, 2]), highest=0, through=2)
    assert rows(db) == [(1, 2, 2), (9, 9, 1)]
    assert store(db, [], frames([3, 4, 8, 10]), highest=9, through=10) == 4
    assert rows(db) == [(1, 2, 2), (3, 10, 5)]
    assert [seq for seq, _, _ in read(db, 10)] == [1, 2, 3, 4, 8, 9, 10]


def test_what_is_stored_first_stays(db: sqlite3.Connection) -> None:
    store(db, [], frames([1, 5, 9], "a"), highest=0, through=0)
    assert store(db, frames([5], "b"), frames([4, 9], "b"), highest=9, through=9) == 1
    assert read(db, 9) == [
        (1, b"1a", False),
        (4, b"4b", False),
        (5, b"5a", False),
        (9, b"9a", False),
    ]


def test_many_and_large_frames_make_several_rows(db: sqlite3.Connection) -> None:
    many = frames(range(1, 601))
    large = [(seq, bytes(200_000)) for seq in range(601, 604)]
    store(db, [], many + large, highest=0, through=603)
    assert all(last - first < 256 for first, last, _ in rows(db))
    assert [(seq, data) for seq, data, _ in read(db, 603)] == many + large


def test_places_may_be_as_far_apart_as_numbers_go(db: sqlite3.Connection) -> None:
    far = [1, 2**32 + 5, 2**63 - 1]
    store(db, frames(far), [], highest=0, through=2**63 - 1)
    assert [seq for seq, _, _ in read(db, 2**63 - 1)] == far


_SEQS = st.sets(st.integers(1, 40), max_size=12)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(_SEQS, _SEQS, st.integers(0, 40)), max_size=6), st.integers(1, 9))
def test_any_order_of_arrival_reads_the_same(
    file: sqlite3.Connection, arrivals: list[tuple[set[int], set[int], int]], page_frames: int
) -> None:
    file.execute("DELETE FROM records")
    kept: dict[int, tuple[int, bytes, bool]] = {}
    for number, (priority, trace, through) in enumerate(arrivals):
        word = f"-{number}"
        new = {seq: (seq, f"{seq}{word}".encode(), False) for seq in trace}
        new |= {seq: (seq, f"{seq}{word}".encode(), True) for seq in priority}
        stored = store(
            file,
            frames(sorted(priority), word),
            frames(sorted(trace), word),
            highest=max(kept, default=0),
            through=through,
        )
        assert stored == len(new.keys() - kept.keys())
        kept = new | kept
    assert read(file, 40, page_frames=page_frames) == [kept[seq] for seq in sorted(kept)]
    spans = rows(file)
    assert all(one[1] < other[0] for one, other in pairwise(spans))
