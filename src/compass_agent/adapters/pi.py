"""The pi and oh-my-pi agents: their JSON lines (json and rpc mode, or a bare provider stream).

Nothing that they write is lost without a word: what is no event becomes a notice with the number of
its line, and the stream goes on.
"""

from __future__ import annotations

__all__ = ("Adapter",)

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from compass_agent.adapters.chunks import ChunkAssembler, ChunkError
from compass_agent.adapters.failures import FailureCleaner
from compass_agent.adapters.lines import LARGEST_LINE, Line, LineSplitter
from compass_agent.adapters.surrogates import DeltaJoiner
from compass_agent.adapters.texts import excerpt, says_shortened, tail
from compass_agent.errors.redaction import redact
from compass_agent.errors.shapes import as_object, is_object, valid_text
from compass_agent.events.classes import (
    AgentExited,
    InnerEvent,
    MessageEnded,
    MessageFailed,
    MessageStarted,
    Noticed,
    RunEnded,
    TextDelta,
    ThinkingDelta,
)
from compass_agent.events.decode import decode

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_BLANK = b" \t\r"
_BOM = "\ufeff"
_ENDS = {"text_end": "text_delta", "thinking_end": "thinking_delta"}


class Adapter:
    """Turns the stream of one agent into inner events. Never raises.

    Args:
        secrets: Values that must not appear in failures, notices and the tail of stderr.
        largest_line: Longer lines, in bytes, are left out, with a notice.
    """

    def __init__(self, secrets: Iterable[str] = (), *, largest_line: int = LARGEST_LINE) -> None:
        self._secrets = tuple(secrets)
        self._lines = LineSplitter(largest_line)
        self._cleaner = FailureCleaner(self._secrets)
        self._deltas = DeltaJoiner()
        self._chunks = ChunkAssembler()
        self._early = False
        self._ended = False

    def feed(self, data: bytes | str | Mapping[str, object]) -> list[InnerEvent]:
        """Return the events that `data` completes.

        Args:
            data: A piece of the stream, of any size; or one line, with or without its end; or the
                object of one line. A piece without a line's end that is a whole JSON object is
                taken for a line; any other waits for the rest of its line.
        """
        if is_object(data):
            return self._alone(data)
        if isinstance(data, str):
            return self._bytes(data.encode("utf-8", "surrogatepass"))
        if isinstance(data, bytes | bytearray | memoryview):
            return self._bytes(bytes(data))
        return [Noticed(f"A {type(data).__name__} is no part of an agent's stream")]

    def end(
        self,
        exit_code: int | None = None,
        stderr_tail: str = "",
        stopped_by: str = "",
        start_failure: str = "",
    ) -> list[InnerEvent]:
        """Close the stream; return what was left over, then how the agent ended. Once only.

        Args:
            exit_code: Of the agent's process; negative: the signal that killed it.
            stderr_tail: The last lines of its standard error.
            stopped_by: Who asked the runtime to stop it.
            start_failure: Why it could not be started.
        """
        if self._ended:
            return []
        self._ended = True
        events: list[InnerEvent] = []
        cut = False
        if self._lines.waiting:
            line = self._lines.take()
            whole = self._whole(line)
            cut = whole is None and line.data.lstrip(_BLANK).startswith(b"{")
            events += self._cut(line) if cut else self._line(line)
        for have, count in self._chunks.left():
            events.append(Noticed(f"A large frame came in part: {have} of {count} pieces"))
        events += self._flushed()
        exited = AgentExited(
            exit_code=exit_code,
            stderr_tail=tail(stderr_tail, self._secrets),
            cut_line=cut,
            start_failure=redact(valid_text(start_failure), self._secrets),
            stopped_by=stopped_by,
        )
        return [*events, exited]

    def _bytes(self, chunk: bytes) -> list[InnerEvent]:
        if self._early:
            chunk = self._without_late_end(chunk)
        if b"\n" not in chunk and (value := _json_object(chunk)) is not None:
            begun = self._lines.begun.lstrip(_BLANK)
            # What has begun is no JSON, so this object cannot be the rest of it.
            if not self._lines.waiting or not begun.startswith((b"{", b"[", b"\xef\xbb\xbf")):
                self._early = True
                return self._alone(value)
        return [event for line in self._lines.feed(chunk) for event in self._line(line)]

    def _without_late_end(self, chunk: bytes) -> bytes:
        """Take off the end of a line that was processed before its end came."""
        rest = chunk.removeprefix(b"\r")
        self._early = not rest
        return rest.removeprefix(b"\n")

    def _alone(self, value: Mapping[str, object]) -> list[InnerEvent]:
        """Return the events of an object that is a line by itself, after what has begun."""
        begun = self._line(self._lines.take()) if self._lines.waiting else []
        return begun + self._object(value, f"Line {self._lines.take().number}")

    def _line(self, line: Line) -> list[InnerEvent]:
        if line.skipped:
            return [Noticed(f"Line {line.number} was left out: {line.skipped} bytes are too many")]
        if not line.data.strip(_BLANK):
            return []
        text, events = self._text(line)
        try:
            value: object = json.loads(text.removeprefix(_BOM))
        except (ValueError, RecursionError):
            return [*events, self._odd(line.number, "is no JSON", text)]
        if not is_object(value):
            return [*events, self._odd(line.number, "is no JSON object", text)]
        return events + self._object(value, f"Line {line.number}", text)

    def _text(self, line: Line) -> tuple[str, list[InnerEvent]]:
        for how in ("strict", "surrogatepass"):
            try:
                return line.data.decode("utf-8", how), []
            except UnicodeDecodeError:
                continue
        text = line.data.decode("utf-8", "replace")
        return text, [Noticed(f"Line {line.number} is no valid UTF-8; parts of it are lost")]

    def _whole(self, line: Line) -> Mapping[str, object] | None:
        return None if line.skipped else _json_object(line.data)

    def _cut(self, line: Line) -> list[InnerEvent]:
        return [Noticed(f"The agent was cut off in the middle of line {line.number}")]

    def _odd(self, number: int, why: str, text: str) -> Noticed:
        return Noticed(f"Line {number} {why}: {excerpt(text, self._secrets)}")

    def _object(
        self, value: Mapping[str, object], place: str, text: str | None = None
    ) -> list[InnerEvent]:
        """Return the events of one line's object; `place` names the line in notices."""
        events: list[InnerEvent] = []
        if says_shortened(value if text is None else text):
            events.append(Noticed(f"{place} was shortened by the agent; parts of it are missing"))
        if value.get("type") == "rpc_chunk":
            return events + self._chunk(value, place)
        step = _step(value)
        block = _ENDS.get(_kind(step))
        if block is not None:
            events += self._flushed((block, _index(step)))
        event = self._joined(decode(value), step)
        if isinstance(event, MessageStarted | MessageEnded | MessageFailed | RunEnded):
            events += self._flushed()
        if event is not None:
            events.append(self._cleaner.clean(event))
        return events + _run_end(value, event)

    def _chunk(self, value: Mapping[str, object], place: str) -> list[InnerEvent]:
        try:
            frame = self._chunks.add(value)
        except ChunkError as error:
            return [Noticed(f"{place} is a piece of a large frame that cannot be used: {error}")]
        if frame is None:
            return []
        inner = _json_object(frame)
        if inner is None or inner.get("type") == "rpc_chunk":
            return [Noticed(f"{place} ends a large frame that is no event")]
        return self._object(inner, place)

    def _joined(self, event: InnerEvent, step: Mapping[str, object]) -> InnerEvent | None:
        """Return `event` with valid text; None when its text waits for its other half."""
        if isinstance(event, MessageStarted):
            return replace(event, text=valid_text(event.text))
        if not isinstance(event, TextDelta | ThinkingDelta):
            return event
        text = self._deltas.join((_kind(step), _index(step)), event.text)
        return replace(event, text=text) if text else None

    def _flushed(self, key: tuple[str, object] | None = None) -> list[InnerEvent]:
        return [
            TextDelta(lost) if kind == "text_delta" else ThinkingDelta(lost)
            for kind, lost in self._deltas.end(key)
        ]


def _json_object(data: bytes) -> Mapping[str, object] | None:
    stripped = data.strip(_BLANK + b"\n")
    if not (stripped.startswith(b"{") and stripped.endswith(b"}")):
        return None
    try:
        value: object = json.loads(stripped.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError):
        return None
    return value if is_object(value) else None


def _step(value: Mapping[str, object]) -> Mapping[str, object]:
    """Return the provider-level event: the one inside a `message_update`, else the line's own."""
    if value.get("type") == "message_update":
        return as_object(value.get("assistantMessageEvent"))
    return value


def _kind(step: Mapping[str, object]) -> str:
    kind = step.get("type")
    return kind if isinstance(kind, str) else ""


def _index(step: Mapping[str, object]) -> int | None:
    index = step.get("contentIndex")
    return index if isinstance(index, int) else None


def _run_end(value: Mapping[str, object], event: InnerEvent | None) -> list[InnerEvent]:
    """A bare provider stream has no runs: the end of its message is the end of the run."""
    kind = value.get("type")
    if kind == "error" and isinstance(event, MessageFailed):
        return [RunEnded()]
    if kind == "done" and isinstance(event, MessageEnded) and event.stop_reason != "toolUse":
        return [RunEnded()]
    return []
