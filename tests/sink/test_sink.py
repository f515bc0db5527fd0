"""Batches, their numbers and answers, and what emit promises."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compass_agent.errors.codes import ErrorCode, OperationError
from compass_agent.frames import SessionFrame
from compass_agent.sink import FrameSink
from compass_agent.sink.lane import Lane
from compass_agent.wire import Answer, Batch
from sinks import assert_balanced, error, refused, stored, text


def take(sink: FrameSink) -> Batch:
    batch = sink.take()
    assert batch is not None
    return batch


def drain(sink: FrameSink) -> list[Batch]:
    batches: list[Batch] = []
    while (batch := sink.take()) is not None:
        sink.settle(batch, stored(batch))
        batches.append(batch)
    return batches


def test_a_new_sink_has_nothing_to_send() -> None:
    sink = FrameSink("s")

    assert sink.take() is None
    assert sink.is_drained()


@pytest.mark.requirement("G-SINK-7")
def test_positions_count_over_both_lanes() -> None:
    sink = FrameSink("s")
    for frame in (text(), error(), text()):
        sink.emit(frame)

    batch = take(sink)

    assert [seq for seq, _ in batch.priority] == [2]
    assert [seq for seq, _ in batch.trace] == [1, 3]
    assert (batch.number, batch.through, batch.prev_priority) == (1, 3, 0)


@pytest.mark.requirement("G-SINK-2")
def test_the_bytes_are_taken_at_once() -> None:
    sink = FrameSink("s")
    frame = text("before")
    sink.emit(frame)
    frame.typed_event.assistant_text.text = "after"

    ((_, data),) = take(sink).trace

    assert SessionFrame.FromString(data).typed_event.assistant_text.text == "before"


@pytest.mark.requirement("G-PUMP-3")
def test_a_batch_is_returned_again_until_it_is_settled() -> None:
    sink = FrameSink("s")
    sink.emit(text())
    batch = take(sink)
    sink.emit(error())

    assert sink.take() is batch
    sink.settle(batch, stored(batch))
    assert take(sink).priority[0][0] == 2


def test_settling_another_batch_changes_nothing() -> None:
    sink = FrameSink("s")
    sink.emit(text())
    batch = take(sink)
    sink.settle(batch, Answer(7, 0, 0))

    assert sink.take() is batch


@pytest.mark.requirement("G-PUMP-2")
def test_a_batch_names_the_priority_before_it() -> None:
    sink = FrameSink("s")
    sink.emit(error())
    sink.emit(error())
    drain(sink)
    sink.emit(text())
    sink.emit(error())

    batch = take(sink)

    assert batch.prev_priority == 2
    sink.settle(batch, stored(batch))
    sink.emit(text())
    assert take(sink).prev_priority == 4


@pytest.mark.requirement("G-SINK-5", "G-SINK-7")
def test_dropped_frames_are_told_by_through_alone() -> None:
    sink = FrameSink("s", trace_capacity=2)
    for number in range(5):
        sink.emit(text(str(number)))

    batch = take(sink)

    assert [seq for seq, _ in batch.trace] == [4, 5]
    assert batch.through == 5


@pytest.mark.requirement("G-PUMP-2")
def test_through_never_passes_a_waiting_frame() -> None:
    sink = FrameSink("s")
    for _ in range(300):
        sink.emit(error())

    first, second = drain(sink)

    assert (len(first.priority), first.through) == (256, 256)
    assert (len(second.priority), second.through) == (44, 300)


@pytest.mark.requirement("G-PUMP-2")
def test_an_empty_batch_carries_what_was_lost_at_the_end() -> None:
    sink = FrameSink("s")
    sink.emit(text())
    sink.lose_trace()

    batch = take(sink)

    assert (batch.priority, batch.trace, batch.through) == ([], [], 1)
    sink.settle(batch, stored(batch))
    assert sink.take() is None


@pytest.mark.requirement("G-PUMP-1")
def test_a_batch_is_bounded_in_bytes_but_takes_at_least_one_frame() -> None:
    sink = FrameSink("s")
    for _ in range(3):
        sink.emit(text("x" * 200_000))

    assert [len(batch.trace) for batch in drain(sink)] == [1, 1, 1]


@pytest.mark.requirement("G-PUMP-1")
def test_no_trace_overtakes_priority_that_does_not_fit_any_more() -> None:
    sink = FrameSink("s")
    sink.emit(error("x" * 200_000))
    sink.emit(error("x" * 200_000))
    sink.emit(text())

    first, second = drain(sink)

    assert [seq for seq, _ in [*first.priority, *first.trace]] == [1]
    assert [seq for seq, _ in [*second.priority, *second.trace]] == [2, 3]


@pytest.mark.requirement("G-SINK-5")
def test_the_trace_lane_is_bounded_in_bytes_too() -> None:
    sink = FrameSink("s", trace_bytes=1_000)
    for _ in range(100):
        sink.emit(text("x" * 90))

    lane = sink.statistics().trace

    assert lane.waiting * 90 <= 1_000
    assert lane.lost == 100 - lane.waiting
    assert_balanced(sink)


def test_a_frame_larger_than_the_lane_still_gets_through() -> None:
    sink = FrameSink("s", trace_bytes=10)
    sink.emit(text("x" * 90))

    assert len(take(sink).trace) == 1


def test_late_frames_are_lost_and_counted() -> None:
    sink = FrameSink("s")
    for _ in range(5):
        sink.emit(text())
    batch = take(sink)
    sink.settle(batch, stored(batch, late=2))

    lane = sink.statistics().trace
    assert (lane.delivered, lane.lost) == (3, 2)


@pytest.mark.requirement("G-LOG-3")
def test_a_sealed_writer_goes_on_with_priority_alone() -> None:
    sink = FrameSink("s")
    sink.emit(text())
    batch = take(sink)
    sink.emit(text())
    sink.settle(batch, stored(batch, sealed=True))
    sink.emit(text())
    sink.emit(error())

    assert [(len(batch.priority), len(batch.trace)) for batch in drain(sink)] == [(1, 0)]
    assert sink.statistics().fenced
    assert sink.statistics().trace.lost == 3
    assert_balanced(sink)


@pytest.mark.requirement("G-LOG-2")
def test_what_the_log_misses_and_is_gone_here_is_said() -> None:
    sink = FrameSink("s")
    sink.emit(error())
    drain(sink)
    sink.emit(error())
    batch = take(sink)
    sink.settle(batch, Answer(batch.number, 0, 0, missing_from=1))

    again = take(sink)

    assert again.lost_priority == 1
    assert (again.number, again.priority) == (batch.number, batch.priority)


@pytest.mark.requirement("G-PUMP-4")
@pytest.mark.parametrize("bad", range(10))
def test_a_refused_batch_is_halved_until_the_bad_frame_stands_alone(bad: int) -> None:
    sink = FrameSink("s")
    for number in range(10):
        sink.emit(error(str(number)) if number % 3 == 0 else text(str(number)))
    got: dict[int, bytes] = {}

    while (batch := sink.take()) is not None:
        frames = [*batch.priority, *batch.trace]
        if any(seq == bad + 1 and b"refused" not in data for seq, data in frames):
            sink.settle(batch, refused(batch))
        else:
            got.update(frames)
            sink.settle(batch, stored(batch))
        assert_balanced(sink)

    is_priority = bad % 3 == 0
    assert len(got) == (10 if is_priority else 9)
    if is_priority:
        notice = SessionFrame.FromString(got[bad + 1]).typed_event.notice.text
        assert "refused a frame" in notice
    assert sink.statistics().trace.lost == (0 if is_priority else 1)


def test_a_log_that_refuses_everything_does_not_hold_the_sink_for_ever() -> None:
    sink = FrameSink("s")
    for number in range(10):
        sink.emit(error(str(number)))
    sink.end(4)

    rounds = 0
    while (batch := sink.take()) is not None:
        sink.settle(batch, refused(batch))
        rounds += 1

    assert rounds < 100
    assert sink.statistics().priority.lost == 10


@pytest.mark.requirement("G-LOG-6")
def test_the_end_mark_is_sent_alone_and_last() -> None:
    sink = FrameSink("s")
    sink.emit(error())
    sink.emit(text())
    sink.end(4, "done")

    *_, last = drain(sink)

    assert (last.priority, last.trace) == ([], [])
    assert last.end is not None
    assert (last.end.last_seq, last.end.prev_priority, last.end.state) == (2, 1, 4)
    assert sink.is_drained()


@pytest.mark.requirement("G-LOG-6")
def test_frames_after_the_end_are_refused_and_counted() -> None:
    sink = FrameSink("s")
    sink.end(4)
    sink.emit(text())
    sink.emit(error())

    assert sink.statistics().after_end == 2
    assert sink.statistics().priority.emitted == 0


@pytest.mark.requirement("G-SINK-1")
@pytest.mark.parametrize("bad", [None, "frame", object(), b""])
def test_what_is_no_frame_is_counted_and_logged_once_a_kind(
    bad: Any, caplog: pytest.LogCaptureFixture
) -> None:
    sink = FrameSink("s")
    sink.emit(bad)
    sink.emit(bad)

    assert sink.statistics().rejected == 2
    assert len(caplog.records) == 1
    assert sink.take() is None


@pytest.mark.parametrize("session", ["", "-a", "a b", "é", "x" * 129, None, 5])
def test_a_bad_session_id_is_a_typed_error(session: Any) -> None:
    with pytest.raises(OperationError) as caught:
        FrameSink(session)
    assert caught.value.code is ErrorCode.UNSUPPORTED_INPUT


@pytest.mark.parametrize("bound", [{"trace_capacity": 0}, {"trace_bytes": 0}])
def test_a_bound_below_one_is_refused(bound: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        FrameSink(
            "s",
            trace_capacity=bound.get("trace_capacity", 1),
            trace_bytes=bound.get("trace_bytes", 1),
        )


def test_parking_asks_to_be_woken_once() -> None:
    sink = FrameSink("s")
    woken: list[int] = []

    assert sink.park(lambda: woken.append(1))
    sink.emit(text())
    sink.emit(text())

    assert woken == [1]
    assert not sink.park(lambda: woken.append(2))


@pytest.mark.requirement("G-SINK-1")
def test_an_emit_that_interrupts_another_keeps_order_and_counts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sink = FrameSink("s")
    original = Lane.append
    interrupted: list[bool] = []

    def append(self: Lane, seq: int, data: bytes) -> None:
        if not interrupted:
            interrupted.append(True)
            sink.emit(error("from a signal handler"))
        original(self, seq, data)

    monkeypatch.setattr(Lane, "append", append)
    sink.emit(text("interrupted"))

    batch = take(sink)
    assert [seq for seq, _ in batch.trace] == [1]
    assert [seq for seq, _ in batch.priority] == [2]
    assert_balanced(sink)


@pytest.mark.requirement("G-SINK-6")
@given(st.lists(st.sampled_from(["text", "error", "take", "settle", "late", "refuse"])))
def test_the_counters_balance_in_every_order(steps: list[str]) -> None:
    sink = FrameSink("s", trace_capacity=3)
    batch: Batch | None = None
    for step in steps:
        if step == "text":
            sink.emit(text())
        elif step == "error":
            sink.emit(error())
        elif step == "take":
            batch = sink.take()
        elif batch is not None:
            answer = refused(batch) if step == "refuse" else stored(batch, late=step == "late")
            sink.settle(batch, answer)
            batch = None
        assert_balanced(sink)
