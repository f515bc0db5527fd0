"""What a reader receives, as the subscriber's message and as a line of JSON."""

from __future__ import annotations

import json

import pytest

from compass.v1 import compass_pb2 as pb
from compass_agent.errors.codes import ErrorCode, OperationError
from compass_agent.frames import FrameBuilder
from compass_agent.wire import (
    CaughtUp,
    End,
    FrameItem,
    Gap,
    GapReason,
    Item,
    Reset,
    ResetReason,
    StateSignal,
    decode_frame,
    item_to_json,
    item_to_subscriber_frame,
)

EPOCH = "0123456789abcdef"
STATES = pb.AgentSessionState


def failed_turn() -> pb.SessionFrame:
    builder = FrameBuilder(lambda: 1_767_225_600_000)
    return builder.session_error(pb.SESSION_ERROR_KIND_ERROR, "overloaded", status=0)


EXAMPLES: dict[str, tuple[Item, dict[str, object]]] = {
    "an event": (
        FrameItem(EPOCH, 7, failed_turn().SerializeToString(), priority=True),
        {
            "seq": "7",
            "event": {
                "eventId": "1",
                "atUnixMs": "1767225600000",
                "sessionError": {
                    "kind": "SESSION_ERROR_KIND_ERROR",
                    "message": "overloaded",
                    "status": 0,
                },
            },
        },
    ),
    "a transition": (
        FrameItem(
            EPOCH,
            8,
            pb.SessionFrame(state=STATES.AGENT_SESSION_STATE_ERRORED).SerializeToString(),
            priority=True,
        ),
        {"seq": "8", "state": "AGENT_SESSION_STATE_ERRORED"},
    ),
    "an empty frame": (FrameItem(EPOCH, 9, b""), {"seq": "9"}),
    "a late frame": (FrameItem(EPOCH, 5, b"", late=True), {"seq": "5", "late": True}),
    "a gap": (
        Gap(EPOCH, 3, 6, GapReason.DROPPED),
        {
            "seq": "6",
            "gap": {
                "firstSeq": "3",
                "lastSeq": "6",
                "count": "4",
                "reason": "SESSION_GAP_REASON_DROPPED",
            },
        },
    ),
    "a reset": (
        Reset(EPOCH, ResetReason.UNKNOWN_EPOCH),
        {"reset": {"reason": "SESSION_RESET_REASON_UNKNOWN_EPOCH"}},
    ),
    "an end": (
        End(EPOCH, 12, STATES.AGENT_SESSION_STATE_STOPPED, "closed"),
        {
            "seq": "12",
            "end": {
                "state": "AGENT_SESSION_STATE_STOPPED",
                "reason": "closed",
                "lastSeq": "12",
            },
        },
    ),
    "a signal": (
        StateSignal(EPOCH, STATES.AGENT_SESSION_STATE_DISCONNECTED),
        {"state": "AGENT_SESSION_STATE_DISCONNECTED"},
    ),
    "caught up": (CaughtUp(EPOCH), {"caughtUp": True}),
    "a state of a newer writer": (StateSignal(EPOCH, 77), {"state": 77}),
}


@pytest.mark.parametrize(("item", "told"), EXAMPLES.values(), ids=EXAMPLES.keys())
def test_each_kind_of_item_is_one_line_of_json_with_session_and_epoch(
    item: Item, told: dict[str, object]
) -> None:
    line = item_to_json("s1", item)
    assert "\n" not in line
    assert json.loads(line) == {"sessionId": "s1", "epoch": EPOCH, **told}


@pytest.mark.parametrize(("item", "told"), EXAMPLES.values(), ids=EXAMPLES.keys())
def test_the_message_sets_what_the_item_says_and_nothing_else(
    item: Item, told: dict[str, object]
) -> None:
    frame = item_to_subscriber_frame("s1", item)
    names = {field.json_name for field, _ in frame.ListFields()}
    assert names == {"sessionId", "epoch", *told}


def test_the_examples_have_every_kind_of_item() -> None:
    kinds = {type(item) for item, _ in EXAMPLES.values()}
    assert kinds == {FrameItem, Gap, Reset, End, StateSignal, CaughtUp}


@pytest.mark.parametrize("reason", GapReason)
def test_a_gap_says_why_in_the_words_of_the_wire(reason: GapReason) -> None:
    frame = item_to_subscriber_frame("s1", Gap(EPOCH, 1, 1, reason))
    assert pb.SessionGapReason.Name(frame.gap.reason) == f"SESSION_GAP_REASON_{reason.name}"
    assert frame.gap.reason == reason.value


@pytest.mark.parametrize("reason", ResetReason)
def test_a_reset_says_why_in_the_words_of_the_wire(reason: ResetReason) -> None:
    frame = item_to_subscriber_frame("s1", Reset(EPOCH, reason))
    assert pb.SessionResetReason.Name(frame.reset.reason) == f"SESSION_RESET_REASON_{reason.name}"
    assert frame.reset.reason == reason.value


def test_every_reason_of_the_wire_is_an_item_s_reason() -> None:
    assert {reason.value for reason in GapReason} == set(pb.SessionGapReason.values())
    assert {reason.value for reason in ResetReason} == set(pb.SessionResetReason.values())


@pytest.mark.requirement("G-TURN-4")
def test_an_absent_status_stays_absent_and_zero_stays_zero() -> None:
    absent = pb.SessionFrame()
    absent.typed_event.session_error.message = "no answer"
    told = item_to_subscriber_frame("s1", FrameItem(EPOCH, 1, absent.SerializeToString()))
    assert not told.event.session_error.HasField("status")
    zero = item_to_subscriber_frame("s1", FrameItem(EPOCH, 1, failed_turn().SerializeToString()))
    assert zero.event.session_error.HasField("status")
    assert zero.event.session_error.status == 0


def test_a_frame_with_state_and_event_keeps_both() -> None:
    both = failed_turn()
    both.state = STATES.AGENT_SESSION_STATE_WORKING
    told = item_to_subscriber_frame("s1", FrameItem(EPOCH, 1, both.SerializeToString()))
    assert told.state == STATES.AGENT_SESSION_STATE_WORKING
    assert told.event == both.typed_event


def test_decoding_gives_the_frame_that_was_encoded() -> None:
    assert decode_frame(failed_turn().SerializeToString()) == failed_turn()


@pytest.mark.parametrize("data", [b"\xff", b"\x00\x01", b"\x12\x05ab", b"\x12\x02\x0a\xff"])
def test_bytes_that_are_no_frame_are_an_unsupported_input(data: bytes) -> None:
    with pytest.raises(OperationError) as caught:
        decode_frame(data)
    assert caught.value.code is ErrorCode.UNSUPPORTED_INPUT
    assert caught.value.__cause__ is not None
    with pytest.raises(OperationError):
        item_to_subscriber_frame("s1", FrameItem(EPOCH, 1, data))
