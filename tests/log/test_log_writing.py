from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from compass_agent.errors.codes import ErrorCode, OperationError
from compass_agent.frames import Cursor
from compass_agent.log.epoch import FOREVER
from compass_agent.wire import Answer, Batch, EndMark, SessionMeta
from writing_logs import E1, E2, E3, Clock, S, aborted, batch, end, failed, read_all, state

if TYPE_CHECKING:
    from compass_agent.log import SessionLog

META = SessionMeta("a title", "pi", "1.2")


async def test_a_batch_is_stored_and_answered_with_what_is_stored_then(log: SessionLog) -> None:
    await log.open(S, E1, META)
    answer = await log.append(batch(1, priority=[1, 4], trace=[2, 3], through=4))
    assert answer == Answer(batch=1, last_priority=4, through=4)
    assert await read_all(log) == ["p1", "t2", "t3", "p4"]


@pytest.mark.requirement("G-LOG-1")
async def test_the_same_batch_twice_changes_nothing_and_is_answered_as_the_first_time(
    log: SessionLog, clock: Clock
) -> None:
    await log.open(S, E1, META)
    await log.append(batch(1, trace=[4], through=5))
    second = batch(2, priority=[7], trace=[5, 6], through=7)
    first_answer = await log.append(second)
    assert first_answer.late_trace == 1
    before = await log.sessions()
    clock.pass_s(1)
    assert await log.append(second) == first_answer
    assert await log.sessions() == before
    await log.append(batch(3, trace=[8], through=8, prev_priority=7))
    assert await log.append(second) == first_answer


async def test_late_trace_is_dropped_and_counted_and_priority_is_not_late(log: SessionLog) -> None:
    await log.open(S, E1, META)
    await log.append(batch(1, trace=[3], through=3))
    answer = await log.append(batch(2, priority=[6], trace=[1, 2, 5], through=6))
    assert answer == Answer(batch=2, last_priority=6, through=6, late_trace=2)
    assert await read_all(log) == ["gap 1-2 dropped", "t3", "gap 4-4 dropped", "t5", "p6"]


@pytest.mark.requirement("G-LOG-1")
async def test_a_copy_of_a_batch_that_is_long_answered_changes_nothing_and_is_no_sign_of_life(
    log: SessionLog, clock: Clock
) -> None:
    await log.open(S, E1, META)
    for number in range(1, 8):
        await log.append(batch(number, trace=[number], through=number))
    clock.pass_s(11)
    before = await log.sessions()
    assert before[0].state == 6
    await log.append(batch(1, trace=[1], through=1))
    assert await log.sessions() == before


@pytest.mark.requirement("G-LOG-1")
async def test_priority_that_is_stored_is_not_stored_again(log: SessionLog) -> None:
    await log.open(S, E1, META)
    await log.append(batch(1, priority={1: state(3)}, through=1))
    answer = await log.append(batch(2, priority={1: state(5), 2: state(2)}, through=2))
    assert answer.last_priority == 2
    (summary,) = await log.sessions()
    assert (summary.frames, summary.state) == (2, 2)


@pytest.mark.requirement("G-LOG-2")
async def test_nothing_is_taken_of_a_batch_when_priority_before_it_is_missing(
    log: SessionLog,
) -> None:
    await log.open(S, E1, META)
    await log.append(batch(1, priority=[1], through=1))
    ahead = batch(2, priority=[5], trace=[6], through=6, prev_priority=3)
    answer = await log.append(ahead)
    assert answer == Answer(batch=2, last_priority=1, through=1, missing_from=2)
    assert await read_all(log) == ["p1"]
    await log.append(batch(3, priority=[3], through=3, prev_priority=1))
    assert (await log.append(ahead)).through == 6
    assert await read_all(log) == ["p1", "gap 2-2 dropped", "p3", "gap 4-4 dropped", "p5", "t6"]


@pytest.mark.requirement("G-LOG-2")
async def test_priority_that_the_sender_has_no_more_reads_as_a_loss_of_the_log(
    log: SessionLog,
) -> None:
    await log.open(S, E1, META)
    await log.append(batch(1, priority=[1], trace=[2], through=3))
    refused = batch(2, priority=[8], through=8, prev_priority=6)
    assert (await log.append(refused)).missing_from == 2
    answer = await log.append(replace(refused, lost_priority=6))
    assert answer == Answer(batch=2, last_priority=8, through=8)
    assert await read_all(log) == [
        "p1",
        "t2",
        "gap 3-3 dropped",
        "gap 4-6 log_loss",
        "gap 7-7 dropped",
        "p8",
    ]


async def test_a_batch_number_that_comes_again_with_new_priority_is_no_repeat(
    log: SessionLog,
) -> None:
    await log.open(S, E1, META)
    await log.append(batch(1, priority=[1], through=1))
    answer = await log.append(batch(1, priority=[2], through=2, prev_priority=1))
    assert answer.last_priority == 2
    assert await read_all(log) == ["p1", "p2"]


@pytest.mark.requirement("G-LOG-3")
async def test_a_sealed_epoch_takes_priority_and_the_end_but_no_trace_and_no_longer_tells_a_state(
    log: SessionLog,
) -> None:
    await log.open(S, E1, META)
    await log.append(batch(1, priority={1: state(3)}, trace=[2, 5], through=2))
    await log.open(S, E2, SessionMeta())
    answer = await log.append(
        batch(2, priority={7: state(5)}, trace=[6, 8], through=8, prev_priority=1)
    )
    assert answer == Answer(batch=2, last_priority=7, through=7, late_trace=2, sealed=True)
    answer = await log.append(end(3, 9, 7))
    assert (answer.through, answer.sealed) == (9, True)
    (summary,) = await log.sessions()
    assert (summary.epoch, summary.state, summary.last_error) == (E2, 0, None)
    assert await read_all(log) == [
        "p1",
        "t2",
        "gap 3-4 writer_gone",
        "t5",
        "gap 6-6 writer_gone",
        "p7",
        "gap 8-9 writer_gone",
        "end 9 4",
        "reset 2 new_epoch",
    ]


@pytest.mark.requirement("G-LOG-6")
async def test_an_end_mark_that_lacks_priority_is_refused(log: SessionLog) -> None:
    await log.open(S, E1, META)
    answer = await log.append(end(1, 4, prev_priority=2))
    assert (answer.missing_from, answer.through) == (1, 0)
    await log.append(batch(2, priority=[2], through=2))
    assert (await log.append(end(1, 4, prev_priority=2))).through == 4
    (summary,) = await log.sessions()
    assert summary.ended


@pytest.mark.requirement("G-LOG-6")
async def test_after_its_end_an_epoch_takes_nothing_but_the_same_end_again(
    log: SessionLog,
) -> None:
    await log.open(S, E1, META)
    await log.append(batch(1, priority=[1], through=1))
    first = await log.append(end(2, 1, 1))
    assert await log.append(end(2, 1, 1)) == first
    assert (await log.append(end(9, 1, 1))).code is None
    assert (await log.append(end(3, 2, 1))).code is ErrorCode.CONFLICT
    refused = await log.append(batch(4, priority=[2], trace=[3], through=3, prev_priority=1))
    assert (refused.code, refused.through, refused.late_trace) == (ErrorCode.CONFLICT, 1, 1)
    assert await read_all(log) == ["p1", "end 1 4"]


@pytest.mark.parametrize(
    "bad",
    [
        batch(1, priority={1: b"\xff\xff"}, through=1),
        Batch(S, E1, 1, [], [(2, b""), (2, b"")], 2),
        Batch(S, E1, 1, [], [(0, b"")], 2),
        batch(1, priority=[FOREVER + 1], through=1),
        batch(1, through=FOREVER + 1),
        Batch(S, E1, 1, end=EndMark(4, "", FOREVER + 1, 0)),
    ],
    ids=["not a frame", "twice", "zero", "seq too large", "through too large", "end too large"],
)
async def test_a_batch_that_can_never_be_stored_is_refused_for_good(
    log: SessionLog, bad: Batch
) -> None:
    await log.open(S, E1, META)
    answer = await log.append(bad)
    assert answer == Answer(1, 0, 0, code=ErrorCode.UNSUPPORTED_INPUT)
    assert await read_all(log) == []


async def test_an_epoch_that_was_not_opened_is_not_found(log: SessionLog) -> None:
    for unknown in (batch(1, trace=[1]), batch(1, trace=[1], epoch=E2)):
        with pytest.raises(OperationError) as caught:
            await log.append(unknown)
        assert caught.value.code is ErrorCode.NOT_FOUND
        await log.open(S, E1, META)


@pytest.mark.parametrize(("session", "epoch"), [("a b", E1), ("", E1), (S, "1"), (S, "G" * 16)])
async def test_names_that_cannot_be_are_refused(log: SessionLog, session: str, epoch: str) -> None:
    with pytest.raises(OperationError) as caught:
        await log.open(session, epoch, META)
    assert caught.value.code is ErrorCode.UNSUPPORTED_INPUT
    assert await log.sessions() == []


async def test_opening_an_epoch_again_changes_nothing(log: SessionLog) -> None:
    await log.open(S, E1, META)
    await log.open(S, E2, META)
    before = await log.sessions()
    await log.open(S, E1, SessionMeta("another"))
    await log.open(S, E2, SessionMeta("another"))
    assert await log.sessions() == before


@pytest.mark.requirement("G-LOG-3")
async def test_a_dead_writers_epoch_is_placed_before_the_one_at_work(log: SessionLog) -> None:
    await log.open(S, E1, META)
    await log.open(S, E3, META)
    await log.open(S, E2, META, recovered=True)
    answer = await log.append(batch(1, priority={1: state(5)}, through=1, epoch=E2))
    assert answer.sealed
    await log.append(batch(1, priority={1: state(3)}, through=1, epoch=E3))
    assert await read_all(log) == ["reset 2 new_epoch", "p1", "reset 3 new_epoch", "p1"]
    (summary,) = await log.sessions()
    assert (summary.epoch, summary.state) == (E3, 3)


async def test_a_dead_writers_epoch_becomes_the_current_one_when_nobody_is_at_work(
    log: SessionLog, clock: Clock
) -> None:
    await log.open(S, E1, META)
    clock.pass_s(11)
    await log.open(S, E2, META, recovered=True)
    answer = await log.append(batch(1, priority={1: failed("boom")}, through=1, epoch=E2))
    assert not answer.sealed
    (summary,) = await log.sessions()
    assert summary.epoch == E2
    assert summary.last_error is not None


@pytest.mark.requirement("G-LOG-4")
async def test_a_summary_follows_priority_frames_ahead_of_the_watermark(
    log: SessionLog, clock: Clock
) -> None:
    await log.open(S, E1, META)
    clock.pass_s(1)
    await log.append(
        batch(1, priority={3: state(3), 8: failed("no quota"), 9: state(5)}, trace=[1], through=1)
    )
    (summary,) = await log.sessions()
    assert summary.last_error is not None
    assert summary.last_error.message == "no quota"
    assert (summary.title, summary.agent, summary.version) == ("a title", "pi", "1.2")
    assert (summary.state, summary.frames, summary.cursor) == (5, 4, Cursor(E1, 1))
    assert summary.updated_ms - summary.opened_ms == 1000
    await log.append(batch(2, priority={10: state(3)}, through=10, prev_priority=9))
    (summary,) = await log.sessions()
    assert (summary.state, summary.last_error) == (3, None)


async def test_an_abort_is_the_last_error_until_work_begins_again(log: SessionLog) -> None:
    await log.open(S, E1, META)
    await log.append(batch(1, priority={1: aborted("stopped"), 2: state(2)}, through=2))
    (summary,) = await log.sessions()
    assert summary.last_error is not None
    assert (summary.last_error.message, summary.state) == ("stopped", 2)
    await log.append(batch(2, priority={3: state(3)}, through=3, prev_priority=2))
    assert (await log.sessions())[0].last_error is None


async def test_sessions_are_listed_last_change_first_and_counted_over_epochs(
    log: SessionLog, clock: Clock
) -> None:
    for session in ("a", "b", "c"):
        await log.open(session, E1, META)
        clock.pass_s(1)
    await log.append(batch(1, trace=[1, 2], through=2, session="b"))
    clock.pass_s(1)
    await log.open("a", E2, META)
    await log.append(batch(1, trace=[1], through=1, session="a", epoch=E1))
    await log.append(batch(1, trace=[1], through=1, session="a", epoch=E2))
    found = [(summary.session, summary.frames) for summary in await log.sessions()]
    assert found == [("a", 1), ("b", 2), ("c", 0)]


@pytest.mark.requirement("G-LOG-5")
async def test_a_session_whose_writer_shows_no_life_is_listed_as_disconnected(
    log: SessionLog, clock: Clock
) -> None:
    await log.open(S, E1, META)
    await log.append(batch(1, priority={1: state(3)}, through=1))
    clock.pass_s(9)
    await log.renew([(S, E1), (S, E2), ("nobody", E1)])
    clock.pass_s(9)
    assert (await log.sessions())[0].state == 3
    clock.pass_s(1)
    assert (await log.sessions())[0].state == 6
    await log.append(batch(2, trace=[2], through=2, prev_priority=1))
    assert (await log.sessions())[0].state == 3
    await log.renew([(S, E1)], seconds=0)
    assert (await log.sessions())[0].state == 6
    await log.append(end(3, 2, 1))
    clock.pass_s(100)
    assert (await log.sessions())[0].state == 3


async def test_a_deleted_session_is_gone_and_its_name_is_free(log: SessionLog) -> None:
    await log.open(S, E1, META)
    await log.open("other", E1, META)
    await log.append(batch(1, trace=[1], through=1, session="other"))
    await log.append(batch(1, trace=range(1, 9000), through=9000))
    await log.delete(S)
    assert [summary.session for summary in await log.sessions()] == ["other"]
    assert await read_all(log, session="other") == ["t1"]
    for gone in (log.delete(S), read_all(log)):
        with pytest.raises(OperationError) as caught:
            await gone
        assert caught.value.code is ErrorCode.NOT_FOUND
    await log.open(S, E1, META)
    assert await read_all(log) == []


async def test_text_that_no_encoding_can_hold_is_made_valid(log: SessionLog) -> None:
    await log.open(S, E1, SessionMeta("a \ud800 b"))
    await log.append(Batch(S, E1, 1, end=EndMark(4, "\udfff", 0, 0)))
    assert (await log.sessions())[0].title == "a \ufffd b"
    assert await read_all(log) == ["end 0 4"]
