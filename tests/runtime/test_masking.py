"""Registered secrets are masked in everything that a session tells."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compass_agent import open_session
from compass_agent.errors.redaction import MASK
from compass_agent.events import TextDelta
from compass_agent.runtime.masking import Masker
from inner_events import assistant_end, delta, message_start, tool_end, tool_start, tool_update
from stored import frames_in

SECRET = "hunter2-correct-horse"  # noqa: S105 - made up


def told(tmp_path: Path, *events: Any) -> bytes:
    url = f"sqlite:{tmp_path / 'log.db'}"
    with open_session("s1", log=url, secrets=[SECRET, ""], title=f"of {SECRET}") as session:
        for event in events:
            session.feed(event)
    stored = b"".join(path.read_bytes() for path in tmp_path.glob("log.db*"))
    assert SECRET.encode() not in stored
    return b"".join(frame.SerializeToString() for frame in frames_in(url, "s1"))


@pytest.mark.parametrize(
    "event",
    [
        message_start("user", content=f"use {SECRET} please"),
        tool_start(intent=f"curl -u {SECRET}"),
        tool_update({"content": [{"type": "text", "text": f"got {SECRET}"}]}),
        tool_end({"nested": [{"deep": {SECRET: f"x{SECRET}x"}}]}),
        tool_end({"details": {"path": f"/{SECRET}", "oldText": SECRET, "newText": SECRET}}),
        assistant_end("error", errorMessage=f"bad key {SECRET}"),
        {"type": "notice", "level": "info", "message": f"key {SECRET}"},
        {"type": "todo_reminder", "todos": [{"content": f"hide {SECRET}"}]},
        delta(f"the key is {SECRET}."),
        tool_end("y" * 3_990 + SECRET),
    ],
    ids=map(str, range(10)),
)
def test_a_secret_is_masked_wherever_it_stands(tmp_path: Path, event: Any) -> None:
    assert told(tmp_path, event)


@pytest.mark.parametrize("cut", range(1, len(SECRET)))
def test_a_secret_split_over_deltas_is_masked(cut: int) -> None:
    masker = Masker([SECRET])
    pieces = [f"is {SECRET[:cut]}", f"{SECRET[cut:]} ok"]
    events = [event for piece in pieces for event in masker.feed(TextDelta(piece))]
    events += masker.flush()

    assert "".join(e.text for e in events if isinstance(e, TextDelta)) == f"is {MASK} ok"


def test_a_secret_given_one_character_at_a_time_is_masked(tmp_path: Path) -> None:
    stored = told(tmp_path, message_start(), *(delta(char) for char in f"<{SECRET}>"))

    assert b"hunter" not in stored
    assert MASK.encode() in stored


@pytest.mark.parametrize(
    "between",
    [
        {"type": "queue_update"},
        delta("pondering", "thinking_delta"),
        delta("", "thinking_end"),
        tool_update("x", call="other"),
    ],
    ids=["talk", "thinking", "step", "tool"],
)
def test_a_secret_split_around_another_event_is_masked(tmp_path: Path, between: Any) -> None:
    url = f"sqlite:{tmp_path / 'log.db'}"
    with open_session("s1", log=url, secrets=[SECRET]) as session:
        for event in (message_start(), delta(SECRET[:9]), between, delta(SECRET[9:])):
            session.feed(event)

    texts = [frame.typed_event.assistant_text.text for frame in frames_in(url, "s1")]
    assert "".join(texts) == MASK


def test_links_and_reasons_of_the_host_are_masked(tmp_path: Path) -> None:
    url = f"sqlite:{tmp_path / 'log.db'}"
    with open_session("s1", log=url, secrets=[SECRET]) as session:
        session.notice("see", link=f"http://h/{SECRET}")
        session.inject("steer", SECRET, SECRET, SECRET)
        session.abort(SECRET, stopped_by=SECRET)
        session.fail(ValueError(SECRET))

    assert SECRET not in str(frames_in(url, "s1"))


def test_what_only_begins_like_a_secret_is_told_in_full_and_in_order(tmp_path: Path) -> None:
    stored = told(
        tmp_path,
        message_start(),
        *(delta("hunter"), delta("s"), delta("hunter"), assistant_end(text="x")),
        tool_start(),
    )

    assert stored.index(b"hunters") < stored.rindex(b"hunter") < stored.index(b"bash")


def test_output_so_far_never_ends_within_a_secret(tmp_path: Path) -> None:
    stored = told(
        tmp_path,
        tool_start(),
        tool_update(f"key {SECRET[:10]}"),
        tool_update({"content": [{"type": "text", "text": f"key {SECRET[:10]}"}]}),
        tool_end(f"key {SECRET}"),
    )

    assert SECRET[:10].encode() not in stored


@given(st.lists(st.sampled_from(["a", "b", "ab", "abab", "x"]), max_size=12))
def test_masking_deltas_equals_masking_the_whole(pieces: list[str]) -> None:
    masker = Masker(["abab"])
    events = [event for piece in pieces for event in masker.feed(TextDelta(piece))]
    events += masker.flush()

    shown = "".join(event.text for event in events if isinstance(event, TextDelta))
    assert "abab" not in shown.replace(MASK, "|")
    assert shown.replace(MASK, "abab") == "".join(pieces)
