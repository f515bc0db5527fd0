"""Reads the failure texts of coding agents, who wrap what the provider said in words of their own.

Known wrappings: a status in front (`429 …`), the text told twice with `(type=… param=…)` behind it,
a retry hint behind it, the path of a local request log, and a note of the stream's kind in front.
"""

from __future__ import annotations

__all__ = ("AgentText", "read_agent_text")

import re
from dataclasses import dataclass

from compass_agent.errors.payload import Reading, read_text
from compass_agent.errors.retry import retry_after_seconds, seconds_in_text
from compass_agent.errors.shapes import parsed_json
from compass_agent.errors.statuses import counts_something, told_status

# These agents mark a silent stop with this word in place of a text.
_SILENT = "__omp.silent_abort__"
_LOG_PATH = re.compile(r"^raw-http-request=[^\n]*$\n?", re.MULTILINE)
_HINT = re.compile(r"[ \t]retry-after-ms=([0-9]{1,10})[ \t]*$", re.MULTILINE)
_STATUS = re.compile(r"([45][0-9]{2})(?: |$)")
_NO_BODY = re.compile(r"status code \(no body\)\Z")
# What stands as `param` is really the provider's code.
_KIND = re.compile(r"[ ]\(type=([^\s()]{1,80})(?: param=([^\s()]{1,80}))?\)\Z")
_STREAM = re.compile(
    r"[A-Za-z][A-Za-z -]{0,30}stream error \(([A-Za-z][A-Za-z0-9_.-]{1,79})\):\s*(?=\S)"
)
_TAIL = 256


@dataclass(frozen=True, slots=True)
class AgentText:
    """What an agent's text says; `whole` is the text to show when nothing else is left."""

    reading: Reading
    retry_after_s: float | None
    whole: str


def read_agent_text(text: str) -> AgentText:
    """Read an agent's text about a failure.

    Its status is the one that opens the text, else one that the text calls so, or none: an agent
    that tells a code alone was in the middle of a stream, where no answer had a status.
    """
    text = _LOG_PATH.sub("", text).strip()
    hints = [int(hint) / 1000 for hint in _HINT.findall(text)]
    text = _HINT.sub("", text).replace(_SILENT, "").strip()
    rest, status = _without_status(text)
    rest, codes = _without_kind(rest)
    rest = _without_repetition(rest)
    stream = _STREAM.match(rest)
    if stream is not None:
        codes.append(stream[1])
        rest = rest[stream.end() :]
    reading = _read_lines(rest)
    reading.codes = codes + reading.codes
    reading.status = status if status is not None else reading.status
    if reading.status is None:
        reading.status = told_status(reading.message)
    if _NO_BODY.fullmatch(reading.message):
        reading.message = text
    # A whole body in the text has fields of its own for it, which count before its words.
    body = parsed_json(rest.strip())
    said = seconds_in_text(rest) if body is None else retry_after_seconds(None, body)
    seconds = max(hints) if hints else said
    return AgentText(reading, seconds, text)


def _without_status(text: str) -> tuple[str, int | None]:
    match = _STATUS.match(text)
    if match is not None and counts_something(text, match.end(1)):
        match = None
    return (text, None) if match is None else (text[match.end() :].lstrip(), int(match[1]))


def _without_kind(text: str) -> tuple[str, list[str]]:
    """Take `(type=… param=…)` off the end: the codes, the telling one first."""
    match = _KIND.search(text, max(0, len(text) - _TAIL))
    if match is None:
        return text, []
    codes = [code for code in (match[2], match[1]) if code and code != "null"]
    return text[: match.start()], codes


def _without_repetition(text: str) -> str:
    half = len(text) // 2
    twice = len(text) % 2 == 1 and text[half] == "\n" and text[:half] == text[half + 1 :]
    return text[:half].strip() if twice else text


def _read_lines(text: str) -> Reading:
    """Read a body, or several bodies that stand on a line each."""
    lines = text.split("\n")
    values = [parsed_json(line) for line in lines]
    if len(lines) > 1 and all(value is not None for value in values):
        readings = [read_text(line) for line in lines]
        return next((reading for reading in readings if reading.message), readings[0])
    return read_text(text)
