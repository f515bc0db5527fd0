"""Masks registered secrets in everything that an agent says, before a frame exists."""

from __future__ import annotations

__all__ = ("Masker",)

import dataclasses
from typing import TYPE_CHECKING, Any

from compass_agent.errors.redaction import MASK
from compass_agent.errors.registered import Registered
from compass_agent.errors.shapes import is_list, is_object
from compass_agent.events import (
    AgentExited,
    MessageEnded,
    MessageFailed,
    MessageStarted,
    RunEnded,
    TextDelta,
    ThinkingDelta,
    ToolUpdated,
    TurnEnded,
    decode,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

_DEPTH = 64
_BORDERS = (AgentExited, MessageEnded, MessageFailed, MessageStarted, RunEnded, TurnEnded)


class Masker:
    """Replaces secrets in inner events, also when one is split over several deltas.

    The end of a delta that could be the beginning of a secret is held back until the next event
    shows whether it is.

    Args:
        secrets: The values; empty ones are ignored.

    Attributes:
        secrets: The values, as they were given.
    """

    def __init__(self, secrets: Iterable[str]) -> None:
        self.secrets = tuple(secrets)
        self._registered = Registered(self.secrets)
        # What is held back of the answer and of the reasoning of the current message.
        self._held: dict[type[TextDelta | ThinkingDelta], str] = {}

    def __bool__(self) -> bool:
        return bool(self._registered)

    def mask(self, text: str) -> str:
        """Return `text` with every secret replaced, also where it is escaped or encoded."""
        return self._registered.mask(text) if self._registered else text

    def feed(self, event: object) -> list[object]:
        """Return the events to be mapped in place of `event`."""
        inner = decode(event) if is_object(event) else event
        if isinstance(inner, TextDelta | ThinkingDelta):
            return self._feed_delta(inner)
        masked = self._mask_value(inner, 0)
        if isinstance(masked, ToolUpdated):
            # The output so far may end within a secret; the rest comes with the next update.
            masked = dataclasses.replace(masked, result=self._cut_value(masked.result, 0))
        # Readers join the deltas of a message, whatever comes between them.
        return [*self.flush(), masked] if isinstance(inner, _BORDERS) else [masked]

    def flush(self) -> list[object]:
        """Return what is held back: no more of it will come."""
        held, self._held = self._held, {}
        return [kind(text) for kind, text in held.items()]

    def _feed_delta(self, delta: TextDelta | ThinkingDelta) -> list[object]:
        kind = type(delta)
        shown, held = self._registered.split(self.mask(self._held.pop(kind, "") + delta.text))
        if held:
            self._held[kind] = held
        return [kind(shown)] if shown else []

    def _cut_value(self, value: Any, depth: int) -> Any:
        """Return `value` without the ends of texts that begin a secret."""
        if isinstance(value, str):
            return self._registered.split(value)[0]
        if is_object(value) and depth <= _DEPTH:
            return {key: self._cut_value(item, depth + 1) for key, item in value.items()}
        if is_list(value) and depth <= _DEPTH:
            return [self._cut_value(item, depth + 1) for item in value]
        return value

    def _mask_value(self, value: Any, depth: int) -> Any:
        if isinstance(value, str):
            return self.mask(value)
        if depth > _DEPTH:
            return MASK
        if is_object(value):
            return {
                self._mask_value(key, depth + 1): self._mask_value(item, depth + 1)
                for key, item in value.items()
            }
        if is_list(value):
            return [self._mask_value(item, depth + 1) for item in value]
        if isinstance(value, BaseException):
            return self.mask(str(value)) or type(value).__name__
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            fields = (field.name for field in dataclasses.fields(value))
            changes = {name: self._mask_value(getattr(value, name), depth + 1) for name in fields}
            return dataclasses.replace(value, **changes)
        return value
