"""What adapters of agents that write JSON lines share: reading and closing. Never raises."""

from __future__ import annotations

__all__ = ("ObjectAdapter", "number_of", "text_of", "title_of")

import json
from typing import TYPE_CHECKING

from compass_agent.adapters.error_lines import LastWords
from compass_agent.adapters.failures import exit_without_secrets
from compass_agent.adapters.lines import LARGEST_LINE
from compass_agent.adapters.reading import ObjectReader, ReadObject
from compass_agent.adapters.telling import Telling
from compass_agent.adapters.texts import excerpt
from compass_agent.events.classes import AgentExited, InnerEvent, Noticed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_LONGEST_TITLE = 200
# What says best what a call does, for a person.
_TELLING = (
    *("description", "command", "cmd", "file_path", "absolute_path", "path", "dir_path"),
    *("pattern", "query", "url", "prompt", "subject", "skill"),
)


class ObjectAdapter(Telling):
    """Turns one agent's JSON lines into inner events; a subclass says what an object means.

    A stream that ends before the end of its run says so.

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
        super().__init__(secrets)
        self._reader = ObjectReader(self._secrets, largest_line=largest_line, first_line=first_line)
        self._last_words = LastWords(self._secrets)
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
            last_words=self._last_words.failure(exit_code, stderr_tail),
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
        # What the format knows is told as such, and is no failure of another kind.
        self._last_words.take(read.value if events is None else {})
        if events is None:
            text = read.text or json.dumps(read.value, ensure_ascii=False, default=str)
            return [Noticed(f"{read.place} is not known: {excerpt(text, self._secrets)}")]
        return events


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
