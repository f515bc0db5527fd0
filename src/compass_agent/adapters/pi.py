"""The pi and oh-my-pi agents: their JSON lines (json and rpc mode, or a bare provider stream).

Nothing that they write is lost without a word: what is no event becomes a notice with the number of
its line, and the stream goes on.
"""

from __future__ import annotations

__all__ = ("Adapter",)

from dataclasses import replace
from typing import TYPE_CHECKING

from compass_agent.adapters.chunks import ChunkAssembler, ChunkError
from compass_agent.adapters.failures import FailureCleaner, exit_without_secrets
from compass_agent.adapters.lines import LARGEST_LINE
from compass_agent.adapters.reading import ObjectReader, ReadObject, json_object
from compass_agent.adapters.surrogates import DeltaJoiner
from compass_agent.adapters.texts import says_shortened
from compass_agent.errors.shapes import as_object, valid_text
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

_ENDS = {"text_end": "text_delta", "thinking_end": "thinking_delta"}


class Adapter:
    """Turns the stream of one agent into inner events. Never raises.

    Args:
        secrets: Values that must not appear in failures, notices and the tail of stderr.
        largest_line: Longer lines, in bytes, are left out, with a notice.
        first_line: The number of the first line, for notices.
    """

    def __init__(
        self,
        secrets: Iterable[str] = (),
        *,
        largest_line: int = LARGEST_LINE,
        first_line: int = 1,
    ) -> None:
        self._secrets = tuple(secrets)
        self._reader = ObjectReader(self._secrets, largest_line=largest_line, first_line=first_line)
        self._cleaner = FailureCleaner(self._secrets)
        self._deltas = DeltaJoiner()
        self._chunks = ChunkAssembler()
        self._ended = False

    def feed(self, data: bytes | str | Mapping[str, object]) -> list[InnerEvent]:
        """Return the events that `data` completes.

        Args:
            data: A piece of the stream, of any size; or one line, with or without its end; or the
                object of one line. A piece without a line's end that is a whole JSON object is
                taken for a line; any other waits for the rest of its line.
        """
        return self._events(self._reader.read(data))

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
        left, cut = self._reader.rest()
        events = self._events(left)
        for have, count in self._chunks.left():
            events.append(Noticed(f"A large frame came in part: {have} of {count} pieces"))
        events += self._flushed()
        exited = AgentExited(
            exit_code=exit_code,
            stderr_tail=stderr_tail,
            cut_line=cut,
            start_failure=start_failure,
            stopped_by=stopped_by,
        )
        return [*events, exit_without_secrets(exited, self._secrets)]

    def _events(self, reads: list[ReadObject | Noticed]) -> list[InnerEvent]:
        events: list[InnerEvent] = []
        for read in reads:
            if isinstance(read, Noticed):
                events.append(read)
            else:
                events += self._object(read.value, read.place, read.text)
        return events

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
        inner = json_object(frame)
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
