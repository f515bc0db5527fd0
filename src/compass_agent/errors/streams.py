"""Finds the failure in a streamed body: server-sent events, or one JSON object a line."""

from __future__ import annotations

__all__ = ("looks_streamed", "read_stream")

import re

from compass_agent.errors.payload import Reading, read_value
from compass_agent.errors.shapes import as_list, as_object, is_object, parsed_json

_FIELD = re.compile(r"(?:event|data|id|retry|):", re.ASCII)
_FAILED_TYPES = frozenset({"error", "response.failed", "response.error", "exception"})
_LAST_TYPES = frozenset({"message_stop", "response.completed", "response.incomplete"})
_MOST_LINES = 20_000
_UNREADABLE_STATUS = 500
_CUT_STATUS = 502
_CUT = "The stream ended before the answer was complete"


def looks_streamed(text: str) -> bool:
    """Tell whether `text` begins as server-sent events do."""
    return _FIELD.match(text.lstrip()) is not None


def read_stream(text: str) -> Reading:
    """Return the failure that a stream tells, or that it was cut."""
    ended = False
    for name, data in _events(text):
        value = parsed_json(data)
        failure = _failure(name, data, value)
        if failure is not None:
            return failure
        ended = ended or _is_last(data, value)
    if ended:
        return Reading()
    return Reading(message=_CUT, status=_CUT_STATUS, codes=["stream_cut"])


def _events(text: str) -> list[tuple[str, str]]:
    """Return (name, data) of each event; a line of bare JSON counts as an event."""
    events: list[tuple[str, str]] = []
    name, data = "", list[str]()
    for raw in text.split("\n", _MOST_LINES)[:_MOST_LINES]:
        line = raw.rstrip("\r")
        key, colon, value = line.partition(":")
        if line.startswith("{"):
            events.append(("", line))
        elif not line:
            events.append((name, "\n".join(data)))
            name, data = "", []
        elif colon and key == "event":
            name = value.strip()
        elif colon and key == "data":
            data.append(value.removeprefix(" "))
    events.append((name, "\n".join(data)))
    return [event for event in events if event != ("", "")]


def _failure(name: str, data: str, value: object) -> Reading | None:
    body = as_object(value)
    if (
        name not in _FAILED_TYPES
        and body.get("type") not in _FAILED_TYPES
        and not body.get("error")
        and not any(as_object(choice).get("error") for choice in as_list(body.get("choices")))
    ):
        return None
    if not is_object(value):
        return Reading(message=data.strip(), status=_UNREADABLE_STATUS)
    reading = read_value(value)
    if not reading.codes and reading.status is None:
        reading.status = _UNREADABLE_STATUS
    reading.codes = [code for code in reading.codes if code not in _FAILED_TYPES]
    return reading


def _is_last(data: str, value: object) -> bool:
    body = as_object(value)
    if data.strip() == "[DONE]" or body.get("type") in _LAST_TYPES or body.get("done") is True:
        return True
    return any(as_object(c).get("finish_reason") for c in as_list(body.get("choices")))
