"""What adapters of agents that write JSON lines share: reading, cleaning, closing. Never raises."""

from __future__ import annotations

__all__ = ("ObjectAdapter", "number_of", "text_of", "title_of")

import json
from typing import TYPE_CHECKING

from compass_agent.adapters.failures import FailureCleaner, exit_without_secrets
from compass_agent.adapters.lines import LARGEST_LINE
from compass_agent.adapters.reading import ObjectReader, ReadObject
from compass_agent.adapters.surrogates import DeltaJoiner
from compass_agent.adapters.texts import excerpt
from compass_agent.errors.shapes import valid_text
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
    ToolEnded,
    ToolStarted,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_NO_RESULT = "The run ended without this tool's result"
_LONGEST_TITLE = 200
# What says best what a call does, for a person.
_TELLING = (
    *("description", "command", "cmd", "file_path", "absolute_path", "path", "dir_path"),
    *("pattern", "query", "url", "prompt", "subject", "skill"),
)


class ObjectAdapter:
    """Turns one agent's JSON lines into inner events; a subclass says what an object means.

    It keeps what holds for all such agents: a run is over when the agent says so; what failed is
    told once; a stream that ends before the end of its run says so.

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
        self._tools: dict[str, str] = {}
        self._working = False
        self._message_open = False
        self._message_has_content = False
        self._retry = 0
        self._ended = False

    def feed(self, data: bytes | str | Mapping[str, object]) -> list[InnerEvent]:
        """Return the events that `data` completes.

        Args:
            data: A piece of the stream, of any size; or one line, with or without its end; or the
                object of one line.
        """
        return self._cleaned(self._events(self._reader.read(data)))

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
        events += self._left(stopped=bool(stopped_by))
        events += self._flushed()
        exited = AgentExited(
            exit_code=exit_code,
            stderr_tail=stderr_tail,
            cut_line=cut,
            start_failure=start_failure,
            stopped_by=stopped_by,
            unfinished=self._working,
        )
        return [*self._cleaned(events), exit_without_secrets(exited, self._secrets)]

    def _object(self, value: Mapping[str, object], kind: str) -> list[InnerEvent] | None:
        """Return the events of one object; None when it is not known."""
        raise NotImplementedError

    def _left(self, *, stopped: bool) -> list[InnerEvent]:
        """Return what was held back when the stream ended; `stopped`: it was ended on purpose."""
        del stopped
        return []

    def _events(self, reads: list[ReadObject | Noticed]) -> list[InnerEvent]:
        events: list[InnerEvent] = []
        for read in reads:
            events += [read] if isinstance(read, Noticed) else self._told(read)
        return events

    def _told(self, read: ReadObject) -> list[InnerEvent]:
        kind = text_of(read.value, "type")
        try:
            events = self._object(read.value, kind)
        except Exception as error:  # noqa: BLE001 - nothing that an agent writes may stop its stream
            return [Noticed(f"{read.place} could not be read: {type(error).__name__}")]
        if events is None:
            text = read.text or json.dumps(read.value, ensure_ascii=False, default=str)
            return [Noticed(f"{read.place} is not known: {excerpt(text, self._secrets)}")]
        return events

    def _cleaned(self, events: list[InnerEvent]) -> list[InnerEvent]:
        return [self._cleaner.clean(event) for event in events]

    # What a subclass says, in the order in which it happens.

    def _begin(self) -> list[InnerEvent]:
        """A run begins; a run that goes on goes on."""
        if self._working:
            return []
        self._working = True
        return [RunStarted()]

    def _start_message(self) -> list[InnerEvent]:
        """A message of the agent begins; the one before is over."""
        ended = self._end_message("toolUse")
        self._message_open, self._message_has_content = True, False
        return [*ended, *self._begin(), MessageStarted("assistant")]

    def _delta(self, text: str, index: int = 0, *, thinking: bool = False) -> list[InnerEvent]:
        """A piece of the message, which begins with it when none has begun."""
        begun = [] if self._message_open else self._start_message()
        self._message_has_content = self._message_has_content or bool(text)
        kind = "thinking_delta" if thinking else "text_delta"
        whole = self._deltas.join((kind, index), text)
        if not whole:
            return begun
        return [*begun, ThinkingDelta(whole) if thinking else TextDelta(whole)]

    def _end_message(self, reason: str = "stop") -> list[InnerEvent]:
        """The message is over, if one has begun."""
        if not self._message_open:
            return []
        flushed = self._flushed()
        self._message_open = False
        empty = not self._message_has_content
        return [*flushed, MessageEnded("assistant", stop_reason=reason, empty=empty)]

    def _start_tool(self, call: str, name: str, title: str) -> list[InnerEvent]:
        begun = self._begin()
        self._message_has_content = True
        self._tools[call] = name
        return [*begun, ToolStarted(call, valid_text(title))]

    def _end_tool(self, call: str, result: object, *, failed: bool) -> list[InnerEvent]:
        return [ToolEnded(call, self._tools.pop(call, ""), failed, result)]

    def _retrying(self, retry: RetryScheduled) -> list[InnerEvent]:
        ended = self._end_message("retry")
        self._retry = retry.attempt or self._retry + 1
        return [*ended, *self._begin(), retry]

    def _fail(self, failure: Failure) -> list[InnerEvent]:
        """The run failed or was stopped: that is its end."""
        flushed = self._flushed()
        self._working = self._message_open = False
        # The mapper closes them.
        self._tools.clear()
        failure = self._cleaner.failure(failure)
        retried: list[InnerEvent] = []
        if self._retry:
            retried = [RetryEnded(success=False, attempt=self._retry, failure=failure)]
        self._retry = 0
        if failure.aborted:
            retried = []
        return [*flushed, MessageFailed(failure), *retried, RunEnded()]

    def _succeed(self) -> list[InnerEvent]:
        """The agent says that the run went well: that is its end."""
        events = self._end_message()
        for call in list(self._tools):
            events += self._end_tool(call, _NO_RESULT, failed=True)
        if self._retry:
            events.append(RetryEnded(success=True, attempt=self._retry + 1))
        self._working, self._retry = False, 0
        return [*events, RunEnded()]

    def _flushed(self) -> list[InnerEvent]:
        return [
            TextDelta(lost) if kind == "text_delta" else ThinkingDelta(lost)
            for kind, lost in self._deltas.end()
        ]


def text_of(value: Mapping[str, object], key: str) -> str:
    """Return the text at `key`; empty when there is none."""
    text = value.get(key)
    return text if isinstance(text, str) else ""


def number_of(value: Mapping[str, object], key: str) -> int | None:
    """Return the whole number at `key`, not below 0; None when there is none."""
    number = value.get(key)
    if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < 2**31:
        return None
    return number


def title_of(name: str, arguments: Mapping[str, object]) -> str:
    """Return what a tool call does, on one line: its name and its most telling argument."""
    found = (text_of(arguments, key).strip() for key in _TELLING)
    detail = next((text for text in found if text), "")
    title = " ".join(f"{name}: {detail}".split()) if detail else name
    return title if len(title) <= _LONGEST_TITLE else title[: _LONGEST_TITLE - 1] + "…"
