"""Streams of the `anthropic` library: Messages.

    await session.drive(events(client.messages.create(model=…, messages=…, stream=True)))

A run with tools of your own is a `Run`.
"""

from __future__ import annotations

__all__ = ("Run", "ToolCall", "events")

import json
from typing import TYPE_CHECKING

from compass_agent.adapters.failures import failure_of
from compass_agent.adapters.fields import number, part, plain, text
from compass_agent.adapters.provider_run import (
    ProviderRun,
    ToolCall,
    request_events,
)

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable

    from compass_agent.adapters.sources import Source
    from compass_agent.events.classes import InnerEvent

# Calls that the provider carries out itself; their results come in the same stream.
_HOSTED = frozenset({"mcp_tool_use", "server_tool_use"})
# What brings nothing new; the library's own helper says much of it once more.
_SILENT = frozenset(
    {
        *("citation", "compaction", "input_json", "message_start", "ping", "signature", "text"),
        "thinking",
    }
)


class Run(ProviderRun):
    """The requests of one run, and its tools.

    It takes what `client.messages` and `client.beta.messages` give, by `create(stream=True)` or by
    `stream()`.

    Args:
        secrets: Values that must not appear in failures and notices.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        super().__init__(secrets)
        self._blocks: dict[int, tuple[object, list[str]]] = {}
        self._stop_reason = ""

    def _forget(self) -> None:
        self._blocks.clear()
        self._stop_reason = ""

    def _item(self, item: object) -> list[InnerEvent] | None:
        index = number(item, "index")
        match text(item, "type"):
            case "content_block_start":
                return self._begun(part(item, "content_block"), index)
            case "content_block_delta":
                return self._grown(part(item, "delta"), index)
            case "content_block_stop":
                return self._over(index)
            case "message_delta":
                self._stop_reason = text(item, "delta", "stop_reason") or self._stop_reason
            case "message_stop":
                self._reason = self._stop_reason or "end_turn"
            case "error":
                return self._fail(failure_of(plain(part(item, "error")), self._secrets))
            case kind:
                return [] if kind in _SILENT else None
        return []

    def _begun(self, block: object, index: int) -> list[InnerEvent]:
        kind = text(block, "type")
        if kind.endswith("tool_use"):
            self._blocks[index] = (block, [])
        elif kind.endswith("tool_result"):
            return self._result(block)
        elif said := text(block, "text") or text(block, "thinking"):
            return self._delta(said, index, thinking=kind == "thinking")
        return []

    def _grown(self, delta: object, index: int) -> list[InnerEvent]:
        match text(delta, "type"):
            case "text_delta":
                return self._delta(text(delta, "text"), index)
            case "thinking_delta":
                return self._delta(text(delta, "thinking"), index, thinking=True)
            case "input_json_delta" if index in self._blocks:
                self._blocks[index][1].append(text(delta, "partial_json"))
            case _:
                pass  # citations and signatures
        return []

    def _over(self, index: int) -> list[InnerEvent]:
        if index not in self._blocks:
            return []
        block, pieces = self._blocks.pop(index)
        kind = text(block, "type")
        given = plain(part(block, "input"))
        arguments = "".join(pieces) or (json.dumps(given, default=str) if given else "")
        name = text(block, "name") or kind.removesuffix("_tool_use")
        call = ToolCall(text(block, "id"), name, arguments)
        return self._started(call) if kind in _HOSTED else self._call(call)

    def _result(self, block: object) -> list[InnerEvent]:
        content = plain(part(block, "content"))
        failed = part(block, "is_error") is True or bool(text(content, "error_code"))
        return self._end_tool(text(block, "tool_use_id"), content, failed=failed)


def events(source: Source, secrets: Iterable[str] = ()) -> AsyncGenerator[InnerEvent, None]:
    """Return the events of a run that is one request.

    Tools that the answer asks for are told as handed over to the host.

    Args:
        source: The stream, or what `create(stream=True)` or `stream()` gives.
        secrets: Values that must not appear in failures and notices.

    Raises:
        BaseException: Within the stream: what the library raises, the same object.
    """
    return request_events(Run(secrets), source)
