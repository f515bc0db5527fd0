"""Recorded streams go through the adapter without a word lost, in chunks of any size."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from compass_agent.adapters.pi import Adapter
from compass_agent.events.classes import (
    InnerEvent,
    MessageEnded,
    MessageFailed,
    Noticed,
    RetryEnded,
    RunEnded,
    TextDelta,
    ThinkingDelta,
    TurnEnded,
    Unknown,
)

DATA = Path(__file__).parent.parent / "data"
RECORDINGS = sorted(path for path in DATA.glob("*/*.jsonl*") if path.suffix != ".json")
NAMES = [f"{path.parent.name}/{path.name}" for path in RECORDINGS]
SMALL = 12_000


def stream_of(path: Path) -> bytes:
    data = path.read_bytes()
    return gzip.decompress(data) if path.suffix == ".gz" else data


def events_of(chunks: list[bytes]) -> list[InnerEvent]:
    adapter = Adapter()
    events = [event for chunk in chunks for event in adapter.feed(chunk)]
    return events + adapter.end(0)


def text_of(events: list[InnerEvent]) -> str:
    return "".join(e.text for e in events if isinstance(e, TextDelta))


@pytest.mark.parametrize("path", RECORDINGS, ids=NAMES)
def test_a_recording_gives_known_events_in_any_chunks(path: Path) -> None:
    stream = stream_of(path)
    whole = events_of([stream])
    assert [event for event in whole if isinstance(event, Unknown)] == []
    assert events_of(stream.split(b"\n")) == whole, "one line for each call, without its end"
    assert events_of(stream.splitlines(keepends=True)) == whole
    assert events_of([stream[i : i + 65_536] for i in range(0, len(stream), 65_536)]) == whole
    if len(stream) < SMALL:
        assert events_of([stream[i : i + 7] for i in range(0, len(stream), 7)]) == whole
    for event in whole:
        if isinstance(event, TextDelta | ThinkingDelta):
            event.text.encode()


@pytest.mark.parametrize("path", RECORDINGS, ids=NAMES)
def test_no_recorded_failure_shows_what_the_agent_wrapped_around_it(path: Path) -> None:
    for event in events_of([stream_of(path)]):
        if not isinstance(event, MessageEnded | MessageFailed | TurnEnded | RunEnded | RetryEnded):
            continue
        failure = event.failure
        if failure is None:
            continue
        message = failure.message
        assert message
        assert len(message.encode()) <= 8192
        assert "raw-http-request" not in message
        assert "retry-after-ms" not in message
        assert "(type=" not in message
        assert not message.startswith(("{", "<"))


@pytest.mark.parametrize("agent", ["pi", "omp"])
def test_split_code_points_come_whole(agent: str) -> None:
    events = events_of([stream_of(DATA / agent / "unicode.jsonl")])
    last = [
        json.loads(line) for line in stream_of(DATA / agent / "unicode.jsonl").splitlines()[-1:]
    ]
    texts = [
        block["text"]
        for message in last[0]["messages"]
        for block in message["content"]
        if message["role"] == "assistant" and block["type"] == "text"
    ]
    final = "".join(texts).encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    assert "split: 😀 joined" in final
    assert "lone low: � end" in final
    assert text_of(events) == final


@pytest.mark.parametrize(
    ("name", "line"), [("pi/kill9-mid-line.jsonl.gz", 16), ("omp/kill9-mid-line.jsonl.gz", 17)]
)
def test_a_stream_that_was_cut_in_a_line_says_so(name: str, line: int) -> None:
    *_, notice, exited = events_of([stream_of(DATA / name)])
    assert notice == Noticed(f"The agent was cut off in the middle of line {line}")
    assert getattr(exited, "cut_line", None) is True


def test_a_large_line_that_was_shortened_says_so() -> None:
    events = events_of([stream_of(DATA / "omp" / "tool-large-args.rpc.jsonl.gz")])
    notices = [e.text for e in events if isinstance(e, Noticed) and "shortened" in e.text]
    assert len(notices) == len(set(notices)) > 1


@pytest.mark.parametrize("agent", ["pi", "omp"])
def test_a_rate_limit_keeps_its_status_and_its_wait(agent: str) -> None:
    events = events_of([stream_of(DATA / agent / "err-429.jsonl")])
    failures = [e.failure for e in events if isinstance(e, MessageEnded) and e.failure]
    assert failures
    for failure in failures:
        assert failure.message.startswith("Rate limit reached for fake-model")
        assert failure.message.endswith("Please try again in 20s.")
        assert failure.status == 429
        assert failure.retry_after_ms == (1000 if agent == "omp" else 20_000)
