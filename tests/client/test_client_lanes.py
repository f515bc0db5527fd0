"""What the client reads of a hub's messages is what the subscriber lane alone reads of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import betterproto2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compass.v1 import compass_pb2
from compass_agent.client import CaughtUp, End, Frame, Gap, Reset, StateSignal
from compass_agent.client.items import items_of
from compass_agent.frames import as_state
from compass_agent.view import fold
from compass_agent.wire import FrameItem, GapReason, ResetReason
from compass_agent.wire.relay import Relay, Subscription
from compass_subscriber.v1 import AgentSessionFrame, SessionEvent

if TYPE_CHECKING:
    from compass_agent.client import TailItem
    from compass_agent.wire import Item

pytestmark = pytest.mark.requirement("G-CLIENT-3")

EPOCHS = st.sampled_from(["1" * 16, "2" * 16])
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
SEQS = st.integers(1, 2**40)
STATES = st.integers(0, 6) | st.just(99)


@st.composite
def frames(draw: st.DrawFn) -> bytes:
    """Encoded SessionFrames of every kind, with contents that only a newer version knows."""
    event = compass_pb2.SessionEvent(event_id=draw(TEXTS), at_unix_ms=draw(st.integers(0, 2**45)))
    kinds = [field.name for field in event.DESCRIPTOR.oneofs_by_name["event"].fields]
    kind = draw(st.sampled_from([*kinds, "nothing"]))
    if kind == "session_error":
        # As bytes, because the number of an enum may be one of a newer version.
        event.session_error.MergeFromString(bytes([0x08, draw(st.sampled_from([0, 1, 2, 77]))]))
        event.session_error.message = draw(TEXTS)
        if draw(st.booleans()):
            event.session_error.status = draw(st.integers(0, 599))
        if draw(st.booleans()):
            event.session_error.retry_after_ms = draw(st.integers(-1, 2**40))
    elif kind == "tool_call_update":
        event.tool_call_update.tool_call_id = draw(TEXTS)
        status = draw(st.sampled_from([0, 1, 2, 3, 4, 16, 77]))
        event.tool_call_update.MergeFromString(bytes([0x10, status]))
        event.tool_call_update.diffs.add(path=draw(TEXTS), new_text=draw(TEXTS))
    elif kind == "assistant_text":
        event.assistant_text.text = draw(TEXTS)
    elif kind != "nothing":
        getattr(event, kind).SetInParent()
    frame = compass_pb2.SessionFrame(state=as_state(draw(STATES)))
    if draw(st.booleans()) or not frame.state:
        frame.typed_event.CopyFrom(event)
        if draw(st.booleans()):
            # A field of the event, 1,000, that this version does not know.
            frame.typed_event.MergeFromString(b"\xc2\x3e\x03new")
    return frame.SerializeToString()


@st.composite
def gaps(draw: st.DrawFn) -> Gap:
    first = draw(SEQS)
    last = first + draw(st.integers(0, 100))
    return Gap(draw(EPOCHS), first, last, draw(st.sampled_from(GapReason)))


ITEMS: st.SearchStrategy[Item] = st.one_of(
    st.builds(FrameItem, EPOCHS, SEQS, frames(), st.just(value=False), st.booleans()),
    gaps(),
    st.builds(Reset, EPOCHS, st.sampled_from(ResetReason)),
    st.builds(End, EPOCHS, SEQS, STATES, TEXTS),
    st.builds(StateSignal, EPOCHS, st.integers(1, 6)),
    st.builds(CaughtUp, EPOCHS),
)


def in_the_lane(part: AgentSessionFrame) -> tuple[object, ...]:
    """What one message says, read by the subscriber lane alone."""
    if part.gap is not None:
        gap = part.gap
        return "gap", part.epoch, gap.first_seq, gap.last_seq, gap.count, int(gap.reason)
    if part.reset is not None:
        return "reset", part.epoch, int(part.reset.reason)
    if part.end is not None:
        return "end", part.epoch, part.end.last_seq, int(part.end.state), part.end.reason
    if part.caught_up:
        return "caught up", part.epoch
    if part.seq:
        kind, content = (None, None)
        if part.event is not None:
            kind, content = betterproto2.which_one_of(part.event, "event")
        encoded = bytes(part.event or SessionEvent())
        place = (part.epoch, part.seq, part.late)
        return "frame", *place, int(part.state), kind or None, content, encoded
    return "state", part.epoch, int(part.state)


def of_the_client(item: TailItem) -> tuple[object, ...]:
    """What one item says."""
    match item:
        case Gap():
            where = (item.first_seq, item.last_seq, item.count)
            return "gap", item.epoch, *where, int(item.reason)
        case Reset():
            return "reset", item.epoch, int(item.reason)
        case End():
            return "end", item.epoch, item.last_seq, item.state, item.reason
        case CaughtUp():
            return "caught up", item.epoch
        case StateSignal():
            return "state", item.epoch, item.state
        case Frame():
            encoded = bytes(item.event or SessionEvent())
            place = (item.epoch, item.seq, item.late)
            return "frame", *place, int(item.state), item.kind, item.content, encoded


@given(st.lists(ITEMS, min_size=1, max_size=12), st.sampled_from([1, 3, 64]))
def test_both_lanes_read_the_same_items(items: list[Item], max_batch: int) -> None:
    relay = Relay(Subscription("s1", None, True, frozenset(), max_batch))
    messages = list(relay.messages(items))
    found = [item for data in messages for item in items_of(data)]
    lane: list[AgentSessionFrame] = []
    for data in messages:
        first = AgentSessionFrame.parse(data)
        lane += [first, *first.more]
    assert [of_the_client(item) for item in found] == [in_the_lane(part) for part in lane]
    assert fold(found) == fold(items)
