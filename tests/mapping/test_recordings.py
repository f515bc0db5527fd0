"""Recorded runs of real agents, counted against what the recordings themselves say.

Other recordings are taken with `--recordings FOLDER`: every `*.jsonl` and `*.jsonl.gz` below it.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from compass_agent.adapters.pi import Adapter
from compass_agent.errors.shapes import as_object
from compass_agent.frames import (
    AgentSessionState,
    AgentToolCallStatus,
    SessionErrorKind,
    SessionFrame,
)
from compass_agent.mapping import EventMapper
from reading_frames import frames_of
from recordings import Recorded, recordings

ERRORED = AgentSessionState.AGENT_SESSION_STATE_ERRORED
ERROR = SessionErrorKind.SESSION_ERROR_KIND_ERROR
ABORTED = SessionErrorKind.SESSION_ERROR_KIND_ABORTED
FINAL = {
    AgentToolCallStatus.AGENT_TOOL_CALL_STATUS_COMPLETED,
    AgentToolCallStatus.AGENT_TOOL_CALL_STATUS_FAILED,
}


def mapped(recorded: Recorded) -> list[SessionFrame]:
    """The frames of the recorded lines, without the end of the agent's process."""
    adapter, mapper = Adapter(), EventMapper(now=lambda: 1)
    frames = [
        frame
        for line in recorded.lines()
        for event in adapter.feed(line)
        for frame in frames_of(mapper.map(event))
    ]
    assert not mapper.unmapped
    return frames


def failed_messages(recorded: Recorded) -> list[tuple[int, str, int | None]]:
    """Kind, text and status of each failure, as the recording tells them."""
    told: list[tuple[int, str, int | None]] = []
    for event in recorded.events():
        kind = event.get("type")
        message = message_of(event, "message" if kind == "message_end" else "error")
        if kind in ("message_end", "error") and message.get("stopReason") in ("error", "aborted"):
            text, status = str(message.get("errorMessage", "")), message.get("errorStatus")
            told.append((ERROR if message["stopReason"] == "error" else ABORTED, text, status))
        elif kind == "auto_retry_end" and event.get("success") is False:
            text = str(event.get("finalError", ""))
            if text == "Retry cancelled":
                told.append((ABORTED, text, None))
            elif not any(before in text for _, before, _ in told):
                told.append((ERROR, text, None))
    return told


def message_of(event: dict[str, Any], key: str) -> dict[str, Any]:
    return dict(as_object(event.get(key)))


def status_of(text: str, status: int | None) -> int | None:
    """The status that the agent gives, else the one that opens its text."""
    if status is None and text[:3].isdigit() and text[3:4] == " ":
        return int(text[:3])
    return status


@pytest.mark.requirement("G-TURN-1")
@pytest.mark.parametrize("recorded", recordings(), ids=str)
def test_each_failed_message_is_told_once_with_its_message_and_status(recorded: Recorded) -> None:
    frames = mapped(recorded)
    errors = [
        f.typed_event.session_error for f in frames if f.typed_event.HasField("session_error")
    ]
    wanted = failed_messages(recorded)

    assert [error.kind for error in errors] == [kind for kind, _, _ in wanted]
    for error, (_, text, status) in zip(errors, wanted, strict=True):
        assert_readable(error.message, text)
        shown = error.status if error.HasField("status") else None
        assert shown == status_of(text, status)


def assert_readable(message: str, raw: str) -> None:
    """The message is the innermost text of what the agent said, and only that."""
    assert message or not raw
    for noise in ("raw-http-request=", "retry-after-ms=", '{"error"', "(type=", "<html"):
        assert noise not in message
    head = message.partition("…(+")[0]
    fallback = message.startswith("HTTP ") and raw[:3].isdigit() and raw[:3] in message
    assert head in raw or head in json.dumps(raw) or fallback or head.replace('"', '\\"') in raw


@pytest.mark.requirement("G-TURN-1", "G-TURN-2")
@pytest.mark.parametrize("recorded", recordings(), ids=str)
def test_every_error_is_followed_by_errored_and_nothing_else_is(recorded: Recorded) -> None:
    frames = mapped(recorded)

    for index, frame in enumerate(frames):
        if frame.typed_event.HasField("session_error"):
            follower = frames[index + 1] if index + 1 < len(frames) else SessionFrame()
            is_error = frame.typed_event.session_error.kind == ERROR
            assert (follower.state == ERRORED) == is_error
        elif frame.state == ERRORED:
            assert frames[index - 1].typed_event.HasField("session_error") or gave_up(
                frames[index - 1]
            )


def gave_up(frame: SessionFrame) -> bool:
    return "gave up" in frame.typed_event.notice.text


@pytest.mark.parametrize("recorded", recordings(), ids=str)
def test_frames_are_as_many_as_the_recording_has_events(recorded: Recorded) -> None:
    frames = Counter(frame.typed_event.WhichOneof("event") for frame in mapped(recorded))
    finals = [
        frame
        for frame in mapped(recorded)
        if frame.typed_event.tool_call_update.status in FINAL and not is_closing(frame)
    ]
    events = Counter(str(event.get("type")) for event in recorded.events())

    assert frames["tool_call"] == events["tool_execution_start"]
    assert len(finals) == events["tool_execution_end"]
    assert frames["prompt"] == len(
        [e for e in recorded.events() if e.get("type") == "message_start" and is_user(e)]
    )


def is_closing(frame: SessionFrame) -> bool:
    """Tell whether the mapper itself closed the call, which brings no output."""
    update = frame.typed_event.tool_call_update
    failed = update.status == AgentToolCallStatus.AGENT_TOOL_CALL_STATUS_FAILED
    return failed and not update.output


def is_user(event: dict[str, Any]) -> bool:
    return event["message"].get("role") == "user"


@pytest.mark.parametrize("recorded", recordings(), ids=str)
def test_joined_deltas_equal_the_final_texts(recorded: Recorded) -> None:
    frames = mapped(recorded)
    got = {kind: joined(frames, kind) for kind in ("assistant_text", "thinking")}
    message_id = 0
    for event in recorded.events():
        message_id += event.get("type") in ("message_start", "start")
        message = message_of(event, "message")
        is_end = event.get("type") in ("message_end", "done") and message.get("role") == "assistant"
        # An agent that gives a message up may empty it; its readers have seen the deltas.
        emptied = message.get("stopReason") == "error" and not message.get("content")
        if not is_end or emptied or recorded.lost_its_deltas(message):
            continue
        for kind, block in (("assistant_text", "text"), ("thinking", "thinking")):
            texts: list[str] = [
                part[block] for part in message["content"] if part.get("type") == block
            ]
            final = "".join(texts).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
            assert got[kind].get(str(message_id), "") == final


def joined(frames: list[SessionFrame], kind: str) -> dict[str, str]:
    texts: dict[str, str] = {}
    for frame in frames:
        if frame.typed_event.WhichOneof("event") == kind:
            part = getattr(frame.typed_event, kind)
            texts[part.message_id] = texts.get(part.message_id, "") + part.text
    return texts


@pytest.mark.parametrize("recorded", recordings(), ids=str)
def test_the_end_of_the_stream_closes_the_session(recorded: Recorded) -> None:
    adapter, mapper = Adapter(), EventMapper(now=lambda: 1)
    for line in recorded.lines():
        for event in adapter.feed(line):
            mapper.map(event)
    failed = mapper.failed
    for event in adapter.end(exit_code=recorded.exit_code, stderr_tail=""):
        frames_of(mapper.map(event))

    ended = AgentSessionState.Name(mapper.state)
    assert ended.endswith(("ERRORED", "STOPPED"))
    if failed:
        assert ended.endswith("ERRORED")
