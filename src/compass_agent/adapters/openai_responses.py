"""OpenAI's Responses: the events of a stream, for all who get them."""

from __future__ import annotations

__all__ = ("ResponseEvents", "is_response_event")

import json
from typing import TYPE_CHECKING

from compass_agent.adapters.failures import failure_of
from compass_agent.adapters.fields import arguments_of, entries, number, part, plain, text
from compass_agent.adapters.objects import title_of
from compass_agent.adapters.provider_run import ToolCall
from compass_agent.adapters.telling import FAILED_ENDS, Telling
from compass_agent.events.classes import Failure, InnerEvent, Noticed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

# Items that are no calls.
_SAID = frozenset({"compaction", "function_call_output", "message", "reasoning"})
_HOSTED = frozenset(
    {
        "code_interpreter_call",
        "file_search_call",
        "image_generation_call",
        "mcp_call",
        "mcp_list_tools",
        "tool_search_call",
        "web_search_call",
    }
)


def is_response_event(value: object) -> bool:
    """Tell whether `value` is an event of such a stream."""
    kind = text(value, "type")
    return kind.startswith("response.") or kind in ("error", "keepalive")


class ResponseEvents(Telling):
    """What an event of such a stream tells; a subclass says what follows from calls and ends."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        super().__init__(secrets)
        self._said: set[int] = set()

    def _event(self, event: object) -> list[InnerEvent]:
        kind, index = text(event, "type"), number(event, "output_index")
        match kind:
            case "response.output_text.delta" | "response.refusal.delta":
                self._said.add(index)
                return self._delta(text(event, "delta"), index)
            case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta":
                return self._delta(text(event, "delta"), index, thinking=True)
            case "response.reasoning_summary_part.added" if number(event, "summary_index"):
                return self._delta("\n\n", index, thinking=True)
            case "response.output_item.added":
                return self._added(part(event, "item"))
            case "response.output_item.done":
                return self._done(part(event, "item"), index)
            case _:
                return self._status(event, kind)

    def _status(self, event: object, kind: str) -> list[InnerEvent]:
        response = part(event, "response")
        match kind:
            case "response.created":
                self._said.clear()
            case "response.completed" if text(response, "status") not in FAILED_ENDS:
                return self._stopped("stop")
            case "response.incomplete":
                return self._stopped(text(response, "incomplete_details", "reason") or "length")
            case "response.failed" | "response.completed":
                return self._fail(failure_of(plain(part(response, "error")), self._secrets))
            case "response.cancelled":
                return self._fail(Failure(aborted=True, message=""))
            case "error":
                error = part(event, "error") or event
                return self._fail(failure_of(plain(error), self._secrets))
            case _:
                # What else there is says again, or in smaller steps, what the items say.
                pass
        return []

    def _added(self, item: object) -> list[InnerEvent]:
        if text(item, "type") not in _HOSTED:
            return []
        return self._start_tool(text(item, "id"), text(item, "type"), _title(item))

    def _done(self, item: object, index: int) -> list[InnerEvent]:
        kind = text(item, "type")
        if kind == "message" and index not in self._said:
            # Some gateways give no deltas.
            contents = entries(item, "content")
            whole = "".join(text(content, "text") for content in contents)
            return self._delta(whole, index) if whole else []
        if kind in _SAID:
            return []
        if kind == "mcp_approval_request":
            return [Noticed(f"{_title(item)} waits for an approval")]
        if kind in _HOSTED:
            result, failed = _outcome(item)
            return self._end_tool(text(item, "id"), result, failed=failed)
        call_id = text(item, "call_id") or text(item, "id")
        arguments = text(item, "arguments")
        if not arguments and kind != "function_call":
            arguments = json.dumps(_arguments(item))
        torn = text(item, "status") == "incomplete"
        return self._asked(ToolCall(call_id, text(item, "name") or kind, arguments), torn=torn)

    def _asked(self, call: ToolCall, *, torn: bool) -> list[InnerEvent]:
        """The answer asks for a tool of the host; `torn`: within that it was cut off."""
        raise NotImplementedError

    def _stopped(self, reason: str) -> list[InnerEvent]:
        """The answer is over."""
        raise NotImplementedError


def _title(item: object) -> str:
    name = text(item, "name") or text(item, "type").removesuffix("_call").replace("_", " ")
    return title_of(name or "tool", _arguments(item))


def _arguments(item: object) -> Mapping[str, object]:
    """Return the arguments of a call, where its kind keeps them."""
    if arguments := arguments_of(part(item, "arguments")):
        return arguments
    for name in ("action", "operation"):
        if found := part(item, name):
            return _told(found)
    queries = "; ".join(str(query) for query in entries(item, "queries"))
    return {"query": queries or text(item, "input") or text(item, "code")}


def _told(action: object) -> Mapping[str, object]:
    command = " ".join(str(word) for word in entries(action, "command"))
    command = command or "; ".join(str(line) for line in entries(action, "commands"))
    names = ("query", "path", "url")
    return {"command": command, **{name: text(action, name) for name in names}}


def _outcome(item: object) -> tuple[object, bool]:
    """Return what a call of the provider gave, and whether it failed."""
    error = part(item, "error")
    if error is not None:
        return plain(error), True
    failed = text(item, "status") in ("failed", "incomplete")
    for name in ("output", "outputs", "results", "tools"):
        result = part(item, name)
        if result:
            return plain(result), failed
    return "", failed
