"""What a log keeps, and what it removes by itself while it is written to."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from compass_agent.errors.codes import ErrorCode, OperationError
from compass_agent.frames import Cursor
from compass_agent.log import Retention
from compass_agent.log.memory import MemoryLog
from compass_agent.log.retention import AWAY_MS
from compass_agent.log.schedule import Due, Schedule
from compass_agent.log.sqlite import SqliteLog
from writing_logs import E1, E2, Clock, S, batch, end, read_all, told

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable
    from pathlib import Path

    from compass_agent.log import SessionLog

DAY_S = 86_400.0
NO_LIMIT = Retention(ended_age_s=None, total_bytes=None)


@pytest.fixture(params=["memory", "sqlite"])
async def opened(
    request: pytest.FixtureRequest, tmp_path: Path, clock: Clock
) -> AsyncGenerator[Callable[[Retention], SessionLog]]:
    """Opens a log that keeps what the test says."""
    logs: list[SessionLog] = []

    def make(retention: Retention) -> SessionLog:
        if request.param == "memory":
            logs.append(MemoryLog(now_ms=clock, ahead_s=0, retention=retention))
        else:
            path = tmp_path / "log.db"
            logs.append(SqliteLog(path, now_ms=clock, ahead_s=0, retention=retention))
        return logs[-1]

    yield make
    for log in logs:
        await log.aclose()


async def ended(log: SessionLog, session: str) -> None:
    await log.open(session, E1)
    await log.append(batch(1, priority=[1], trace=[2], through=2, session=session))
    await log.append(replace(end(2, 2, 1), session=session))


async def names(log: SessionLog) -> set[str]:
    return {summary.session for summary in await log.sessions()}


@pytest.mark.requirement("G-KEEP-1", "G-READ-2")
async def test_a_session_that_goes_on_keeps_its_newest_trace_and_all_priority(
    opened: Callable[[Retention], SessionLog],
) -> None:
    log = opened(replace(NO_LIMIT, trace_frames=100))
    await log.open(S, E1)
    prev, most = 0, 0
    for number in range(1, 101):
        first = 50 * (number - 1) + 1
        places = range(first + 1, first + 50)
        await log.append(
            batch(number, priority=[first], trace=places, through=first + 49, prev_priority=prev)
        )
        prev = first
        (summary,) = await log.sessions()
        most = max(most, summary.frames - number)
    assert most <= 100 + 64 + 2 * 49
    await log.prune()
    found = await read_all(log, page_frames=50)
    assert [word for word in found if word[0] == "p"] == [f"p{50 * n + 1}" for n in range(100)]
    assert [word for word in found if word[0] == "t"][-100:] == [
        word for word in found if word[0] == "t"
    ]
    missing = sum(_count(word) for word in found if word.startswith("gap"))
    assert missing + len([word for word in found if word[0] in "pt"]) == 5000
    assert {word.split()[-1] for word in found if word.startswith("gap")} == {"retention"}


def _count(gap: str) -> int:
    first, last = gap.split()[1].split("-")
    return int(last) - int(first) + 1


@pytest.mark.requirement("G-KEEP-1")
async def test_trace_goes_by_the_time_at_which_it_was_stored(
    opened: Callable[[Retention], SessionLog], clock: Clock
) -> None:
    log = opened(replace(NO_LIMIT, trace_age_s=3600))
    await log.open(S, E1)
    prev = 0
    for minute in range(120):
        seq = minute * 2 + 1
        one = batch(minute + 1, priority=[seq], trace=[seq + 1], through=seq + 1)
        await log.append(replace(one, prev_priority=prev))
        prev = seq
        clock.pass_s(60)
    found = await read_all(log, page_frames=500)
    kept = [word for word in found if word[0] == "t"]
    assert 59 <= len(kept) <= 62
    assert kept[-1] == "t240"
    assert len([word for word in found if word[0] == "p"]) == 120


@pytest.mark.requirement("G-KEEP-1")
async def test_large_trace_goes_by_its_bytes(
    opened: Callable[[Retention], SessionLog],
) -> None:
    log = opened(replace(NO_LIMIT, trace_bytes=1_000_000))
    await log.open(S, E1)
    for number in range(1, 41):
        one = batch(number, through=number)
        one.trace.append((number, b"x" * 100_000))
        await log.append(one)
    (summary,) = await log.sessions()
    assert 10 <= summary.frames <= 20  # trimming may be a little behind
    await log.prune()
    (summary,) = await log.sessions()
    assert summary.frames == 10


@pytest.mark.requirement("G-KEEP-2")
async def test_sessions_go_thirty_days_after_they_were_over(
    opened: Callable[[Retention], SessionLog], clock: Clock
) -> None:
    log = opened(Retention())
    await ended(log, "over")
    await log.open("away", E1)
    await log.append(batch(1, priority=[1], through=1, session="away"))
    await log.open(S, E1)
    clock.pass_s(30 * DAY_S - 61)
    await log.append(batch(1, trace=[1], through=1))
    assert await names(log) == {"over", "away", S}
    clock.pass_s(61)
    await log.append(batch(2, trace=[2], through=2))
    assert await names(log) == {"away", S}
    clock.pass_s(3600)
    await log.append(batch(3, trace=[3], through=3))
    assert await names(log) == {S}


@pytest.mark.requirement("G-KEEP-2")
async def test_a_session_whose_writer_was_seen_today_is_not_over(
    opened: Callable[[Retention], SessionLog], clock: Clock
) -> None:
    log = opened(NO_LIMIT)
    now = Retention(ended_age_s=0, total_bytes=0)
    await log.open(S, E1)
    await log.append(batch(1, priority=[1], through=1))
    clock.pass_s(10 + DAY_S - 1)
    assert (await log.prune(now)).removed == ()
    await log.renew([(S, E1)])
    clock.pass_s(10 + AWAY_MS / 1000 - 1)
    assert (await log.prune(now)).removed == ()
    clock.pass_s(1)
    assert (await log.prune(now)).removed == (S,)


@pytest.mark.requirement("G-KEEP-2")
async def test_a_session_that_was_opened_again_is_not_over(
    opened: Callable[[Retention], SessionLog], clock: Clock
) -> None:
    log = opened(NO_LIMIT)
    await ended(log, S)
    await log.open(S, E2)
    clock.pass_s(5)
    assert (await log.prune(Retention(ended_age_s=0))).removed == ()
    assert (await read_all(log))[:2] == ["p1", "t2"]


@pytest.mark.requirement("G-KEEP-2")
async def test_what_arrives_late_in_an_older_epoch_counts_as_stored(
    opened: Callable[[Retention], SessionLog], clock: Clock
) -> None:
    log = opened(NO_LIMIT)
    await log.open(S, E1)
    await log.open(S, E2)
    await log.append(replace(end(1, 0), epoch=E2))
    clock.pass_s(DAY_S)
    await log.append(batch(1, priority=[1], through=1))
    assert (await log.prune(Retention(ended_age_s=3600))).removed == ()
    clock.pass_s(3600)
    assert (await log.prune(Retention(ended_age_s=3600))).removed == (S,)


async def test_a_dry_run_tells_what_pruning_then_does(
    opened: Callable[[Retention], SessionLog], clock: Clock
) -> None:
    log = opened(NO_LIMIT)
    for session in ("x", "y"):
        await ended(log, session)
        clock.pass_s(100)
    await log.open(S, E1)
    await log.append(batch(1, priority=[1, 9], trace=range(2, 9), through=9))
    clock.pass_s(50)
    await log.append(batch(2, trace=range(10, 20), through=19, prev_priority=9))
    keep = Retention(trace_frames=12, trace_bytes=1000, ended_age_s=200, total_bytes=None)
    before = await log.sessions()
    said = await log.prune(keep, dry_run=True)
    assert await log.sessions() == before
    done = await log.prune(keep)
    assert (said.removed, said.trimmed) == (done.removed, done.trimmed) == (("x",), {S: 5})
    assert said.bytes_before == done.bytes_before
    again = await log.prune(keep, dry_run=True)
    assert (again.removed, dict(again.trimmed)) == ((), {})


@pytest.mark.requirement("G-KEEP-1", "G-READ-3")
async def test_a_reader_between_two_pages_is_told_what_was_trimmed_meanwhile(
    opened: Callable[[Retention], SessionLog],
) -> None:
    log = opened(NO_LIMIT)
    await log.open(S, E1)
    await log.append(batch(1, priority=[600], trace=range(1, 600), through=1000))
    for page_frames in (1, 7, 256, 300):
        pages = log.read(S, page_frames=page_frames, follow=False)
        first = await anext(pages)
        place = first.items[-1]
        rest = [item async for page in pages for item in page.items]
        assert len(told(rest)) == 600 - page_frames + 1, place
    pages = log.read(S, page_frames=300)
    await anext(pages)
    await log.prune(replace(NO_LIMIT, trace_frames=50))
    found = told((await anext(pages)).items)
    assert found[:2] == ["gap 301-549 retention", "t550"]
    assert found[-3:] == ["p600", "gap 601-1000 dropped", "caught up"]


@pytest.mark.requirement("G-KEEP-2", "G-READ-3")
async def test_a_cursor_of_a_session_that_is_gone_is_reset_once_it_is_there_again(
    opened: Callable[[Retention], SessionLog],
) -> None:
    log = opened(NO_LIMIT)
    await ended(log, S)
    await log.prune(Retention(ended_age_s=0))
    with pytest.raises(OperationError) as caught:
        await read_all(log, Cursor(E1, 1))
    assert caught.value.code is ErrorCode.NOT_FOUND
    await log.open(S, E2)
    await log.append(batch(1, trace=[1], through=1, epoch=E2))
    assert await read_all(log, Cursor(E1, 1)) == ["reset 2 unknown_epoch", "t1"]


def test_a_log_is_looked_after_at_once_then_seldom() -> None:
    schedule = Schedule(Retention(trace_frames=1000))
    assert schedule.appended(S, 10, 0, 0) is Due.TEND
    assert schedule.appended(S, 114, 0, 59_999) is Due.NOTHING
    assert schedule.appended(S, 1, 0, 59_999) is Due.TRIM
    assert schedule.appended(S, 1, 0, 60_000) is Due.TEND
    assert schedule.appended(S, 1, 32 << 20, 60_001) is Due.TEND
    schedule.fell_behind(behind=True)
    assert schedule.appended(S, 1, 0, 61_000) is Due.NOTHING
    assert schedule.appended(S, 1, 0, 61_001) is Due.TEND
    schedule.fell_behind(behind=False)
    assert schedule.appended(S, 1, 0, 63_001) is Due.NOTHING
    assert schedule.appended(S, 1, 0, 0) is Due.TEND  # the clock was put back
