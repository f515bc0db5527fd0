"""What a hub sends reads as the items that it had."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compass.v1.compass_pb2 import (
    AgentSessionFrame,
    SessionGap,
    SessionReset,
    SubscribeAgentSessionRequest,
)
from compass_agent.errors.codes import ErrorCode, OperationError
from compass_agent.frames import Cursor
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
)
from compass_agent.wire.received import items_from_bytes, subscription_to_bytes
from compass_agent.wire.relay import Relay, Subscription, subscription_from_bytes
from writing_logs import E1, E2, S, failed, state, text

epochs = st.sampled_from([E1, E2])
places = st.integers(1, 2**64 - 1)
kept = st.sampled_from([text(), state(5), failed("no"), b""])


def gap(epoch: str, seqs: list[int], why: GapReason) -> Gap:
    return Gap(epoch, min(seqs), max(seqs), why)


gaps = st.builds(
    gap,
    epochs,
    st.lists(places, min_size=1, max_size=2),
    st.sampled_from(GapReason),
)
items = st.lists(
    st.builds(FrameItem, epochs, places, kept, st.just(value=False), st.booleans())
    | gaps
    | st.builds(Reset, epochs, st.sampled_from(ResetReason))
    | st.builds(End, epochs, places, st.integers(0, 6), st.text(max_size=9))
    | st.builds(StateSignal, epochs, st.integers(1, 6))
    | st.builds(CaughtUp, epochs),
    max_size=8,
)
subscriptions = st.builds(
    Subscription,
    st.just(S),
    st.none() | st.builds(Cursor, epochs, places),
    st.booleans(),
    st.frozensets(st.sampled_from(["session_error", "notice"])),
    st.integers(0, 300),
)


@given(items, st.integers(1, 5))
def test_items_that_were_sent_in_batches_are_received(sent: list[Item], max_batch: int) -> None:
    wanted = Subscription(S, None, follow=True, kinds=frozenset(), max_batch=max_batch)
    messages = Relay(wanted).messages(sent)
    assert [item for message in messages for item in items_from_bytes(message)] == sent


def test_a_gap_that_rides_on_a_frame_comes_before_it() -> None:
    wanted = Subscription(S, None, follow=True, kinds=frozenset(), max_batch=0)
    sent: list[Item] = [Gap(E1, 1, 3, GapReason.DROPPED), FrameItem(E1, 4, text())]
    (message,) = Relay(wanted).messages(sent)
    assert items_from_bytes(message) == sent


@given(subscriptions)
def test_a_subscription_that_was_sent_is_read(wanted: Subscription) -> None:
    assert subscription_from_bytes(subscription_to_bytes(wanted)) == wanted


def test_what_only_a_newer_hub_says_is_received_as_not_known() -> None:
    newer = AgentSessionFrame(epoch=E1, seq=2, gap=SessionGap(first_seq=1, last_seq=2))
    newer.gap.reason = 77  # pyright: ignore[reportAttributeAccessIssue] - what no enum has yet
    assert items_from_bytes(newer.SerializeToString()) == [Gap(E1, 1, 2, GapReason.UNSPECIFIED)]
    reset = AgentSessionFrame(epoch=E1, reset=SessionReset())
    reset.reset.reason = 77  # pyright: ignore[reportAttributeAccessIssue] - likewise
    assert items_from_bytes(reset.SerializeToString()) == [Reset(E1, ResetReason.UNSPECIFIED)]


@pytest.mark.requirement("G-WIRE-2")
def test_unknown_content_of_an_event_reaches_the_reader() -> None:
    unknown = b"\x12\x0b\x0a\x011\xfa\x3f\x05later"  # an arm of the oneof that nobody knows
    (item,) = items_from_bytes(next(iter(Relay(_all()).messages([FrameItem(E1, 1, unknown)]))))
    assert isinstance(item, FrameItem)
    assert item.data == unknown
    assert decode_frame(item.data).typed_event.event_id == "1"


def _all() -> Subscription:
    return subscription_from_bytes(SubscribeAgentSessionRequest(session_id=S).SerializeToString())


def test_bytes_that_are_no_message_are_a_connection_that_broke() -> None:
    with pytest.raises(OperationError) as caught:
        items_from_bytes(b"\xff")
    assert caught.value.code is ErrorCode.UNAVAILABLE
