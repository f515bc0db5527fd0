"""Frames that are too large to travel."""

from __future__ import annotations

import pytest

from compass_agent.frames import (
    AgentPlanEntryStatus,
    AgentToolCallStatus,
    FrameBuilder,
    SessionErrorKind,
    SessionFileDiff,
    SessionFrame,
)
from compass_agent.sink import FrameSink
from compass_agent.sink.shorten import MAX_FRAME_BYTES

BUILD = FrameBuilder(lambda: 0)
MIB = 1024 * 1024
DONE = AgentToolCallStatus.AGENT_TOOL_CALL_STATUS_COMPLETED
PENDING = AgentPlanEntryStatus.AGENT_PLAN_ENTRY_STATUS_PENDING


def sent(frame: SessionFrame) -> SessionFrame:
    sink = FrameSink("s")
    sink.emit(frame)
    batch = sink.take()
    assert batch is not None
    assert sink.statistics().shortened == 1
    ((_, data),) = [*batch.priority, *batch.trace]
    assert len(data) <= MAX_FRAME_BYTES
    return SessionFrame.FromString(data)


@pytest.mark.requirement("G-SINK-2")
def test_a_large_text_is_cut_at_a_character_border_and_marked() -> None:
    text = sent(BUILD.assistant_text("é" * MIB, "1")).typed_event.assistant_text.text

    kept, _, mark = text.partition("…")
    assert set(kept) == {"é"}
    assert mark == f"(+{2 * MIB - 2 * len(kept)} bytes)"


def test_a_large_error_stays_a_priority_frame() -> None:
    frame = BUILD.session_error(
        SessionErrorKind.SESSION_ERROR_KIND_ERROR, "x" * 50 * MIB, status=500
    )

    error = sent(frame).typed_event.session_error
    assert error.status == 500
    assert error.message.endswith(" bytes)")


def test_large_diffs_and_outputs_are_cut_and_said() -> None:
    diffs = [
        SessionFileDiff(path=f"{n}.py", old_text="o" * MIB, new_text="n" * MIB) for n in range(3)
    ]
    update = sent(BUILD.tool_call_update("t", DONE, "z" * MIB, diffs)).typed_event.tool_call_update

    assert update.full_output_chars == MIB
    assert [diff.path for diff in update.diffs] == ["0.py", "1.py", "2.py"]
    assert update.status == DONE


@pytest.mark.parametrize("count", [100_000])
def test_many_small_entries_are_left_out_from_the_end(count: int) -> None:
    plan = sent(BUILD.plan((f"step {n}", PENDING) for n in range(count))).typed_event.plan

    assert 0 < len(plan.entries) < count
    assert plan.entries[0].content == "step 0"


def test_a_frame_at_the_limit_is_left_alone() -> None:
    sink = FrameSink("s")
    sink.emit(BUILD.assistant_text("x" * (MAX_FRAME_BYTES - 200), "1"))

    assert sink.statistics().shortened == 0
