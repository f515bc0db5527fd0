"""What a line of JSON that no format knows says of a failure: the last words of a command."""

from __future__ import annotations

__all__ = ("LastWords",)

from itertools import islice
from typing import TYPE_CHECKING

from compass_agent.adapters.failures import failure_of
from compass_agent.adapters.reading import json_object
from compass_agent.errors.shapes import is_object

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from compass_agent.events.classes import Failure

_KINDS = ("type", "event", "kind", "level", "severity", "status")
_ERRORS = frozenset({"critical", "error", "failed", "failure", "fatal"})
# An object that says why is no larger, laid out on lines.
_LARGEST = 16_384
_MOST_STARTS = 16
_UNSAID = "No reason was given"


class LastWords:
    """Keeps the failure that the last object of a stream told; what is no object changes nothing.

    Args:
        secrets: Values that must not appear.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._secrets = tuple(secrets)
        self._last: Mapping[str, object] | None = None
        # The lines of an object that is laid out on several, as far as they came.
        self._begun = b""

    def take(self, line: bytes | Mapping[str, object]) -> None:
        """Take the next line, or its object."""
        value = self._joined(line) if isinstance(line, bytes) else line if is_object(line) else None
        if value is not None:
            self._last, self._begun = value, b""

    def failure(self, exit_code: int | None, stderr_tail: str = "") -> Failure | None:
        """Return the failure, of a command that exited with a code that says so; else None.

        Args:
            exit_code: Of the command.
            stderr_tail: The last lines of its standard error: an object at their end is asked when
                the stream's tells no failure.
        """
        if not exit_code or exit_code < 0:
            return None
        return self._read(self._last) or self._read(_last_object(stderr_tail))

    def _joined(self, line: bytes) -> Mapping[str, object] | None:
        """Return the object that a line is, or that it completes."""
        # An object on an indented line is one within, where one has begun.
        within = bool(self._begun) and line[:1].isspace()
        value = None if within else json_object(line)
        if value is not None:
            return value
        begun = b"" if line.startswith(b"{") else self._begun
        more = begun or line.startswith(b"{")
        self._begun = begun + line + b"\n" if more and len(begun) < _LARGEST else b""
        return json_object(self._begun) if line.rstrip().endswith(b"}") else None

    def _read(self, value: Mapping[str, object] | None) -> Failure | None:
        if value is None or not _tells_error(value):
            return None
        found = failure_of(value, self._secrets)
        if found.message.startswith(_UNSAID) and is_object(value.get("data")):
            found = failure_of(value["data"], self._secrets)
        names = {value.get(name) for name in _KINDS if isinstance(value.get(name), str)}
        unsaid = found.message.startswith(_UNSAID) or found.message in names
        return None if unsaid else found


def _last_object(text: str) -> Mapping[str, object] | None:
    """Return the JSON object that the last lines of a text are; None when they are none."""
    lines = text.rstrip()[-_LARGEST:].encode("utf-8", "surrogatepass").split(b"\n")
    if not lines[-1].endswith(b"}"):
        return None
    starts = (place for place in reversed(range(len(lines))) if lines[place].startswith(b"{"))
    found = (json_object(b"\n".join(lines[place:])) for place in islice(starts, _MOST_STARTS))
    return next((value for value in found if value is not None), None)


def _tells_error(value: Mapping[str, object]) -> bool:
    if value.get("error") or value.get("errors") or value.get("success") is False:
        return True
    kinds = (value.get(name) for name in _KINDS)
    return any(isinstance(kind, str) and kind.lower() in _ERRORS for kind in kinds)
