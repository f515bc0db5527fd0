"""Any command's output: the adapter of its format, once a line tells it; until then plain lines."""

from __future__ import annotations

__all__ = ("FORMATS", "Adapter", "AgentAdapter", "adapter_for")

from importlib import import_module
from typing import TYPE_CHECKING, Protocol

from compass_agent.adapters.detect import detect
from compass_agent.adapters.error_lines import LastWords
from compass_agent.adapters.failures import exit_without_secrets
from compass_agent.adapters.lines import Line, LineSplitter
from compass_agent.adapters.reading import json_object
from compass_agent.adapters.texts import excerpt
from compass_agent.events.classes import AgentExited, InnerEvent, Noticed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_LONGEST_NOTICE = 2_000
_MODULES = {
    "pi": "pi",
    "claude-code": "claude_code",
    "codex": "codex",
    "gemini": "gemini",
}
FORMATS = ("auto", *_MODULES, "text")
"""What `adapter_for` takes; "text" shows every line as it is."""


class AgentAdapter(Protocol):
    """What every adapter of a stream is."""

    def feed(self, data: bytes | str | Mapping[str, object]) -> list[InnerEvent]:
        """Return the events that a piece of the stream completes."""
        ...

    def end(
        self,
        exit_code: int | None = None,
        stderr_tail: str = "",
        stopped_by: str = "",
        start_failure: str = "",
    ) -> list[InnerEvent]:
        """Close the stream; return what was left, then how the agent ended."""
        ...


def adapter_for(name: str, secrets: Iterable[str] = (), *, first_line: int = 1) -> AgentAdapter:
    """Return an adapter for the format `name`, one of `FORMATS`.

    Raises:
        ValueError: There is no such format.
    """
    if name in ("auto", "text"):
        return Adapter(secrets, looks=name == "auto")
    module = _MODULES.get(name)
    if module is None:
        raise ValueError(f"no such format; there are {', '.join(FORMATS)}")
    # Only the one that is needed is imported.
    kind = import_module(f"compass_agent.adapters.{module}").Adapter
    return kind(secrets, first_line=first_line)


class Adapter:
    """Shows plain lines as notices until a line is of an agent that is known. Never raises.

    Args:
        secrets: Values that must not appear in what is told.
        looks: Look for a known format; else every line is plain.
    """

    def __init__(self, secrets: Iterable[str] = (), *, looks: bool = True) -> None:
        self._secrets = tuple(secrets)
        self._looks = looks
        self._lines = LineSplitter()
        self._last_words = LastWords(self._secrets)
        self._inner: AgentAdapter | None = None
        self._early = False
        self._ended = False

    def feed(self, data: bytes | str | Mapping[str, object]) -> list[InnerEvent]:
        """Return the events that `data` completes.

        Args:
            data: A piece of the output, of any size; or the object of one line.
        """
        if self._inner is not None:
            return self._inner.feed(data)
        if isinstance(data, str):
            data = data.encode("utf-8", "surrogatepass")
        if not isinstance(data, bytes | bytearray | memoryview):
            return self._object(data)
        chunk = bytes(data)
        if self._early:
            chunk = self._without_late_end(chunk)
        if b"\n" not in chunk and self._is_line(chunk):
            return self._early_line(chunk)
        return self._whole_lines(chunk)

    def _whole_lines(self, chunk: bytes) -> list[InnerEvent]:
        events: list[InnerEvent] = []
        lines = self._lines.feed(chunk)
        for place, line in enumerate(lines):
            if self._known(line.data, line.number):
                rest = [later.data + b"\n" for later in lines[place:]]
                begun = [self._lines.take().data] if self._lines.waiting else []
                return events + self._handed_on(b"".join([*rest, *begun]))
            events += self._plain(line)
        return events

    def _is_line(self, chunk: bytes) -> bool:
        """A piece that is a JSON object is a line, unless it can be the rest of one."""
        return not self._lines.begun.lstrip().startswith((b"{", b"[")) and (
            json_object(chunk) is not None
        )

    def _early_line(self, chunk: bytes) -> list[InnerEvent]:
        """Take a line whose end has not come."""
        begun = self._plain(self._lines.take()) if self._lines.waiting else []
        number = self._lines.take().number
        if self._known(chunk, number):
            return begun + self._handed_on(chunk)
        self._early = True
        return begun + self._plain(Line(number, chunk))

    def _without_late_end(self, chunk: bytes) -> bytes:
        """Take off the end of a line that was told before its end came."""
        rest = chunk.removeprefix(b"\r")
        self._early = not rest
        return rest.removeprefix(b"\n")

    def end(
        self,
        exit_code: int | None = None,
        stderr_tail: str = "",
        stopped_by: str = "",
        start_failure: str = "",
    ) -> list[InnerEvent]:
        """Close the stream; return what was left over, then how the command ended. Once only.

        Args:
            exit_code: Of the command's process; negative: the signal that killed it.
            stderr_tail: The last lines of its standard error.
            stopped_by: Who asked the runtime to stop it.
            start_failure: Why it could not be started.
        """
        if self._ended:
            return []
        self._ended = True
        events: list[InnerEvent] = []
        if self._inner is None and self._lines.waiting:
            line = self._lines.take()
            if self._known(line.data, line.number):
                events += self._handed_on(line.data)
            else:
                events += self._plain(line)
        if self._inner is not None:
            return events + self._inner.end(exit_code, stderr_tail, stopped_by, start_failure)
        exited = AgentExited(
            exit_code=exit_code,
            stderr_tail=stderr_tail,
            start_failure=start_failure,
            stopped_by=stopped_by,
            last_words=self._last_words.failure(exit_code, stderr_tail),
        )
        return [*events, exit_without_secrets(exited, self._secrets)]

    def _known(self, line: object, number: int) -> bool:
        name = detect(line) if self._looks else None
        if name is not None:
            self._inner = adapter_for(name, self._secrets, first_line=number)
        return name is not None

    def _handed_on(self, data: bytes) -> list[InnerEvent]:
        return [] if self._inner is None else self._inner.feed(data)

    def _object(self, data: Mapping[str, object]) -> list[InnerEvent]:
        if self._known(data, self._lines.number) and self._inner is not None:
            return self._inner.feed(data)
        self._last_words.take(data)
        return [Noticed(excerpt(str(data), self._secrets))]

    def _plain(self, line: Line) -> list[InnerEvent]:
        if line.skipped:
            size = line.skipped
            return [Noticed(f"Line {line.number} was left out: {size} bytes are too many")]
        self._last_words.take(line.data)
        text = line.data.decode("utf-8", "replace")
        told = excerpt(text, self._secrets, longest=_LONGEST_NOTICE)
        return [Noticed(told)] if told else []
