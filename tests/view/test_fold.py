"""Frames become what people read; nothing is lost, and nothing becomes a success by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compass.v1.compass_pb2 import SessionFileDiff
from compass_agent.errors.codes import OperationError
from compass_agent.frames import (
    AgentPlanEntryStatus,
    AgentSessionState,
    AgentToolCallStatus,
    FrameBuilder,
    SessionErrorKind,
    SessionFrame,
    SessionInjectionKind,
    as_state,
)
from compass_agent.view import Entry, Folder, fold
from compass_agent.view.entries import (
    Ended,
    Failure,
    FileDiff,
    Injection,
    Message,
    MessageStatus,
    Missing,
    Notice,
    Plan,
    Prompt,
    Restart,
    StateChange,
    StepStatus,
    ToolCall,
    ToolStatus,
    Unknown,
)
from compass_agent.view.failure import FailureKind
from compass_agent.wire import (
    CaughtUp,
    End,
    FrameItem,
    Gap,
    GapReason,
    Reset,
    ResetReason,
    StateSignal,
)

if TYPE_CHECKING:
    from compass_agent.wire import Item

EPOCH = "0123456789abcdef"
OTHER = "fedcba9876543210"
RUNNING = AgentToolCallStatus.AGENT_TOOL_CALL_STATUS_IN_PROGRESS
COMPLETED = AgentToolCallStatus.AGENT_TOOL_CALL_STATUS_COMPLETED
WORKING = AgentSessionState.AGENT_SESSION_STATE_WORKING
READY = AgentSessionState.AGENT_SESSION_STATE_READY
ERRORED = AgentSessionState.AGENT_SESSION_STATE_ERRORED
STOPPED = AgentSessionState.AGENT_SESSION_STATE_STOPPED
ERROR = SessionErrorKind.SESSION_ERROR_KIND_ERROR
ABORTED = SessionErrorKind.SESSION_ERROR_KIND_ABORTED

build = FrameBuilder(lambda: 1_700_000_000_000)


def placed(*frames: SessionFrame, first: int = 1, epoch: str = EPOCH) -> list[Item]:
    return [
        FrameItem(epoch, seq, frame.SerializeToString()) for seq, frame in enumerate(frames, first)
    ]


def only(entries: list[Entry], kind: type[Message]) -> list[Message]:
    return [entry for entry in entries if isinstance(entry, kind)]


def tool_of(entries: list[Entry]) -> ToolCall:
    (tool,) = [entry for entry in entries if isinstance(entry, ToolCall)]
    return tool


def test_pieces_of_one_message_are_joined_and_a_new_id_begins_a_new_one() -> None:
    one, two = fold(
        placed(
            build.assistant_text("Good d", "1"),
            build.assistant_text("ay", "1"),
            build.assistant_text("Bye", "2"),
        )
    )
    assert isinstance(one, Message)
    assert isinstance(two, Message)
    assert (one.text, one.seq, one.last_seq, one.status) == ("Good day", 1, 2, MessageStatus.DONE)
    assert (two.text, two.status) == ("Bye", MessageStatus.OPEN)


def test_reasoning_and_answer_of_one_message_stay_apart_in_their_order() -> None:
    entries = fold(
        placed(
            build.thinking("hm", "1"),
            build.assistant_text("A", "1"),
            build.thinking("oh", "1"),
            build.assistant_text("B", "1"),
        )
    )
    assert [(entry.kind, entry.text) for entry in only(entries, Message)] == [
        ("thinking", "hm"),
        ("assistant_text", "A"),
        ("thinking", "oh"),
        ("assistant_text", "B"),
    ]


def test_a_notice_between_two_pieces_does_not_split_the_message() -> None:
    entries = fold(
        placed(
            build.assistant_text("A", "1"),
            build.notice("n", "http://x"),
            build.assistant_text("B", "1"),
        )
    )
    assert [entry.text for entry in only(entries, Message)] == ["AB"]
    assert isinstance(entries[1], Notice)
    assert entries[1].link == "http://x"


def test_pieces_on_both_sides_of_a_gap_are_not_glued_together() -> None:
    items = [
        *placed(build.assistant_text("A", "1")),
        Gap(EPOCH, 2, 4, GapReason.DROPPED),
        *placed(build.assistant_text("C", "1"), first=5),
    ]
    one, gap, two = fold(items)
    assert isinstance(gap, Missing)
    assert (gap.seq, gap.last_seq, gap.count, gap.reason) == (2, 4, 3, GapReason.DROPPED)
    assert isinstance(one, Message)
    assert isinstance(two, Message)
    assert (one.text, two.text) == ("A", "C")


def test_a_failed_turn_fails_the_message_that_was_being_written() -> None:
    message, failure, state = fold(
        placed(
            build.assistant_text("half", "1"),
            build.session_error(ERROR, "boom", status=500),
            build.lifecycle(ERRORED),
        )
    )
    assert isinstance(message, Message)
    assert message.status is MessageStatus.FAILED
    assert isinstance(failure, Failure)
    assert failure.cause.kind is FailureKind.ERROR
    assert failure.cause.http == "HTTP 500 Internal Server Error"
    assert isinstance(state, StateChange)


def test_an_abort_is_no_failure_of_the_message() -> None:
    message, failure = fold(
        placed(build.assistant_text("half", "1"), build.session_error(ABORTED, "", stopped_by="me"))
    )
    assert isinstance(message, Message)
    assert message.status is MessageStatus.ABORTED
    assert isinstance(failure, Failure)
    assert failure.cause.aborted


def test_a_message_that_was_complete_before_its_tool_ran_is_not_failed_by_a_later_failure() -> None:
    entries = fold(
        placed(
            build.assistant_text("I read the file", "1"),
            build.tool_call("t", "read"),
            build.tool_call_update("t", COMPLETED),
            build.session_error(ERROR, "boom"),
        )
    )
    assert only(entries, Message)[0].status is MessageStatus.DONE
    assert tool_of(entries).status is ToolStatus.COMPLETED


@pytest.mark.requirement("G-TURN-3")
@pytest.mark.parametrize(
    ("kind", "status"), [(ABORTED, ToolStatus.INTERRUPTED), (ERROR, ToolStatus.FAILED)]
)
def test_a_tool_still_open_at_the_end_of_its_turn_is_closed_and_never_reopens(
    kind: SessionErrorKind.ValueType, status: ToolStatus
) -> None:
    entries = fold(
        placed(
            build.tool_call("t", "sleep"),
            build.tool_call_update("t", RUNNING, "some output"),
            build.session_error(kind, "x"),
            build.tool_call_update("t", COMPLETED, "late"),
        )
    )
    tool = tool_of(entries)
    assert (tool.status, tool.output, tool.title) == (status, "some output", "sleep")


@pytest.mark.parametrize("epoch", [EPOCH, OTHER])
def test_what_is_open_is_left_alone_by_a_late_failure(epoch: str) -> None:
    late = FrameItem(
        epoch, 9, build.session_error(ERROR, "old").SerializeToString(), priority=True, late=True
    )
    errored = FrameItem(epoch, 10, build.lifecycle(ERRORED).SerializeToString(), late=True)
    entries = fold(
        [*placed(build.tool_call("t", "now"), build.assistant_text("x", "1")), late, errored]
    )
    assert tool_of(entries).status is ToolStatus.RUNNING
    assert only(entries, Message)[0].status is MessageStatus.OPEN
    assert entries[-2].late
    assert entries[-1].late


def test_the_end_and_a_newer_epoch_close_open_tools() -> None:
    ended = fold([*placed(build.tool_call("t", "x")), End(EPOCH, 1, STOPPED, "bye")])
    assert tool_of(ended).status is ToolStatus.INTERRUPTED
    assert isinstance(ended[-1], Ended)
    restarted = fold([*placed(build.tool_call("t", "x")), Reset(OTHER, ResetReason.NEW_EPOCH)])
    assert tool_of(restarted).status is ToolStatus.INTERRUPTED
    assert isinstance(restarted[-1], Restart)


def test_errored_without_a_reason_fails_what_is_open() -> None:
    entries = fold(placed(build.tool_call("t", "x"), build.lifecycle(ERRORED)))
    assert tool_of(entries).status is ToolStatus.FAILED


def test_the_last_output_and_diffs_of_a_tool_count() -> None:
    diff = SessionFileDiff(path="a.py", new_text="x\n")
    entries = fold(
        placed(
            build.tool_call("t", "edit"),
            build.tool_call_update("t", RUNNING, "one"),
            build.tool_call_update("t", RUNNING, "one two", [diff]),
            build.tool_call_update("t", COMPLETED, "", full_output_chars=None),
        )
    )
    tool = tool_of(entries)
    assert (tool.output, tool.diffs) == ("one two", (FileDiff("a.py", None, "x\n"),))
    assert tool.ended_ms == 1_700_000_000_000


def test_a_tool_id_that_is_used_again_is_another_call() -> None:
    entries = fold(
        placed(
            build.tool_call("t", "one"),
            build.tool_call_update("t", COMPLETED),
            build.tool_call("t", "two"),
        )
    )
    assert [(entry.title, entry.status) for entry in entries if isinstance(entry, ToolCall)] == [
        ("one", ToolStatus.COMPLETED),
        ("two", ToolStatus.RUNNING),
    ]


def test_an_update_whose_start_is_missing_is_kept() -> None:
    tool = tool_of(fold(placed(build.tool_call_update("t", COMPLETED, "out"))))
    assert (tool.title, tool.status, tool.output) == ("", ToolStatus.COMPLETED, "out")


@pytest.mark.requirement("G-TURN-3")
def test_unknown_numbers_are_unknown_and_never_a_success() -> None:
    frame = build.tool_call("t", "x")
    frame.typed_event.tool_call.status = 77  # pyright: ignore[reportAttributeAccessIssue] - from a newer writer
    plan = build.plan([("step", AgentPlanEntryStatus.AGENT_PLAN_ENTRY_STATUS_UNSPECIFIED)])
    injection = build.session_injection(
        SessionInjectionKind.SESSION_INJECTION_KIND_UNSPECIFIED, "1", "me"
    )
    error = build.session_error(SessionErrorKind.SESSION_ERROR_KIND_UNSPECIFIED, "x")
    tool, steps, injected, failure, state = fold(
        placed(frame, plan, injection, error, build.lifecycle(as_state(42)))
    )
    assert isinstance(tool, ToolCall)
    assert tool.number == 77
    assert tool.status is ToolStatus.FAILED  # closed by the failure that followed
    assert isinstance(steps, Plan)
    assert steps.steps[0].status is StepStatus.UNKNOWN
    assert isinstance(injected, Injection)
    assert injected.kind == "unknown"
    assert isinstance(failure, Failure)
    assert failure.cause.kind is FailureKind.UNKNOWN
    assert isinstance(state, StateChange)
    assert state.state == 42


def test_a_tool_status_that_is_not_known_stays_unknown() -> None:
    frame = build.tool_call("t", "x")
    frame.typed_event.tool_call.status = 77  # pyright: ignore[reportAttributeAccessIssue] - from a newer writer
    assert tool_of(fold(placed(frame))).status is ToolStatus.UNKNOWN


@pytest.mark.parametrize("data", [b"", b"\x12\x05\x0a\x017\xfa\x3f", b"\x9a\x06\x00"])
def test_an_event_that_is_not_known_is_kept_at_its_place(data: bytes) -> None:
    if data.endswith(b"\x3f"):
        data = b"\x12\x06\x0a\x017\xfa\x3e\x00"  # an event with a field of number 1007
    (entry,) = fold([FrameItem(EPOCH, 7, data)])
    assert isinstance(entry, Unknown)
    assert (entry.seq, entry.size) == (7, len(data))


def test_bytes_that_are_no_frame_are_a_loud_error() -> None:
    with pytest.raises(OperationError, match="does not take"):
        fold([FrameItem(EPOCH, 1, b"\xff\xff")])


def test_content_comes_before_the_state_of_the_same_frame() -> None:
    frame = build.notice("n")
    frame.state = READY
    assert [type(entry) for entry in fold(placed(frame))] == [Notice, StateChange]


def test_prompts_and_signals_have_entries_and_caught_up_has_none() -> None:
    prompt, signal = fold(
        [*placed(build.prompt("do it", "1")), CaughtUp(EPOCH), StateSignal(EPOCH, 6)]
    )
    assert isinstance(prompt, Prompt)
    assert isinstance(signal, StateChange)
    assert signal.signal


_FRAMES = st.sampled_from(
    [
        build.assistant_text("a", "1"),
        build.assistant_text("b", "2"),
        build.thinking("t", "1"),
        build.tool_call("t", "x"),
        build.tool_call_update("t", RUNNING, "o"),
        build.tool_call_update("t", COMPLETED, "o"),
        build.prompt("p", "1"),
        build.notice("n"),
        build.session_error(ERROR, "e"),
        build.session_error(ABORTED, "e"),
        build.lifecycle(WORKING),
        build.lifecycle(READY),
        build.lifecycle(ERRORED),
    ]
)


@given(st.lists(_FRAMES, max_size=30))
def test_folding_step_by_step_tells_every_change(frames: list[SessionFrame]) -> None:
    folder, seen = Folder(), dict[int, Entry]()
    for item in placed(*frames):
        for position in folder.push(item):
            seen[position] = folder.entry(position)
    assert [seen[position] for position in range(len(folder))] == folder.entries()
    assert folder.entries() == fold(placed(*frames))


@pytest.mark.requirement("G-TURN-3")
@given(st.lists(_FRAMES, max_size=30))
def test_no_text_is_lost_and_no_tool_completes_by_itself(frames: list[SessionFrame]) -> None:
    entries = fold(placed(*frames))
    read = "".join(entry.text for entry in only(entries, Message) if entry.kind != "thinking")
    assert read == "".join(frame.typed_event.assistant_text.text for frame in frames)
    completed = [
        entry
        for entry in entries
        if isinstance(entry, ToolCall) and entry.status is ToolStatus.COMPLETED
    ]
    assert all(entry.number == COMPLETED for entry in completed)
