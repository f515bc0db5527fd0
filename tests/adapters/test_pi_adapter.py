"""The adapter of pi and oh-my-pi: nothing is lost without a word, nothing raises."""

from __future__ import annotations

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compass_agent.adapters.pi import Adapter
from compass_agent.errors.shapes import is_object
from compass_agent.events.classes import (
    AgentExited,
    Failure,
    InnerEvent,
    MessageEnded,
    MessageFailed,
    MessageStarted,
    Noticed,
    RetryEnded,
    RetryScheduled,
    RunEnded,
    RunStarted,
    TextDelta,
    ThinkingDelta,
    TurnEnded,
)

START = '{"type":"agent_start"}'


def delta(text: str, kind: str = "text_delta", index: object = 0) -> str:
    return json.dumps({"type": kind, "contentIndex": index, "delta": text})


def failed(text: str, status: int | None = None, reason: str = "error") -> dict[str, object]:
    message: dict[str, object] = {"role": "assistant", "stopReason": reason, "errorMessage": text}
    return message if status is None else {**message, "errorStatus": status}


def feed_lines(adapter: Adapter, *lines: str) -> list[InnerEvent]:
    return [event for line in lines for event in adapter.feed(line)]


def test_whole_lines_chunks_and_objects_are_all_taken() -> None:
    expected: list[InnerEvent] = [RunStarted(), RunStarted()]
    assert Adapter().feed(f"{START}\n{START}\n".encode()) == expected
    assert feed_lines(Adapter(), START, START) == expected
    assert feed_lines(Adapter(), START[:5], START[5:] + "\n" + START) == [RunStarted()]
    adapter = Adapter()
    assert adapter.feed(json.loads(START)) + adapter.feed(START.encode()) == expected


def test_a_line_given_without_its_end_is_processed_at_once_and_only_once() -> None:
    adapter = Adapter()
    assert adapter.feed(START) == [RunStarted()]
    assert adapter.feed("\n") == []
    assert adapter.end() == [AgentExited()]


def test_an_object_after_begun_words_ends_the_words() -> None:
    adapter = Adapter()
    assert adapter.feed("warning: old version") == []
    assert adapter.feed(START) == [
        Noticed("Line 1 is no JSON: warning: old version"),
        RunStarted(),
    ]


def test_a_late_line_end_does_not_count_as_a_line() -> None:
    adapter = Adapter()
    assert feed_lines(adapter, START, "\r", "\nodd\n") == [
        RunStarted(),
        Noticed("Line 2 is no JSON: odd"),
    ]


def test_an_object_given_in_a_begun_line_loses_nothing() -> None:
    adapter = Adapter()
    adapter.feed('{"half')
    assert adapter.feed({"type": "agent_start"}) == [
        Noticed('Line 1 is no JSON: {"half'),
        RunStarted(),
    ]


def test_an_object_within_a_begun_line_is_part_of_that_line() -> None:
    adapter = Adapter()
    line = '{"type":"text_delta","contentIndex":0,"x":{"type":"agent_start"},"delta":"a"}\n'
    cut = line.index('{"type":"agent_start"}')
    end = cut + len('{"type":"agent_start"}')
    assert feed_lines(adapter, line[:cut], line[cut:end], line[end:]) == [TextDelta("a")]


@pytest.mark.parametrize(
    ("line", "notice"),
    [
        ("words of a program", "Line 2 is no JSON: words of a program"),
        ("[1, 2]", "Line 2 is no JSON object: [1, 2]"),
        ("null", "Line 2 is no JSON object: null"),
        ('{"type":', 'Line 2 is no JSON: {"type":'),
        ("\x1b[31mred\x07\u202e", "Line 2 is no JSON: [31mred"),
        ("key sk-ant-123456 leaked", "Line 2 is no JSON: key [redacted] leaked"),
        ("own-secret leaked", "Line 2 is no JSON: [redacted] leaked"),
    ],
)
def test_what_is_no_event_becomes_a_notice_and_the_stream_goes_on(line: str, notice: str) -> None:
    adapter = Adapter(["own-secret"])
    events = adapter.feed(f"{START}\n{line}\n\n \r\n{START}\n")
    assert events == [RunStarted(), Noticed(notice), RunStarted()]


def test_a_long_odd_line_is_shown_in_short() -> None:
    (event,) = Adapter().feed("x" * 100_000 + "\n")
    assert isinstance(event, Noticed)
    assert len(event.text) < 230


def test_invalid_utf8_gives_a_notice_and_the_event() -> None:
    line = delta("aXb").encode().replace(b"X", b"\xff") + b"\n"
    assert Adapter().feed(line) == [
        Noticed("Line 1 is no valid UTF-8; parts of it are lost"),
        TextDelta("a�b"),
    ]


def test_a_line_over_the_limit_is_left_out_with_its_size() -> None:
    adapter = Adapter(largest_line=100)
    events = adapter.feed(delta("x" * 200) + "\n" + START + "\n")
    assert events == [
        Noticed("Line 1 was left out: 254 bytes are too many"),
        RunStarted(),
    ]


def test_separators_inside_a_line_are_text() -> None:
    text = "a\u2028b\u2029c\u0085d"
    line = json.dumps({"type": "text_delta", "delta": text}, ensure_ascii=False)
    assert Adapter().feed((line + "\r\n").encode()) == [TextDelta(text)]


def test_halves_of_a_code_point_are_joined_over_deltas() -> None:
    events = feed_lines(Adapter(), delta("a\ud83d"), delta("\ude00b"), delta("\ud83d\ude00"))
    assert events == [TextDelta("a"), TextDelta("😀b"), TextDelta("😀")]


def test_halves_of_different_blocks_are_not_mixed() -> None:
    events = feed_lines(
        Adapter(),
        delta("\ud83d"),
        delta("\ud83d", "thinking_delta"),
        delta("\ude00", index=1),
        delta("\ude00", "thinking_delta"),
        delta("\ude00"),
    )
    assert events == [TextDelta("�"), ThinkingDelta("😀"), TextDelta("😀")]


@pytest.mark.parametrize(
    "closing",
    [
        '{"type":"text_end","contentIndex":0}',
        '{"type":"message_end","message":{"role":"assistant","stopReason":"stop","content":[]}}',
        '{"type":"message_start","message":{"role":"assistant"}}',
        '{"type":"error","reason":"aborted","error":{}}',
        '{"type":"agent_end","messages":[]}',
    ],
)
def test_a_half_that_stays_alone_is_replaced_when_its_block_ends(closing: str) -> None:
    events = feed_lines(Adapter(), delta("\ud83d"), closing)
    assert events[0] == TextDelta("�")
    assert len(events) > 1
    assert Adapter().feed(delta("\ude00")) == [TextDelta("�")]


def test_a_half_at_the_end_of_the_stream_is_replaced() -> None:
    adapter = Adapter()
    adapter.feed(delta("\ud83d"))
    assert adapter.end() == [TextDelta("�"), AgentExited()]


def test_the_same_failure_is_told_in_the_same_words_everywhere() -> None:
    text = "503 Busy retry-after-ms=1000\nBusy (type=server_error)\nraw-http-request=/home/x/1.json"
    message = failed(text)
    lines: list[dict[str, object]] = [
        {"type": "message_end", "message": message},
        {"type": "turn_end", "message": message, "toolResults": []},
        {"type": "agent_end", "messages": [message]},
        {"type": "auto_retry_end", "success": False, "attempt": 1, "finalError": text},
        {"type": "auto_retry_start", "errorMessage": text},
    ]
    events = [event for line in lines for event in Adapter().feed(line)]
    failure = Failure(False, "Busy", 503, 1000, "server_error")
    ended, turn, run, retry, scheduled = events
    assert isinstance(ended, MessageEnded)
    assert isinstance(turn, TurnEnded)
    assert isinstance(run, RunEnded)
    assert isinstance(retry, RetryEnded)
    assert [e.failure for e in (ended, turn, run, retry)] == [failure] * 4
    assert isinstance(scheduled, RetryScheduled)
    assert scheduled.reason == "Busy"


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (failed("404 no such", 503), Failure(False, "no such", 503)),
        (failed("no such", 0), Failure(False, "no such", 0)),
        (failed("no such", 200), Failure(False, "no such", None)),
        (failed("429 x"), Failure(False, "x", 429)),
        (failed(""), Failure(False, "No reason was given")),
        (failed("", 502), Failure(False, "HTTP 502 Bad Gateway", 502)),
        (failed("key sk-ant-abc1234 bad"), Failure(False, "key [redacted] bad")),
        (failed("__omp.silent_abort__", reason="aborted"), Failure(True, "")),
        (failed("Interrupted by user", reason="aborted"), Failure(True, "Interrupted by user")),
        (failed("", reason="aborted"), Failure(True, "")),
    ],
)
def test_a_failure_is_cleaned(message: dict[str, object], expected: Failure) -> None:
    (event,) = Adapter().feed({"type": "message_end", "message": message})
    assert isinstance(event, MessageEnded)
    assert event.failure == expected


def test_a_cancelled_retry_keeps_its_words() -> None:
    event = {"type": "auto_retry_end", "success": False, "finalError": "Retry cancelled"}
    assert Adapter().feed(event) == [
        RetryEnded(False, failure=Failure(True, "Retry cancelled"), cancelled=True)
    ]


def test_a_bare_provider_stream_ends_its_run() -> None:
    done: dict[str, object] = {"type": "done", "reason": "stop", "message": {"role": "assistant"}}
    assert Adapter().feed(done)[-1] == RunEnded()
    assert len(Adapter().feed({**done, "reason": "toolUse"})) == 1
    error = {"type": "error", "reason": "error", "error": failed("500 x")}
    assert Adapter().feed(error) == [MessageFailed(Failure(False, "x", 500)), RunEnded()]
    inner = {"type": "message_update", "assistantMessageEvent": error}
    assert Adapter().feed(inner) == [MessageFailed(Failure(False, "x", 500))]


def chunk(index: int, count: int, data: bytes, name: object = "c") -> dict[str, object]:
    text = base64.b64encode(data).decode()
    return {"type": "rpc_chunk", "chunkId": name, "index": index, "count": count, "data": text}


def test_pieces_of_a_large_frame_are_put_together_in_any_order() -> None:
    line = delta("joined").encode()
    adapter = Adapter()
    assert adapter.feed(chunk(1, 2, line[9:])) == []
    assert adapter.feed(chunk(0, 1, START.encode(), "other")) == [RunStarted()]
    assert adapter.feed(chunk(0, 2, line[:9])) == [TextDelta("joined")]


@pytest.mark.parametrize(
    "event",
    [
        {"type": "rpc_chunk"},
        chunk(2, 2, b"x"),
        chunk(-1, 2, b"x"),
        chunk(0, 10**9, b"x"),
        {**chunk(0, 1, b"x"), "data": "%%%"},
        {**chunk(0, 1, b"x"), "data": None},
        {**chunk(0, 1, b"x"), "index": "0"},
        chunk(0, 1, b"no json"),
        chunk(0, 1, json.dumps(chunk(0, 1, b"{}")).encode()),
    ],
)
def test_a_bad_piece_gives_a_notice(event: dict[str, object]) -> None:
    (notice,) = Adapter().feed(event)
    assert isinstance(notice, Noticed)
    assert notice.text.startswith("Line 1 ")


def test_a_repeated_piece_and_too_many_frames_give_notices() -> None:
    adapter = Adapter()
    assert adapter.feed(chunk(0, 2, b"x")) == []
    assert isinstance(adapter.feed(chunk(0, 2, b"x"))[0], Noticed)
    for number in range(8):
        assert adapter.feed(chunk(0, 2, b"x", number)) == []
    assert isinstance(adapter.feed(chunk(0, 2, b"x", "ninth"))[0], Noticed)


def test_a_frame_that_stays_in_part_is_said_at_the_end() -> None:
    adapter = Adapter()
    adapter.feed(chunk(0, 3, b"x"))
    assert adapter.end()[0] == Noticed("A large frame came in part: 1 of 3 pieces")


def test_a_frame_that_the_agent_shortened_says_so() -> None:
    line = delta("abc...[958544 chars elided for RPC frame]")
    notice = Noticed("Line 1 was shortened by the agent; parts of it are missing")
    assert Adapter().feed(line + "\n")[0] == notice
    assert Adapter().feed(json.loads(line))[0] == notice


def test_a_half_line_at_the_end_is_a_cut() -> None:
    adapter = Adapter()
    adapter.feed(START + "\n" + '{"type":"tool_execution_end","resu')
    assert adapter.end(-9, "killed by sk-ant-abcdef") == [
        Noticed("The agent was cut off in the middle of line 2"),
        AgentExited(-9, "killed by [redacted]", cut_line=True),
    ]


def test_a_whole_line_or_words_without_end_are_no_cut() -> None:
    adapter = Adapter()
    adapter.feed(START[:9])
    adapter.feed(START[9:])
    assert adapter.end() == [RunStarted(), AgentExited()]
    adapter = Adapter()
    adapter.feed("last words")
    assert adapter.end() == [Noticed("Line 1 is no JSON: last words"), AgentExited()]


def test_the_end_says_who_stopped_and_what_did_not_start_and_comes_once() -> None:
    adapter = Adapter(["own-secret"])
    (exited,) = adapter.end(127, "e" * 20_000, "host", "no own-secret")
    assert isinstance(exited, AgentExited)
    assert (exited.exit_code, exited.stopped_by) == (127, "host")
    assert exited.start_failure == "no [redacted]"
    assert len(exited.stderr_tail) == 8192
    assert adapter.end() == []


def test_a_users_text_is_made_valid() -> None:
    event = {"type": "message_start", "message": {"role": "user", "content": "a\ud83d\ude00\ud83d"}}
    assert Adapter().feed(event) == [MessageStarted("user", text="a😀�")]


VALUES = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["type", "message", "error", "errorMessage", "delta", "contentIndex", "index"]
            ),
            inner
            | st.sampled_from(["text_delta", "error", "message_update", "rpc_chunk", "aborted"]),
            max_size=4,
        )
    ),
    max_leaves=10,
)


@given(st.lists(VALUES | st.binary() | st.text(), max_size=6))
def test_no_input_raises(pieces: list[object]) -> None:
    adapter = Adapter()
    for piece in pieces:
        if isinstance(piece, str | bytes) or is_object(piece):
            adapter.feed(piece)
        adapter.feed(json.dumps(None if isinstance(piece, bytes) else piece) + "\n")
    assert isinstance(adapter.end()[-1], AgentExited)


@given(
    st.lists(st.sampled_from([START, delta("aé😀"), "words é", "[]", ""]), max_size=5), st.data()
)
def test_any_chunking_gives_the_same_events(lines: list[str], data: st.DataObject) -> None:
    stream = "".join(line + "\n" for line in lines).encode()
    whole = Adapter()
    expected = whole.feed(stream) + whole.end()
    adapter, found = Adapter(), list[InnerEvent]()
    while stream:
        size = data.draw(st.integers(1, len(stream)))
        found += adapter.feed(stream[:size])
        stream = stream[size:]
    assert found + adapter.end() == expected
