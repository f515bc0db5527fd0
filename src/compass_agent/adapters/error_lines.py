"""What a line of JSON that no format knows says of a failure: the last words of a command."""

from __future__ import annotations

__all__ = ("LastWords",)

from typing import TYPE_CHECKING

from compass_agent.adapters.failures import failure_of
from compass_agent.adapters.reading import json_object
from compass_agent.errors.shapes import is_object

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from compass_agent.events.classes import Failure

_KINDS = ("type", "event", "kind", "level", "severity", "status")
_ERRORS = frozenset({"critical", "error", "failed", "failure", "fatal"})
_UNSAID = "No reason was given"


class LastWords:
    """Keeps the failure that the last object of a stream told; what is no object changes nothing.

    Args:
        secrets: Values that must not appear.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._secrets = tuple(secrets)
        self._last: Mapping[str, object] | None = None

    def take(self, line: bytes | Mapping[str, object]) -> None:
        """Take the next line, or its object."""
        value = line if is_object(line) else json_object(line) if isinstance(line, bytes) else None
        if value is not None:
            self._last = value

    def failure(self, exit_code: int | None) -> Failure | None:
        """Return the failure, of a command that exited with a code that says so; else None."""
        value = self._last
        if value is None or not exit_code or exit_code < 0 or not _tells_error(value):
            return None
        found = failure_of(value, self._secrets)
        if found.message.startswith(_UNSAID) and is_object(value.get("data")):
            found = failure_of(value["data"], self._secrets)
        names = {value.get(name) for name in _KINDS if isinstance(value.get(name), str)}
        unsaid = found.message.startswith(_UNSAID) or found.message in names
        return None if unsaid else found


def _tells_error(value: Mapping[str, object]) -> bool:
    if value.get("error") or value.get("errors") or value.get("success") is False:
        return True
    kinds = (value.get(name) for name in _KINDS)
    return any(isinstance(kind, str) and kind.lower() in _ERRORS for kind in kinds)
