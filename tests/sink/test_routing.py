"""Which lane a frame takes, and that the priority lane never drops."""

from __future__ import annotations

from typing import Any

import pytest

from compass_agent.frames import (
    AgentSessionState,
    FrameBuilder,
    SessionErrorKind,
    SessionEvent,
    SessionFrame,
    SessionInjectionKind,
    is_injection,
    is_lifecycle,
    is_priority,
    is_session_error,
)
from compass_agent.sink import FrameSink

BUILD = FrameBuilder(lambda: 0)
ERROR = SessionErrorKind.SESSION_ERROR_KIND_ERROR
ABORTED = SessionErrorKind.SESSION_ERROR_KIND_ABORTED
STOPPED = AgentSessionState.AGENT_SESSION_STATE_STOPPED
STEER = SessionInjectionKind.SESSION_INJECTION_KIND_STEER


def text(number: int) -> SessionFrame:
    return BUILD.assistant_text(f"{number}", "1")


def priority_frames() -> list[SessionFrame]:
    both = BUILD.notice("a state and an event in one frame")
    both.state = STOPPED
    return [
        BUILD.lifecycle(STOPPED),
        BUILD.session_injection(STEER, "m", "user"),
        BUILD.session_error(ERROR, "boom"),
        BUILD.session_error(ABORTED, "stopped"),
        both,
    ]


@pytest.mark.requirement("G-SINK-3")
@pytest.mark.parametrize("index", range(5))
def test_each_priority_kind_survives_a_flood_of_trace_once(index: int) -> None:
    sink = FrameSink("s", trace_capacity=4)
    wanted = priority_frames()[index]
    for number in range(500):
        sink.emit(text(number))
    sink.emit(wanted)
    for number in range(500, 1_000):
        sink.emit(text(number))

    batch = sink.take()

    assert batch is not None
    assert batch.priority == [(501, wanted.SerializeToString())]
    assert [
        SessionFrame.FromString(data).typed_event.assistant_text.text for _, data in batch.trace
    ] == [
        "996",
        "997",
        "998",
        "999",
    ]
    assert batch.through == 1_001


@pytest.mark.requirement("G-SINK-3")
def test_all_priority_kinds_together_among_a_thousand_trace_frames() -> None:
    sink = FrameSink("s", trace_capacity=4)
    wanted = priority_frames()
    for number in range(1_000):
        sink.emit(text(number))
        if number % 200 == 100:
            sink.emit(wanted[number // 200])

    batch = sink.take()

    assert batch is not None
    assert [data for _, data in batch.priority] == [frame.SerializeToString() for frame in wanted]
    assert [seq for seq, _ in batch.trace] == [1_002, 1_003, 1_004, 1_005]
    assert sink.statistics().trace.lost == 996
    assert sink.statistics().priority.lost == 0


@pytest.mark.requirement("G-SINK-3")
@pytest.mark.parametrize(
    "frame",
    [
        text(1),
        BUILD.thinking("t", "1"),
        BUILD.tool_call("t", "bash"),
        BUILD.notice("n"),
        BUILD.plan([]),
        BUILD.prompt("p", "1"),
        SessionFrame(),
    ],
    ids=lambda frame: frame.typed_event.WhichOneof("event") or "empty",
)
def test_everything_else_is_trace(frame: SessionFrame) -> None:
    sink = FrameSink("s")
    sink.emit(frame)

    assert sink.statistics().trace.waiting == 1


@pytest.mark.requirement("G-SINK-5")
def test_what_comes_encoded_shares_the_bound_and_the_places_of_the_trace_lane() -> None:
    sink = FrameSink("s", trace_capacity=3)
    for number in range(1, 7):
        if number % 2:
            sink.emit_trace(text(number).SerializeToString())
        else:
            sink.emit(text(number))
    sink.end(STOPPED)
    sink.emit_trace(text(7).SerializeToString())

    batch = sink.take()

    assert batch is not None
    assert [seq for seq, _ in batch.trace] == [4, 5, 6]
    counts = sink.statistics()
    assert (counts.trace.emitted, counts.trace.lost, counts.trace.peak) == (6, 3, 3)
    assert counts.after_end == 1


def test_what_comes_encoded_wakes_who_waits() -> None:
    sink, woken = FrameSink("s"), list[int]()
    assert sink.park(lambda: woken.append(1))

    sink.emit_trace(text(1).SerializeToString())
    sink.emit_trace(text(2).SerializeToString())

    assert woken == [1]


@pytest.mark.requirement("G-PUMP-1")
def test_a_stop_leads_the_batch_ahead_of_trace_of_the_same_tick() -> None:
    sink = FrameSink("s")
    for number in range(200):
        sink.emit(text(number))
    sink.emit(BUILD.lifecycle(STOPPED))

    batch = sink.take()

    assert batch is not None
    assert [seq for seq, _ in batch.priority] == [201]
    assert len(batch.trace) == 200
    assert batch.through == 201


@pytest.mark.requirement("G-PUMP-1")
def test_a_stop_leads_ahead_of_a_backlog_of_several_batches_and_loses_none() -> None:
    sink = FrameSink("s")
    for number in range(600):
        sink.emit(text(number))
    sink.emit(BUILD.lifecycle(STOPPED))

    first = sink.take()

    assert first is not None
    assert [seq for seq, _ in first.priority] == [601]
    assert len(first.trace) == 255
    # The stop is sent, but readers follow emission order: they are let through to 255 only.
    assert first.through == 255
    assert sink.statistics().trace.lost == 0


@pytest.mark.parametrize("kind", [ERROR, ABORTED])
def test_an_error_content_is_told_by_its_event_not_by_its_state(
    kind: SessionErrorKind.ValueType,
) -> None:
    frame = BUILD.session_error(kind, "x")

    assert is_session_error(frame)
    assert not is_lifecycle(frame)
    assert not is_injection(frame)


@pytest.mark.parametrize("kind", [*SessionEvent.DESCRIPTOR.oneofs_by_name["event"].fields])
@pytest.mark.parametrize("state", [0, STOPPED, 99])
def test_priority_is_what_one_of_the_three_predicates_says(kind: Any, state: Any) -> None:
    frame = SessionFrame(state=state)
    getattr(frame.typed_event, kind.name).SetInParent()

    assert is_priority(frame) == (
        is_lifecycle(frame) or is_injection(frame) or is_session_error(frame)
    )
