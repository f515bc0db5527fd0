"""What a newer writer says passes through an older runtime byte for byte and is no success."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compass.v1.compass_pb2 import AgentSessionFrame, SessionEvent, SessionFrame
from compass_agent.frames import event_kind, is_injection, is_lifecycle, is_session_error
from compass_agent.wire import FrameItem, decode_frame, item_to_subscriber_frame

pytestmark = pytest.mark.requirement("G-WIRE-2")

EPOCH = "0123456789abcdef"


def varint(number: int) -> bytes:
    """Return `number` as protobuf's varint."""
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def number_field(field: int, value: int) -> bytes:
    """Return a varint field."""
    return varint(field << 3) + varint(value)


def bytes_field(field: int, value: bytes) -> bytes:
    """Return a length-delimited field: text, bytes or a message."""
    return varint(field << 3 | 2) + varint(len(value)) + value


EVENT_HEAD = bytes_field(1, b"7") + number_field(2, 1_767_225_600_000)
TEXT = bytes_field(3, bytes_field(1, b"hello") + bytes_field(2, b"1"))
UNKNOWN_ARM = bytes_field(17, bytes_field(1, b"from the future"))

FRAMES = {
    "a field of the frame": number_field(1, 3) + bytes_field(99, b"\0\xff"),
    "a field of the event": bytes_field(2, EVENT_HEAD + TEXT + number_field(200, 5)),
    "a field of an arm": bytes_field(
        2, EVENT_HEAD + bytes_field(3, bytes_field(1, b"hi") + bytes_field(50, b"more"))
    ),
    "an arm": bytes_field(2, EVENT_HEAD + UNKNOWN_ARM),
    "a state": number_field(1, 77),
    "a tool status": bytes_field(2, EVENT_HEAD + bytes_field(5, number_field(3, 17))),
    "an error kind": bytes_field(2, EVENT_HEAD + bytes_field(10, number_field(1, 3))),
    "a negative number": bytes_field(
        2, EVENT_HEAD + bytes_field(10, number_field(1, 2**64 - 1) + number_field(3, 0))
    ),
    "a fixed number": number_field(1, 2) + varint(40 << 3 | 5) + b"\1\2\3\4",
}


@pytest.mark.parametrize("data", FRAMES.values(), ids=FRAMES.keys())
def test_an_unknown_thing_survives_a_hop_byte_for_byte(data: bytes) -> None:
    assert decode_frame(data).SerializeToString() == data


@pytest.mark.parametrize("data", FRAMES.values(), ids=FRAMES.keys())
def test_a_subscriber_gets_the_unknown_parts_of_an_event(data: bytes) -> None:
    received = item_to_subscriber_frame("s1", FrameItem(EPOCH, 3, data))
    again = AgentSessionFrame.FromString(received.SerializeToString())
    assert again.seq == 3, "an unknown frame moves the cursor as any other"
    assert again.state == decode_frame(data).state
    event = SessionFrame.FromString(data).typed_event.SerializeToString()
    assert again.event.SerializeToString() == event


def test_an_unknown_arm_is_no_kind_that_is_known() -> None:
    frame = decode_frame(FRAMES["an arm"])
    assert event_kind(frame) is None
    assert [is_session_error(frame), is_injection(frame), is_lifecycle(frame)] == [False] * 3
    assert frame.typed_event.event_id == "7"


def test_an_unknown_state_is_a_transition_and_an_unknown_error_kind_an_error() -> None:
    assert is_lifecycle(decode_frame(FRAMES["a state"]))
    assert is_session_error(decode_frame(FRAMES["an error kind"]))


# Numbers that no field of SessionEvent has, protobuf's own reserved range apart.
unknown_numbers = st.integers(21, 18_999) | st.integers(20_000, 2**29 - 1)
unknown_fields = st.lists(
    st.builds(number_field, unknown_numbers, st.integers(0, 2**64 - 1))
    | st.builds(bytes_field, unknown_numbers, st.binary(max_size=40)),
    min_size=1,
).map(b"".join)


@given(inner=unknown_fields, outer=unknown_fields)
def test_any_unknown_fields_survive_at_every_depth(inner: bytes, outer: bytes) -> None:
    event = EVENT_HEAD + TEXT + inner
    data = bytes_field(2, event) + outer
    frame = decode_frame(data)
    assert frame.SerializeToString() == data
    assert event_kind(frame) == "assistant_text"
    copy = SessionEvent()
    copy.CopyFrom(frame.typed_event)
    assert copy.SerializeToString() == event
