"""Short deltas take a short way through the mapper, and end as the frames that `map` gives."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compass_agent.events import RunStarted, TextDelta, ThinkingDelta
from compass_agent.frames import FrameBuilder, SessionFrame
from compass_agent.frames.pieces import SHORT_CHARS, PieceEncoder
from compass_agent.mapping import EventMapper, UnmappedEvent
from inner_events import assistant_end, delta, message_start

if TYPE_CHECKING:
    from types import FrameType

ANY_TEXT = st.text(st.characters(), max_size=SHORT_CHARS)  # lone surrogates, too


class NoText:
    """Something that no JSON holds, and that cannot be compared."""

    def __eq__(self, other: object) -> bool:
        raise RuntimeError

    def __hash__(self) -> int:
        return 0


def told(mapper: EventMapper, event: object) -> list[bytes]:
    """The frames of `event` by the short way, where there is one."""
    data = mapper.encoded_delta(event)
    return by_map(mapper, event) if data is None else [data]


def by_map(mapper: EventMapper, event: object) -> list[bytes]:
    frames = mapper.map(event)
    assert not any(isinstance(frame, UnmappedEvent) for frame in frames)
    return [frame.SerializeToString() for frame in frames if isinstance(frame, SessionFrame)]


def a_delta(kind: int, text: str) -> object:
    return [
        delta(text),
        delta(text, "thinking_delta"),
        TextDelta(text),
        ThinkingDelta(text),
        message_start(),
    ][kind]


@given(st.lists(st.tuples(st.integers(0, 4), ANY_TEXT), max_size=200))
def test_both_ways_give_the_same_bytes_in_any_mixture(pieces: list[tuple[int, str]]) -> None:
    short, long = EventMapper(now=lambda: 7), EventMapper(now=lambda: 7)
    for kind, text in pieces:
        event = a_delta(kind, text)
        assert told(short, event) == by_map(long, event)


def test_event_ids_count_on_when_a_form_is_used_up() -> None:
    mapper = EventMapper(now=lambda: 7)

    frames = [SessionFrame.FromString(told(mapper, delta("x"))[0]) for _ in range(1_000)]

    assert [frame.typed_event.event_id for frame in frames] == [str(n) for n in range(1, 1_001)]


@pytest.mark.parametrize(
    "event",
    [
        delta(""),
        delta("x" * (SHORT_CHARS + 1)),
        delta("x", "toolcall_delta"),
        {"type": "message_update", "assistantMessageEvent": {"type": "text_delta", "delta": 1}},
        {"type": "message_update", "assistantMessageEvent": {"type": NoText(), "delta": "x"}},
        {"type": "message_update", "assistantMessageEvent": "x"},
        {"type": NoText()},
        {"type": "text_delta", "delta": "x"},
        message_start(),
        RunStarted(),
        TextDelta(b"x"),  # pyright: ignore[reportArgumentType] - what a host may do all the same
        NoText(),
        None,
    ],
    ids=range(13),
)
def test_all_else_is_left_to_the_mapper_and_changes_nothing(event: Any) -> None:
    mapper = EventMapper(now=lambda: 7)

    assert mapper.encoded_delta(event) is None

    (first,) = told(mapper, delta("a"))
    assert SessionFrame.FromString(first).typed_event.event_id == "1"


def test_an_answer_of_short_deltas_is_not_empty() -> None:
    mapper = EventMapper(now=lambda: 7)
    mapper.map(message_start())
    assert mapper.encoded_delta(delta("x")) is not None

    assert mapper.map(assistant_end("stop")) == []


def test_a_piece_that_comes_within_another_changes_neither() -> None:
    """A signal handler may feed at any line of the encoder."""
    lines = 0
    while True:
        lines += 1
        encoder = PieceEncoder("assistant_text")
        encoder.encode(1, 7, "first", "m")
        data, within = encoded_with_another_at(encoder, lines)
        assert data == expected("outer", 2)
        if not within:
            break
        assert within == [expected("inner", 3)]
        assert encoder.encode(4, 7, "last", "m") == expected("last", 4)
    assert lines > 8


def expected(text: str, number: int) -> bytes:
    frame = FrameBuilder(lambda: 7).assistant_text(text, "m")
    frame.typed_event.event_id = str(number)
    return frame.SerializeToString()


def encoded_with_another_at(encoder: PieceEncoder, line: int) -> tuple[bytes, list[bytes]]:
    """Encode a piece, and another one where its `line`th line begins."""
    within: list[bytes] = []
    left = line

    def trace(frame: FrameType, kind: str, _: object) -> Any:
        nonlocal left
        if frame.f_code is not PieceEncoder.encode.__code__:
            return None
        if kind == "line":
            left -= 1
            if not left:
                sys.settrace(None)
                within.append(encoder.encode(3, 7, "inner", "m"))
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        data = encoder.encode(2, 7, "outer", "m")
    finally:
        sys.settrace(before)
    return data, within
