"""A reader is sent what the log holds: events byte for byte, gaps and ends at their place."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from compass.v1.compass_pb2 import AgentSessionFrame, SubscribeAgentSessionRequest
from compass_agent.errors.codes import ErrorCode, OperationError
from compass_agent.frames import Cursor
from compass_agent.wire import (
    CaughtUp,
    End,
    FrameItem,
    FrameRun,
    Gap,
    GapReason,
    Item,
    Reset,
    ResetReason,
    StateSignal,
    item_to_subscriber_frame,
)
from compass_agent.wire import relay as relay_module
from compass_agent.wire.malformed import MalformedRequestError
from compass_agent.wire.relay import Encoded, Relay, Subscription, subscription_from_bytes
from writing_logs import E1, E2, S, failed, state, text

GOLDEN = Path(__file__).parent / "golden"
FRAMES = {
    path.stem: bytes.fromhex(stored["hex"])
    for path in sorted(GOLDEN.glob("*.json"))
    if (stored := json.loads(path.read_text("utf-8")))["message"] == "SessionFrame"
}


def subscription(max_batch: int = 0, *kinds: str) -> Subscription:
    return Subscription(S, None, follow=True, kinds=frozenset(kinds), max_batch=max_batch)


def relayed(items: list[Item], max_batch: int = 0, *kinds: str) -> list[AgentSessionFrame]:
    messages = Relay(subscription(max_batch, *kinds)).messages(items)
    return [AgentSessionFrame.FromString(message) for message in messages]


@pytest.mark.parametrize("name", FRAMES)
def test_a_frame_is_relayed_as_if_it_had_been_decoded(name: str) -> None:
    item = FrameItem(E1, 300, FRAMES[name], late=name == "thinking")
    assert relayed([item]) == [item_to_subscriber_frame(S, item)]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x08\xac\x02",  # a state of two bytes
        b"\x12\x03\x0a\x017\x12\x02\x10\x05",  # an event in two parts, which are one
        b"\x08\x03\x18\x01",  # a field that no version knows yet
        b"\x12\x03\x0a\x017\x18\x01",  # the same behind an event
        b"\x12\x03\x0a\x017\x08\x03",  # a state behind an event
        b"\x12\x83\x80\x00\x0a\x017",  # a length written longer than it must be
    ],
)
def test_a_frame_in_another_form_is_relayed_with_the_same_meaning(data: bytes) -> None:
    item = FrameItem(E1, 1, data)
    assert relayed([item]) == [item_to_subscriber_frame(S, item)]


@pytest.mark.requirement("G-WIRE-2")
def test_an_event_of_a_kind_that_is_not_known_passes_byte_for_byte() -> None:
    event = b"\x0a\x017\xfa\x7f\x05later"
    (message,) = Relay(subscription()).messages([FrameItem(E1, 1, b"\x12\x0b" + event)])
    assert event in message
    assert AgentSessionFrame.FromString(message).event.SerializeToString() == event


def test_bytes_that_are_no_frame_are_never_passed_on() -> None:
    with pytest.raises(OperationError) as caught:
        relayed([FrameItem(E1, 1, b"\xff")])
    assert caught.value.code is ErrorCode.UNSUPPORTED_INPUT


GAP = Gap(E1, 2, 4, GapReason.DROPPED)
ITEMS: list[Item] = [
    FrameItem(E1, 1, text()),
    GAP,
    FrameItem(E1, 5, failed("no"), priority=True),
    Gap(E1, 6, 6, GapReason.WRITER_GONE),
    End(E1, 6, 5, "closed"),
    Reset(E2, ResetReason.NEW_EPOCH),
    StateSignal(E2, 6),
    CaughtUp(E2),
]


def test_one_by_one_a_gap_rides_on_the_frame_behind_it() -> None:
    frames = relayed(ITEMS)
    assert len(frames) == len(ITEMS) - 1
    assert (frames[1].seq, frames[1].gap.first_seq, frames[1].gap.count) == (5, 2, 3)
    assert frames[1].event.session_error.message == "no"
    assert (frames[2].seq, frames[2].gap.count, frames[2].HasField("event")) == (6, 1, False)
    assert frames[3].end.reason == "closed"
    assert frames[4].epoch == E2
    assert frames[4].HasField("reset")
    assert frames[-1].caught_up
    assert not any(frame.more for frame in frames)


def test_gaps_that_no_frame_follows_stand_alone() -> None:
    other = Gap(E1, 5, 5, GapReason.WRITER_GONE)
    assert [frame.gap.count for frame in relayed([GAP, other])] == [3, 1]
    frames = relayed([GAP, FrameItem(E2, 1, text())])
    assert [frame.HasField("gap") for frame in frames] == [True, False]


@pytest.mark.parametrize("max_batch", [1, 2, 3, 100])
def test_in_batches_every_item_comes_in_order(max_batch: int) -> None:
    frames = relayed(ITEMS, max_batch)
    assert all(len(frame.more) < max_batch for frame in frames)
    found: list[AgentSessionFrame] = []
    for frame in frames:
        more = list(frame.more)
        frame.ClearField("more")
        found += [frame, *more]
    assert found == [item_to_subscriber_frame(S, item) for item in ITEMS]


@pytest.mark.requirement("G-HUB-4")
def test_a_batch_of_large_frames_stays_far_below_what_readers_take() -> None:
    items: list[Item] = [FrameItem(E1, seq, text("x" * 200_000)) for seq in range(1, 21)]
    sizes = [len(message) for message in Relay(subscription(64)).messages(items)]
    assert len(sizes) == 10
    assert max(sizes) < 1024 * 1024


def test_of_the_kinds_that_were_not_asked_for_only_transitions_come() -> None:
    items: list[Item] = [
        FrameItem(E1, 1, text()),
        FrameItem(E1, 2, state(3)),
        FrameItem(E1, 3, failed("no")),
        Gap(E1, 4, 4, GapReason.DROPPED),
        FrameItem(E1, 5, text()),
        CaughtUp(E1),
    ]
    frames = relayed(items, 0, "session_error")
    assert [frame.seq for frame in frames] == [2, 3, 5, 0]
    place = frames[2]
    assert (place.epoch, place.gap.count, place.HasField("event"), place.state) == (E1, 1, False, 0)


@pytest.mark.requirement("G-READ-6")
@pytest.mark.parametrize("max_batch", [0, 1, 64])
def test_a_page_of_which_nothing_was_asked_for_moves_the_reader_all_the_same(
    max_batch: int,
) -> None:
    page: list[Item] = [FrameItem(E1, seq, text()) for seq in range(1, 1000)]
    (frame,) = relayed(page, max_batch, "session_error")
    assert (frame.epoch, frame.seq) == (E1, 999)
    assert not frame.HasField("event")
    late: list[Item] = [FrameItem(E1, 7, text(), late=True)]
    assert relayed(late, max_batch, "session_error") == []


@pytest.mark.parametrize("size", [0, 1, 100, 127, 128, 16_300, 16_500, 2_100_000])
@pytest.mark.parametrize("seq", [1, 127, 128, 16_383, 16_384, 2**63, 2**64 - 1])
def test_events_of_all_sizes_at_all_places_are_relayed(size: int, seq: int) -> None:
    item = FrameItem(E1, seq, text("x" * size))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(relay_module, "item_to_subscriber_frame", None)
        (frame,) = relayed([item])
    assert frame == item_to_subscriber_frame(S, item)


@pytest.mark.requirement("G-HUB-4")
def test_events_are_not_decoded_on_their_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relay_module, "decode_frame", None)
    monkeypatch.setattr(relay_module, "item_to_subscriber_frame", None)
    items: list[Item] = [FrameItem(E1, 1, text()), FrameItem(E1, 2, state(3))]
    assert [frame.seq for frame in relayed(items)] == [1, 2]


def test_a_subscription_is_read_with_its_defaults_and_its_limits() -> None:
    ask = SubscribeAgentSessionRequest(session_id=S)
    assert subscription_from_bytes(ask.SerializeToString()) == subscription()
    ask.after_epoch, ask.after_seq, ask.follow = E1, 2**64 - 1, False
    read = subscription_from_bytes(ask.SerializeToString())
    assert (read.after, read.follow) == (Cursor(E1, 2**64 - 1), False)


def test_kinds_and_session_are_read_as_they_were_given() -> None:
    ask = SubscribeAgentSessionRequest(session_id="a/b", kinds=["session_error", "errors"])
    read = subscription_from_bytes(ask.SerializeToString())
    assert (read.session, read.kinds) == ("a/b", {"session_error", "errors"})


def test_of_what_is_not_known_the_kind_is_unknown() -> None:
    items = [FrameItem(E1, 1, b"\x12\x06\xfa\x7f\x03new"), FrameItem(E1, 2, text())]
    wanted = Relay(subscription(0, "unknown"))
    told = [AgentSessionFrame.FromString(one) for one in wanted.messages(items)]
    assert [(one.seq, one.HasField("event")) for one in told] == [(1, True), (2, False)]


def run(seqs: list[int], word: str, epoch: str = E1) -> FrameRun:
    return FrameRun(epoch, seqs, [text(word)] * len(seqs), bytes(len(seqs)))


def test_readers_of_the_same_frames_share_what_was_encoded() -> None:
    encoded = Encoded()
    first = list(Relay(subscription(64), encoded).messages(run([*range(1, 131)], "x")))
    # The frames at a place never change, so other words here can only be seen if encoded again.
    other = run([*range(1, 131)], "y")
    assert list(Relay(subscription(64), encoded).messages(other)) == first
    assert list(Relay(subscription(64)).messages(other)) != first


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (run([1, 3], "a"), run([1, 2], "b")),
        (run([1, 2], "a"), run([1, 2], "b", E2)),
        ([FrameItem(E1, 1, text("a"), late=True)], run([1], "b")),
        ([FrameItem(E1, 1, text("a"))], run([1, 2], "b")),
    ],
)
def test_what_is_not_the_same_frames_is_not_shared(
    before: Sequence[Item], after: Sequence[Item]
) -> None:
    encoded = Encoded()
    list(Relay(subscription(8), encoded).messages(before))
    expected = list(Relay(subscription(8)).messages(after))
    assert list(Relay(subscription(8), encoded).messages(after)) == expected


def test_a_run_is_encoded_as_its_frames_are() -> None:
    frames = [*FRAMES.values(), text("x" * 300), state(3), failed("no")] * 3
    seqs = [*range(1, 4), *range(20_000, 20_000 + len(frames) - 3)]
    lanes = bytes(seq % 2 for seq in seqs)
    columns = FrameRun(E1, seqs, frames, lanes)
    items = [
        FrameItem(E1, seq, data, priority=lane == 1)
        for seq, data, lane in zip(seqs, frames, lanes, strict=True)
    ]
    for batch in (0, 1, 5):
        relay = Relay(subscription(batch))
        assert [*relay.messages(columns)] == [*relay.messages(items)]
    assert (columns == items, columns[-1], len(columns)) == (True, items[-1], len(items))
    assert columns[2:5] == items[2:5]


def test_what_is_kept_for_other_readers_has_a_bound() -> None:
    encoded = Encoded(most_bytes=1_000)
    encoded.put((S, E1, 1, 1), (bytes(600),))
    encoded.put((S, E1, 2, 2), (bytes(400),))
    assert encoded.get((S, E1, 1, 1)) is not None
    encoded.put((S, E1, 3, 3), (bytes(400),))
    kept = [seq for seq in (1, 2, 3) if encoded.get((S, E1, seq, seq)) is not None]
    assert kept == [1, 3]  # 2 was used longest ago
    encoded.put((S, E1, 4, 4), (bytes(2_000),))
    assert encoded.get((S, E1, 4, 4)) is None


@pytest.mark.parametrize(
    "data",
    [b"\xff", SubscribeAgentSessionRequest(session_id=S, after_epoch="x").SerializeToString()],
)
def test_a_request_that_cannot_be_read_is_none_of_the_nine(data: bytes) -> None:
    with pytest.raises(MalformedRequestError):
        subscription_from_bytes(data)
