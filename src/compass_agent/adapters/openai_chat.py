"""OpenAI's Chat Completions, and all providers that speak it: the chunks of a stream."""

from __future__ import annotations

__all__ = ("ChatReader",)

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from compass_agent.adapters.fields import entries, number, part, text

if TYPE_CHECKING:
    from collections.abc import Iterator

# Thoughts are no part of the API; these are what providers that speak it made of them.
_THOUGHTS = ("reasoning_content", "reasoning")


@dataclass
class _Call:
    tool_call_id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list[str])
    free: bool = False


class ChatReader:
    """Reads one answer.

    Attributes:
        reason: Why the model stopped; empty while it goes on.
        error: What a gateway says of the failure that was the reason; None when it says nothing.
    """

    def __init__(self) -> None:
        self.reason = ""
        self.error: object = None
        self._calls: dict[int, _Call] = {}

    def read(self, chunk: object) -> Iterator[tuple[str, str]]:
        """Yield the pieces of a chunk as (kind, text): "text" or "thinking"."""
        self.error = part(chunk, "error") or self.error
        for choice in entries(chunk, "choices"):
            if number(choice, "index"):
                continue  # another answer to the same question
            delta = part(choice, "delta")
            for name in _THOUGHTS:
                if said := text(delta, name):
                    yield "thinking", said
                    break
            for name in ("content", "refusal"):
                if said := text(delta, name):
                    yield "text", said
            for piece in entries(delta, "tool_calls"):
                self._grow(piece)
            self.error = part(choice, "error") or self.error
            self.reason = text(choice, "finish_reason") or self.reason

    def calls(self) -> list[tuple[str, str, str, bool]]:
        """Return the calls of the answer: id, name, arguments, whether these are free text."""
        return [
            (call.tool_call_id or f"call_{index}", call.name, "".join(call.arguments), call.free)
            for index, call in sorted(self._calls.items())
        ]

    def _grow(self, piece: object) -> None:
        call = self._calls.setdefault(number(piece, "index"), _Call())
        call.tool_call_id = call.tool_call_id or text(piece, "id")
        kind = "custom" if part(piece, "custom") is not None else "function"
        call.free = kind == "custom"
        call.name = call.name or text(piece, kind, "name")
        call.arguments.append(text(piece, kind, "input" if kind == "custom" else "arguments"))
