"""Retention of the SQLite file: its room, its other users, and who was killed at it."""

from __future__ import annotations

import random
import sqlite3
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compass_agent.errors.codes import OperationError
from compass_agent.log import Retention
from compass_agent.log.epoch import EpochHead
from compass_agent.log.sqlite import SqliteLog
from compass_agent.log.sqlite.records import store_frames, weigh_frames
from compass_agent.log.sqlite.trace import cut_trace, weigh_trace
from compass_agent.wire import SessionMeta
from writing_logs import E1, Clock, S, batch, end, read_all

if TYPE_CHECKING:
    from pathlib import Path

NO_LIMIT = Retention(ended_age_s=None, total_bytes=None)
PRUNER = """
import sys, anyio
from compass_agent.log import Retention
from compass_agent.log.sqlite import SqliteLog

async def main():
    log = SqliteLog(sys.argv[1])
    print("begins", flush=True)
    await log.prune(Retention(trace_frames=0, ended_age_s=0))

anyio.run(main)
"""


def prune_and_kill(path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PRUNER, str(path)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begins\n"
        with suppress(subprocess.TimeoutExpired):
            process.wait(random.uniform(0.0, 0.05))  # noqa: S311 - any moment will do
        process.kill()  # or it was done already: that is one of the moments


def free_and_all(path: Path) -> tuple[int, int]:
    connection = sqlite3.connect(path)
    (free,) = connection.execute("PRAGMA freelist_count").fetchone()
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    connection.close()
    return free, pages


async def fill(log: SqliteLog, session: str, frames: int, *, ends: bool) -> None:
    await log.open(session, E1)
    prev = number = first = 0
    for number, first in enumerate(range(1, frames, 256), 1):
        trace = range(first + 1, first + 256)
        one = batch(number, priority=[first], trace=trace, through=first + 255, session=session)
        await log.append(replace(one, prev_priority=prev))
        prev = first
    if ends:
        last = first + 255
        await log.append(replace(end(number + 1, last, prev), session=session))


@pytest.mark.requirement("G-KEEP-3")
async def test_room_goes_back_to_the_file_system(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    log = SqliteLog(path)
    await fill(log, S, 8_000, ends=False)
    await fill(log, "over", 8_000, ends=True)
    _, before = free_and_all(path)
    pruned = await log.prune(replace(NO_LIMIT, trace_frames=100, ended_age_s=0))
    assert pruned.removed == ("over",)
    free, after = free_and_all(path)
    assert free == 0
    assert after < before / 10
    assert pruned.bytes_after == after * 4096
    await log.aclose()


@pytest.mark.requirement("G-KEEP-3")
async def test_whoever_is_killed_at_it_leaves_the_file_whole_and_the_rest_to_the_next(
    tmp_path: Path,
) -> None:
    path = tmp_path / "log.db"
    log = SqliteLog(path)
    await fill(log, S, 8_000, ends=False)
    await fill(log, "over", 8_000, ends=True)
    for _ in range(2):
        prune_and_kill(path)
        found = await read_all(log, page_frames=4096)
        assert [word for word in found if word[0] == "p"] == [
            f"p{first}" for first in range(1, 8_000, 256)
        ]
        places = sum(_count(word) for word in found)
        assert places == (await log.sessions())[0].cursor.seq
    pruned = await log.prune(Retention(trace_frames=0, ended_age_s=0))
    assert [one.session for one in await log.sessions()] == [S]
    connection = sqlite3.connect(path)
    assert connection.execute("SELECT count(*) FROM doomed").fetchone() == (0,)
    assert connection.execute("SELECT total(frames), total(bytes) FROM strides").fetchone() == (
        0,
        0,
    )
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()
    assert pruned.bytes_after < 2_000_000
    await log.aclose()


def _count(word: str) -> int:
    if not word.startswith("gap"):
        return int(word[0] in "pt")
    first, last = word.split()[1].split("-")
    return int(last) - int(first) + 1


@pytest.mark.requirement("G-KEEP-3")
async def test_a_little_is_removed_behind_each_append_until_nothing_is_left(
    tmp_path: Path,
) -> None:
    path, clock = tmp_path / "log.db", Clock()
    log = SqliteLog(path, now_ms=clock, retention=NO_LIMIT)
    await fill(log, "over", 50_000, ends=True)
    await log.aclose()
    clock.pass_s(31 * 86_400)
    log = SqliteLog(path, now_ms=clock)
    await log.open(S, E1)
    sizes: list[int] = []
    for number in range(1, 60):
        await log.append(batch(number, trace=[number], through=number))
        assert [one.session for one in await log.sessions()] == [S]
        clock.pass_s(1)
        sizes.append(free_and_all(path)[1])
    steps = {before - after for before, after in pairwise(sizes)}
    assert max(steps) < sizes[0] / 5
    assert sizes[-1] < sizes[0] / 20
    await log.aclose()


async def test_who_has_the_file_open_for_longer_does_not_trim_for_others(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    keeps, trims = SqliteLog(path), SqliteLog(path, retention=replace(NO_LIMIT, trace_frames=0))
    await fill(keeps, S, 1_000, ends=False)
    assert (await keeps.prune()).trimmed == {}
    assert (await trims.prune()).trimmed == {S: 4 * 255}
    assert (await read_all(keeps))[:2] == ["p1", "gap 2-256 retention"]
    for log in (keeps, trims):
        await log.aclose()


async def test_an_append_is_answered_when_the_file_cannot_be_tended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(*_: object) -> None:
        raise sqlite3.OperationalError("no")

    monkeypatch.setattr("compass_agent.log.sqlite.keeper.sessions_kept", fails)
    log = SqliteLog(tmp_path / "log.db")
    await log.open(S, E1)
    assert (await log.append(batch(1, trace=[1], through=1))).through == 1
    assert "could not be removed now" in caplog.text
    with pytest.raises(OperationError):
        await log.prune()
    await log.aclose()


async def test_a_session_that_came_back_is_not_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from compass_agent.log.sqlite import keeper, retention  # noqa: PLC0415 - patched here

    clock = Clock()
    log = SqliteLog(tmp_path / "log.db", now_ms=clock)
    await fill(log, S, 256, ends=True)
    real = retention.sessions_kept

    def and_then_opens(db: sqlite3.Connection, now_ms: int) -> object:
        found = real(db, now_ms)
        other = SqliteLog(tmp_path / "log.db", now_ms=clock)
        anyio.from_thread.run(other.open, S, "2" * 16)
        anyio.from_thread.run(other.aclose)
        return found

    monkeypatch.setattr(keeper, "sessions_kept", and_then_opens)
    assert (await log.prune(Retention(ended_age_s=0))).removed == ()
    assert (await read_all(log))[0] == "p1"
    await log.aclose()


NO_HEAD = EpochHead("", SessionMeta())
RECORDS = """
CREATE TABLE records (
  eid INTEGER, last INTEGER, first INTEGER, frames INTEGER,
  offsets BLOB, ends BLOB, lanes BLOB, data BLOB, PRIMARY KEY (eid, last)
) WITHOUT ROWID
"""
PLACES = st.sets(st.integers(1, 60), max_size=30)


@settings(deadline=None)
@given(st.lists(st.tuples(PLACES, PLACES), min_size=1, max_size=4), st.lists(st.integers(0, 60)))
def test_any_cuts_leave_priority_and_what_is_newer(
    batches: list[tuple[set[int], set[int]]], cuts: list[int]
) -> None:
    db = sqlite3.connect(":memory:", isolation_level=None)
    db.execute(RECORDS)
    stored: dict[int, bool] = {}
    for priority, trace in batches:
        new = dict.fromkeys(trace, False) | dict.fromkeys(priority, True)
        head = replace(NO_HEAD, highest=max(stored, default=0))
        lanes = [(seq, bytes(seq)) for seq in sorted(new)]
        urgent = [frame for frame in lanes if new[frame[0]]]
        rest = [frame for frame in lanes if not new[frame[0]]]
        store_frames(db, 1, urgent, rest, before=head, through=60)
        stored = new | stored
    after = 0
    for last in cuts:
        cut_trace(db, 1, after, last)
        stored = {seq: lane for seq, lane in stored.items() if lane or not after < seq <= last}
        found = [(seq, lane) for seq, _, lane in weigh_frames(db, 1, 0, 60)]
        assert found == sorted(stored.items())
        trace = [seq for seq in sorted(stored) if not stored[seq]]
        assert [*weigh_trace(db, 1, 0, 60)] == [(seq, seq) for seq in trace]
        after = max(after, last)
    db.close()
