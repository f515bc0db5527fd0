"""Cursors, session ids, text that protobuf can hold, and the frames that the builder makes."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from google.protobuf import json_format
from hypothesis import given
from hypothesis import strategies as st

from compass.v1 import compass_pb2 as pb
from compass_agent.errors.codes import ErrorCode, OperationError
from compass_agent.frames import (
    Cursor,
    FrameBuilder,
    InvalidCursorError,
    as_state,
    check_session_id,
    event_kind,
    new_epoch,
    valid_text,
)

EPOCH = "0123456789abcdef"
NOW = 1_767_225_600_123
any_text = st.text(st.characters())  # lone surrogates too


def builder() -> FrameBuilder:
    return FrameBuilder(lambda: NOW)


@given(epoch=st.from_regex(r"[0-9a-f]{16}", fullmatch=True), seq=st.integers(0, 2**64 - 1))
def test_a_cursor_is_read_back_from_its_text(epoch: str, seq: int) -> None:
    cursor = Cursor(epoch, seq)
    assert Cursor.parse(str(cursor)) == cursor
    assert str(cursor) == f"{epoch}-{seq}"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "42",
        EPOCH,
        f"{EPOCH}-",
        f"{EPOCH}--1",
        f"{EPOCH}-01",
        f"{EPOCH}-1.0",
        f"{EPOCH}-1e3",
        f"{EPOCH}-1_000",
        f"{EPOCH}-٣",
        f"{EPOCH}-{2**64}",
        f"{EPOCH}-1\n",
        f" {EPOCH}-1",
        f"{EPOCH[:-1]}-1",
        f"{EPOCH}0-1",
        f"{EPOCH.upper()}-1",
        f"{EPOCH[:-1]}g-1",
    ],
)
def test_text_that_is_no_cursor_is_refused(text: str) -> None:
    with pytest.raises(InvalidCursorError, match="a cursor looks like"):
        Cursor.parse(text)


def test_a_bad_cursor_is_a_bad_request_and_none_of_the_nine_codes() -> None:
    assert issubclass(InvalidCursorError, ValueError)
    assert not issubclass(InvalidCursorError, OperationError)


@pytest.mark.parametrize("session", ["a", "_", "7", "A:b-c_9", "s" * 128])
def test_a_session_id_comes_back_as_it_is(session: str) -> None:
    assert check_session_id(session) == session


@pytest.mark.parametrize(
    "session",
    ["", "-a", ":a", "s" * 129, "a b", "a/b", "..", "a\n", "ä", "٣", "a\0", None, 7, b"a"],
)
def test_anything_else_names_no_session(session: object) -> None:
    with pytest.raises(OperationError) as caught:
        check_session_id(session)
    assert caught.value.code is ErrorCode.UNSUPPORTED_INPUT


def test_epochs_are_sixteen_hex_digits_and_new_each_time() -> None:
    epochs = {new_epoch() for _ in range(100)}
    assert len(epochs) == 100
    assert all(re.fullmatch(r"[0-9a-f]{16}", epoch) for epoch in epochs)
    assert Cursor.parse(f"{epochs.pop()}-0").seq == 0


@given(text=st.text())
def test_text_without_surrogates_stays_as_it_is(text: str) -> None:
    assert valid_text(text) == text


@given(text=any_text)
def test_any_text_becomes_text_that_protobuf_can_hold(text: str) -> None:
    made = valid_text(text)
    assert pb.SessionNotice(text=made).text == made
    assert valid_text(made) == made


def test_halves_that_stand_together_become_their_character_and_a_lone_half_is_marked() -> None:
    assert valid_text("a\ud83d\ude42b") == "a🙂b"
    assert valid_text("a\ud83db") == "a\ufffdb"
    assert valid_text("\ude42") == "\ufffd"
    assert valid_text("\ude42\ud83d") == "\ufffd\ufffd"


BUILD: dict[str, Callable[[FrameBuilder, str], pb.SessionFrame]] = {
    "assistant_text": lambda make, text: make.assistant_text(text, "1"),
    "thinking": lambda make, text: make.thinking(text, "1"),
    "prompt": lambda make, text: make.prompt(text, "1"),
    "tool_call": lambda make, text: make.tool_call(text, text),
    "tool_call_update": lambda make, text: make.tool_call_update(
        text, pb.AGENT_TOOL_CALL_STATUS_COMPLETED, text
    ),
    "plan": lambda make, text: make.plan([(text, pb.AGENT_PLAN_ENTRY_STATUS_PENDING)]),
    "notice": lambda make, text: make.notice(text, text),
    "session_injection": lambda make, text: make.session_injection(
        pb.SESSION_INJECTION_KIND_STEER, text, text, text
    ),
    "session_error": lambda make, text: make.session_error(
        pb.SESSION_ERROR_KIND_ERROR, text, code=text, request_id=text, stopped_by=text
    ),
}


def test_the_builder_makes_every_kind_of_event() -> None:
    assert set(BUILD) == {field.name for field in pb.SessionEvent.DESCRIPTOR.oneofs[0].fields}


@pytest.mark.parametrize("kind", BUILD)
@pytest.mark.parametrize("text", ["", "plain", "half \ud83d, pair \ud83d\ude42"])
def test_each_kind_takes_any_text_and_has_id_time_and_no_state(kind: str, text: str) -> None:
    frame = BUILD[kind](builder(), text)
    assert event_kind(frame) == kind
    assert frame.typed_event.event_id == "1"
    assert frame.typed_event.at_unix_ms == NOW
    assert frame.state == pb.AGENT_SESSION_STATE_UNSPECIFIED
    assert pb.SessionFrame.FromString(frame.SerializeToString()) == frame
    assert valid_text(text) in json_format.MessageToJson(frame, ensure_ascii=False)


def test_event_ids_count_over_all_kinds_and_lifecycle_frames_take_none() -> None:
    make = builder()
    frames = [build(make, "x") for build in BUILD.values()]
    make.lifecycle(pb.AGENT_SESSION_STATE_WORKING)
    frames.append(make.notice("last"))
    assert [frame.typed_event.event_id for frame in frames] == [
        str(number) for number in range(1, len(BUILD) + 2)
    ]
    assert builder().notice("new").typed_event.event_id == "1"


@pytest.mark.parametrize("state", pb.AgentSessionState.values())
def test_a_lifecycle_frame_is_a_state_and_no_event(state: int) -> None:
    frame = FrameBuilder.lifecycle(as_state(state))
    assert frame.state == state
    assert not frame.HasField("typed_event")
    assert event_kind(frame) is None


def test_facts_that_are_absent_stay_absent_and_zero_is_a_fact() -> None:
    kind = pb.SESSION_ERROR_KIND_ABORTED
    bare = builder().session_error(kind, "").typed_event.session_error
    assert [field.name for field, _ in bare.ListFields()] == ["kind"]
    zero = builder().session_error(kind, "", status=0, retry_after_ms=0).typed_event.session_error
    assert [field.name for field, _ in zero.ListFields()] == ["kind", "status", "retry_after_ms"]
    assert not builder().notice("a").typed_event.notice.HasField("link")
    assert builder().notice("a", "").typed_event.notice.HasField("link")
    status = pb.AGENT_TOOL_CALL_STATUS_FAILED
    whole = builder().tool_call_update("c", status).typed_event.tool_call_update
    assert not whole.HasField("full_output_chars")
    cut = builder().tool_call_update("c", status, full_output_chars=0).typed_event.tool_call_update
    assert cut.HasField("full_output_chars")


def test_an_update_carries_its_diffs_and_a_plan_its_entries_in_order() -> None:
    diffs = [pb.SessionFileDiff(path="a", new_text="1"), pb.SessionFileDiff(path="b", old_text="")]
    status = pb.AGENT_TOOL_CALL_STATUS_COMPLETED
    update = builder().tool_call_update("c", status, "out", diffs).typed_event.tool_call_update
    assert list(update.diffs) == diffs
    entries = [
        ("x", pb.AGENT_PLAN_ENTRY_STATUS_COMPLETED),
        ("y", pb.AGENT_PLAN_ENTRY_STATUS_PENDING),
    ]
    plan = builder().plan(entries).typed_event.plan
    assert [(entry.content, entry.status) for entry in plan.entries] == entries


def test_an_empty_plan_is_a_plan() -> None:
    assert event_kind(builder().plan([])) == "plan"
    assert event_kind(pb.SessionFrame.FromString(builder().plan([]).SerializeToString())) == "plan"
