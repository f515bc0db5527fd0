from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import anyio
import pytest

from compass_agent.errors.codes import ErrorCode, OperationError
from compass_agent.frames import Cursor
from compass_agent.log.epoch import EpochHead, Mark
from compass_agent.log.merge import gaps
from compass_agent.wire import Batch, FrameItem, GapReason, SessionMeta
from writing_logs import (
    E1,
    E2,
    E3,
    Clock,
    S,
    batch,
    end,
    read_all,
    state,
    told,
)

if TYPE_CHECKING:
    from compass_agent.log import Pages, SessionLog

META = SessionMeta()


async def take(pages: Pages, words: int) -> list[str]:
    """Read live until there are so many items."""
    found: list[str] = []
    with anyio.fail_after(5):
        while len(found) < words:
            found += told((await anext(pages)).items)
    return found


@pytest.mark.requirement("G-READ-1", "G-READ-2")
async def test_readers_get_emission_order_and_never_beyond_the_watermark(log: SessionLog) -> None:
    await log.open(S, E1, META)
    await log.append(batch(1, priority=[6, 9], trace=[1, 2], through=2))
    assert await read_all(log) == ["t1", "t2"]
    await log.append(batch(2, trace=[3, 5, 7], through=7, prev_priority=9))
    assert await read_all(log) == ["t1", "t2", "t3", "gap 4-4 dropped", "t5", "p6", "t7"]
    await log.append(batch(3, through=9, prev_priority=9))
    assert (await read_all(log))[-2:] == ["gap 8-8 dropped", "p9"]


async def test_the_bytes_of_a_frame_come_out_as_they_went_in(log: SessionLog) -> None:
    odd = bytes(range(256))
    await log.open(S, E1, META)
    await log.append(Batch(S, E1, 1, [(2, state(3))], [(1, odd)], 2))
    (page,) = [page async for page in log.read(S, follow=False)]
    assert page.items == [FrameItem(E1, 1, odd), FrameItem(E1, 2, state(3), priority=True)]
    assert page.cursor == Cursor(E1, 2)
    assert len({*page.items, FrameItem(E1, 1, odd)}) == 2


@pytest.mark.requirement("G-READ-3")
@pytest.mark.parametrize("page_frames", [1, 2, 5, 1000])
async def test_pages_of_any_size_hold_the_same_and_end_where_their_cursor_says(
    log: SessionLog, page_frames: int
) -> None:
    await log.open(S, E1, META)
    places = [seq for seq in range(1, 31) if seq % 7]
    await log.append(batch(1, priority=places[::5], trace=places, through=32, prev_priority=0))
    whole = await read_all(log, page_frames=1000)
    pages = [page async for page in log.read(S, follow=False, page_frames=page_frames)]
    assert [word for page in pages for word in told(page.items)] == whole
    for number, page in enumerate(pages):
        assert sum(isinstance(item, FrameItem) for item in page.items) <= page_frames
        rest = [word for later in pages[number + 1 :] for word in told(later.items)]
        assert await read_all(log, page.cursor) == rest


@pytest.mark.requirement("G-READ-4")
async def test_a_page_of_large_frames_is_short(log: SessionLog) -> None:
    await log.open(S, E1, META)
    await log.append(Batch(S, E1, 1, [], [(seq, bytes(10_000)) for seq in range(1, 301)], 300))
    sizes = [len(page.items) async for page in log.read(S, follow=False)]
    assert sum(sizes) == 300
    assert max(sizes) <= 128


@pytest.mark.requirement("G-READ-1")
async def test_every_epoch_is_read_in_the_order_of_opening(log: SessionLog) -> None:
    await log.open(S, E2, META)
    await log.append(batch(1, trace=[1], through=1, epoch=E2))
    await log.append(end(2, 1, epoch=E2))
    await log.open(S, E1, META)
    await log.append(batch(1, trace=[1], through=2))
    await log.open(S, E3, META)
    assert await read_all(log) == [
        "t1",
        "end 1 4",
        "reset 1 new_epoch",
        "t1",
        "gap 2-2 dropped",
        "reset 3 new_epoch",
    ]
    assert await read_all(log, Cursor(E2, 1)) == (await read_all(log))[1:]
    assert await read_all(log, Cursor(E1, 0)) == (await read_all(log))[3:]
    assert await read_all(log, Cursor(E3, 0)) == []


@pytest.mark.requirement("G-READ-3")
async def test_a_cursor_of_an_unknown_epoch_starts_over_with_the_oldest(log: SessionLog) -> None:
    await log.open(S, E1, META)
    await log.append(batch(1, trace=[1], through=1))
    assert await read_all(log, Cursor(E3, 480)) == ["reset 1 unknown_epoch", "t1"]


@pytest.mark.requirement("G-READ-3")
async def test_a_cursor_above_what_is_stored_is_a_conflict_after_a_while(log: SessionLog) -> None:
    await log.open(S, E1, META)
    await log.append(batch(1, trace=[1], through=1))
    for follow in (True, False):
        for seq in (2, 2**64 - 1):
            with pytest.raises(OperationError) as caught, anyio.fail_after(5):
                await anext(log.read(S, Cursor(E1, seq), follow=follow))
            assert caught.value.code is ErrorCode.CONFLICT


async def test_a_cursor_that_the_log_reaches_while_it_waits_is_taken(log: SessionLog) -> None:
    object.__setattr__(log, "ahead_s", 5)
    await log.open(S, E1, META)
    pages = log.read(S, Cursor(E1, 2))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(log.append, batch(1, trace=[1, 2, 3], through=3))
        assert await take(pages, 2) == ["t3", "caught up"]


async def test_no_such_session_is_not_found(log: SessionLog) -> None:
    with pytest.raises(OperationError) as caught:
        await anext(log.read(S))
    assert caught.value.code is ErrorCode.NOT_FOUND


async def test_what_cannot_be_asked_is_refused(log: SessionLog) -> None:
    for session, page_frames in (("no id", 1), (S, 0)):
        with pytest.raises(OperationError) as caught:
            log.read(session, page_frames=page_frames)
        assert caught.value.code is ErrorCode.UNSUPPORTED_INPUT


@pytest.mark.requirement("G-READ-3")
async def test_between_replay_and_live_there_is_neither_hole_nor_repeat(log: SessionLog) -> None:
    await log.open(S, E1, META)
    await log.append(batch(1, trace=[1, 2], through=2))
    pages = log.read(S, page_frames=1)
    assert await take(pages, 3) == ["t1", "t2", "caught up"]
    async with anyio.create_task_group() as tasks:

        async def write() -> None:
            for number in range(3, 40):
                await log.append(batch(number, trace=[number], through=number))

        tasks.start_soon(write)
        assert await take(pages, 37) == [f"t{seq}" for seq in range(3, 40)]


@pytest.mark.requirement("G-READ-5")
async def test_a_live_reader_stops_at_the_end_and_goes_on_with_a_newer_epoch(
    log: SessionLog,
) -> None:
    await log.open(S, E1, META)
    pages = log.read(S)
    assert await take(pages, 1) == ["caught up"]
    await log.append(batch(1, trace=[1], through=1))
    await log.open(S, E2, META)
    assert await take(pages, 2) == ["t1", "reset 2 new_epoch"]
    await log.append(batch(1, priority=[1], through=1, epoch=E2))
    await log.append(end(2, 1, 1, epoch=E2))
    assert await take(pages, 2) == ["p1", "end 1 4"]
    with pytest.raises(StopAsyncIteration):
        await anext(pages)
    assert await take(log.read(S, Cursor(E2, 1)), 1) == ["end 1 4"]


@pytest.mark.requirement("G-LOG-5")
async def test_a_detached_epoch_is_closed_by_its_reader_and_told_as_disconnected(
    log: SessionLog, clock: Clock
) -> None:
    await log.open(S, E1, META)
    await log.append(batch(1, priority={5: state(3)}, trace=[1, 3], through=1))
    pages = log.read(S)
    assert await take(pages, 2) == ["t1", "caught up"]
    clock.pass_s(10)
    lost = ["gap 2-2 writer_gone", "t3", "gap 4-4 writer_gone", "p5", "state 6"]
    assert await take(pages, 5) == lost
    assert await read_all(log, Cursor(E1, 1)) == lost
    assert await take(log.read(S, Cursor(E1, 5)), 2) == ["state 6", "caught up"]
    late = await log.append(batch(2, priority=[7], trace=[2, 4, 6], through=7, prev_priority=5))
    assert late.late_trace == 2
    assert await take(pages, 3) == ["t6", "p7", "state 3"]
    assert await read_all(log) == ["t1", *lost[:-1], "t6", "p7"]


@pytest.mark.requirement("G-LOG-5")
async def test_a_renewed_lease_brings_the_stored_state_back(log: SessionLog, clock: Clock) -> None:
    await log.open(S, E1, META)
    await log.append(batch(1, priority={1: state(2)}, through=1))
    clock.pass_s(10)
    pages = log.read(S)
    assert await take(pages, 3) == ["p1", "state 6", "caught up"]
    await log.renew([(S, E1)])
    assert await take(pages, 1) == ["state 2"]
    clock.pass_s(10)
    assert await take(pages, 1) == ["state 6"]


@pytest.mark.requirement("G-LOG-5")
async def test_a_closing_mark_is_refused_while_the_writer_lives_or_has_ended(
    log: SessionLog, clock: Clock
) -> None:
    await log.open(S, E1, META)
    await log.append(batch(1, trace=[3], through=1))
    await log.close_below(S, E1)
    await log.close_below(S, E2)
    await log.close_below("nobody", E2)
    assert (await log.sessions())[0].cursor == Cursor(E1, 1)
    clock.pass_s(10)
    await log.close_below(S, E1)
    assert (await log.sessions())[0].cursor == Cursor(E1, 3)


@pytest.mark.requirement("G-LOG-3")
async def test_frames_of_a_sealed_epoch_come_late_to_live_readers_and_in_place_to_others(
    log: SessionLog,
) -> None:
    await log.open(S, E1, META)
    await log.append(batch(1, trace=[1], through=1))
    past, away = log.read(S), log.read(S, Cursor(E1, 0))
    assert await take(past, 2) == ["t1", "caught up"]
    await log.open(S, E2, META)
    assert await take(past, 1) == ["reset 2 new_epoch"]
    await log.append(batch(2, priority=[3], trace=[4], through=4))
    with anyio.fail_after(5):
        page = await anext(past)
    assert (told(page.items), page.cursor) == (["p3 late"], Cursor(E2, 0))
    await log.append(batch(1, trace=[1], through=1, epoch=E2))
    assert await take(past, 1) == ["t1"]
    in_place = ["t1", "gap 2-2 writer_gone", "p3", "reset 2 new_epoch", "t1"]
    assert await read_all(log) == in_place
    assert await take(away, 6) == [*in_place, "caught up"]
    assert await take(log.read(S, Cursor(E2, 0)), 2) == ["t1", "caught up"]


@pytest.mark.requirement("G-READ-2")
async def test_a_frame_that_a_live_reader_meets_at_its_place_does_not_come_late_as_well(
    log: SessionLog,
) -> None:
    await log.open(S, E1, META)
    pages = log.read(S, page_frames=1)
    await take(pages, 1)
    await log.append(batch(1, trace=[1, 2], through=2))
    await log.open(S, E2, META)
    await log.append(batch(2, priority=[3, 4], through=4))
    assert await take(pages, 5) == ["t1", "t2", "p3", "p4", "reset 2 new_epoch"]
    await log.append(batch(1, trace=[1], through=1, epoch=E2))
    assert await take(pages, 1) == ["t1"]


async def test_a_session_that_is_deleted_under_its_reader_is_not_found(log: SessionLog) -> None:
    await log.open(S, E1, META)
    pages = log.read(S)
    await take(pages, 1)
    await log.delete(S)
    with pytest.raises(OperationError) as caught, anyio.fail_after(5):
        await anext(pages)
    assert caught.value.code is ErrorCode.NOT_FOUND


async def test_a_cancelled_wait_loses_nothing_and_the_reader_goes_on(log: SessionLog) -> None:
    await log.open(S, E1, META)
    pages = log.read(S)
    await take(pages, 1)
    for seq in range(1, 20):
        with anyio.move_on_after(0):
            await anext(pages)
        with anyio.move_on_after(0.001):
            await anext(pages)
        await log.append(batch(seq, trace=[seq], through=seq))
        assert await take(pages, 1) == [f"t{seq}"]


@pytest.mark.requirement("G-READ-4")
async def test_a_reader_that_is_dropped_or_closed_leaves_nothing_behind(log: SessionLog) -> None:
    await log.open(S, E1, META)
    async for _ in log.read(S):
        break
    pages = log.read(S)
    await take(pages, 1)
    await pages.aclose()
    with pytest.raises(StopAsyncIteration):
        await anext(pages)


@pytest.mark.requirement("G-READ-4")
async def test_two_readers_at_different_places_each_get_their_own_suffix(log: SessionLog) -> None:
    await log.open(S, E1, META)
    await log.append(batch(1, trace=range(1, 21), through=20))
    near, far = log.read(S, Cursor(E1, 3), page_frames=2), log.read(S, Cursor(E1, 15))
    assert await take(far, 6) == [*(f"t{seq}" for seq in range(16, 21)), "caught up"]
    assert await take(near, 18) == [*(f"t{seq}" for seq in range(4, 21)), "caught up"]


@pytest.mark.requirement("G-READ-2")
def test_a_trimmed_range_reads_as_retention_unless_a_fault_is_known_there() -> None:
    head = EpochHead(
        E1,
        META,
        through=40,
        trimmed=20,
        marks=(Mark(5, 6, GapReason.LOG_LOSS), Mark(15, 30, GapReason.WRITER_GONE)),
    )
    assert told(gaps(head, 3, 40)) == [
        "gap 3-4 retention",
        "gap 5-6 log_loss",
        "gap 7-20 retention",
        "gap 21-30 writer_gone",
        "gap 31-40 dropped",
    ]
    assert told(gaps(replace(head, marks=(), trimmed=0), 3, 40)) == ["gap 3-40 dropped"]
