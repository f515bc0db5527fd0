"""langgraph: a run of a graph.

    await session.drive(events(graph.astream(input, **STREAM)))

A node's own data (`get_stream_writer()`) is a notice, unless it is an inner event: that is told as
it is.
"""

from __future__ import annotations

__all__ = ("STREAM", "Adapter", "events")

import ast
import re
from types import MappingProxyType
from typing import TYPE_CHECKING, get_args

from compass_agent.adapters.failures import failure_of
from compass_agent.adapters.objects import text_of, title_of
from compass_agent.adapters.sdk_stream import StreamRun, is_kind, run_events
from compass_agent.adapters.telling import CUT_OFF, FAILED_ENDS, PROVIDER_FAILED
from compass_agent.adapters.texts import excerpt
from compass_agent.errors.foreign import attribute, own_text
from compass_agent.errors.shapes import as_list, as_object, is_list, is_object
from compass_agent.events.classes import (
    Failure,
    InnerEvent,
    Noticed,
    PlanChanged,
    PlanEntry,
    ToolUpdated,
)
from compass_agent.events.readable import readable_text

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable, Mapping
    from typing import TypeGuard

    from compass_agent.adapters.sources import Source

STREAM: Mapping[str, object] = MappingProxyType(
    {
        "stream_mode": ("messages", "tools", "updates", "custom"),
        "version": "v2",
        "subgraphs": True,
    }
)
"""How `astream` is to be called: `graph.astream(input, **STREAM)`."""

_CLASSES = frozenset[object](get_args(InnerEvent))
_PLANS = ("write_todos", "todo_write", "TodoWrite")
_CUT: tuple[str, ...] = ("length", "max_tokens", "max_output_tokens", "MAX_TOKENS", "incomplete")
_REASONS: Mapping[str, str] = dict.fromkeys(_CUT, "length")
_FILTERS = frozenset({"content_filter", "refusal", "SAFETY"})
_BROKEN = _FILTERS | FAILED_ENDS
# Of these it is known under which of these names they say why an answer ended.
_PROVIDERS = frozenset({"anthropic", "openai"})
_ENDS = ("finish_reason", "stop_reason", "status")
_FILTERED = "The provider's filter stopped the answer"
_BROKE_OFF = "An answer broke off, and its message is not valid"
_LONGEST_BEGUN = 400
_GOES_ON = "The work goes on after an answer that was cut off"
_UNREADABLE = "The graph's stream cannot be read: pass STREAM to its astream(…, **STREAM)"
_PAUSED = "It waits for an answer, and begins anew then"
_QUOTED = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
_RESPONSE_ERROR = re.compile(
    rf"^(?:ResponseError\()?code=(?P<code>{_QUOTED}),? message=(?P<message>{_QUOTED})"
)


def events(source: Source, secrets: Iterable[str] = ()) -> AsyncGenerator[InnerEvent, None]:
    """Return the events of a run.

    Args:
        source: What `graph.astream(input, **STREAM)` gives. What it raises goes on, the same
            object.
        secrets: Values that must not appear in failures and notices.
    """
    return run_events(Adapter(secrets), source)


class Adapter(StreamRun):
    """Turns what it gives into inner events. Never raises.

    Args:
        secrets: Values that must not appear in failures and notices.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        super().__init__(secrets)
        self._message_id = ""
        self._reason = "stop"
        # The reason that the last answer gave for its end, when that is a failure.
        self._broke = ""
        # Messages of a known provider, and whether they said why they end.
        self._told_why: dict[str, bool] = {}
        self._was_cut = False
        # Messages that have said something: one that goes on later is not empty.
        self._spoken: set[str] = set()
        # How those begin that have said something and are not over: at the end, they broke off.
        self._begun: dict[str, str] = {}
        self._tells_ends = False
        self._outputs: dict[str, str] = {}
        self._done: set[str] = set()
        self._interrupts: dict[str, None] = {}
        self._odd = False

    def end(self) -> list[InnerEvent]:
        """An iterator that ends without an exception is this SDK's mark of success."""
        events = self._close_message()
        if self._broke:
            said = _FILTERED if self._broke in _FILTERS else PROVIDER_FAILED
            failure = Failure(aborted=False, message=said, code=self._broke)
            return self._cleaned([*events, *self._fail(failure)])
        if self._was_cut:
            return self._cleaned([*events, *self._fail(CUT_OFF)])
        for call in list(self._tools) if self._interrupts else ():
            events += self._end_tool(call, _PAUSED, failed=True)
        # A node that failed and was tried again leaves them, and is told by nothing else.
        if self._tells_ends:
            left = (excerpt(text, self._secrets) for text in self._begun.values())
            events += [Noticed(f"{_BROKE_OFF}: {text}") for text in left]
        return self._cleaned([*events, *self._succeed()])

    def fail(self, error: Exception) -> list[InnerEvent]:
        """Return the failure of an answer that `langchain-openai` raises as a text of its own."""
        failure = _response_error(own_text(error))
        return self._flushed() if failure is None else self._cleaned(self._fail(failure))

    def _not_known(self, item: object) -> list[InnerEvent]:
        if isinstance(as_object(item).get("type"), str):
            return super()._not_known(item)
        # What another mode or version gives; the first says it for all.
        told, self._odd = self._odd, True
        return [] if told else [Noticed(_UNREADABLE)]

    def _item(self, item: object) -> list[InnerEvent] | None:
        part = as_object(item)
        data = part.get("data")
        match part.get("type"):
            case "messages":
                message = as_list(data)[0] if as_list(data) else None
                return self._message(message)
            case "tools":
                return self._tool(as_object(data))
            case "updates":
                return self._update(as_object(data))
            case "custom":
                return self._custom(data)
            case "values" | "tasks" | "checkpoints" | "debug":
                return []
            case _:
                return None

    # Words.

    def _message(self, message: object) -> list[InnerEvent]:
        if is_kind(message, "ToolMessage"):
            return self._tool_message(message)
        if not is_kind(message, "AIMessage", "AIMessageChunk"):
            return []
        name = attribute(message, "id")
        name = name if isinstance(name, str) else ""
        events: list[InnerEvent] = []
        if name != self._message_id or not name:
            events += self._turn_to(name)
        for index, (kind, text) in enumerate(_texts(message)):
            events += self._delta(text, index, thinking=kind == "thinking") if text else []
            if text and name and kind == "text":
                self._begun[name] = (self._begun.get(name, "") + text)[:_LONGEST_BEGUN]
        # A message that only calls tools is not an empty answer.
        if as_list(attribute(message, "tool_call_chunks")) or as_list(
            attribute(message, "tool_calls")
        ):
            self._message_has_content = True
        if self._message_has_content:
            self._spoken.add(name)
        self._reason = _reason_of(message) or self._reason
        self._broke = _stop_of(message) if _stop_of(message) in _BROKEN else self._broke
        self._note_why(name, message)
        chunk = is_kind(message, "AIMessageChunk")
        if not chunk or attribute(message, "chunk_position") == "last":
            events += self._close_message()
            self._begun.pop(name, None)
            self._tells_ends = self._tells_ends or chunk
            self._was_cut = chunk and not self._told_why.pop(name, True)
        return events

    def _note_why(self, name: str, message: object) -> None:
        """Note whether a message says why it ends: without, its connection was closed."""
        told = as_object(attribute(message, "response_metadata"))
        if any(text_of(told, end) for end in _ENDS):
            self._told_why[name] = True
        elif text_of(told, "model_provider") in _PROVIDERS:
            self._told_why.setdefault(name, False)

    def _turn_to(self, name: str) -> list[InnerEvent]:
        """A message begins, or goes on; the one before may go on later, so it is not empty yet."""
        self._message_has_content = True
        events = [*self._close_message(), *self._start_message()]
        if self._was_cut:
            events.append(Noticed(_GOES_ON))
        elif self._broke:
            why = _FILTERED if self._broke in _FILTERS else PROVIDER_FAILED
            events.append(Noticed(f"The work goes on after a failure: {why}"))
        self._message_id, self._broke, self._was_cut = name, "", False
        self._message_has_content = name in self._spoken
        return events

    def _close_message(self) -> list[InnerEvent]:
        reason, self._reason = self._reason, "stop"
        return self._end_message(reason)

    # Tools.

    def _tool(self, data: Mapping[str, object]) -> list[InnerEvent]:
        call = text_of(data, "tool_call_id")
        match data.get("event"):
            case "tool-started":
                return self._started(call, data)
            case "tool-output-delta":
                delta = readable_text(data.get("delta"))
                whole = self._outputs[call] = self._outputs.get(call, "") + delta
                return [ToolUpdated(call, whole)]
            case "tool-finished":
                return self._finished(call, data.get("output"))
            case "tool-error":
                return self._ended(call, {"text": text_of(data, "message")}, failed=True)
            case _:
                return []

    def _started(self, call: str, data: Mapping[str, object]) -> list[InnerEvent]:
        name, arguments = text_of(data, "tool_name"), as_object(data.get("input"))
        self._done.discard(call)
        events = [
            *self._close_message(),
            *self._start_tool(call, name, title_of(name or "tool", arguments)),
        ]
        if name in _PLANS and (entries := _plan(arguments)):
            events.append(PlanChanged(entries))
        return events

    def _finished(self, call: str, output: object) -> list[InnerEvent]:
        if is_kind(output, "ToolMessage"):
            return self._tool_message(output)
        # A tool may answer with a command for the graph, which holds its message.
        for message in as_list(as_object(attribute(output, "update")).get("messages")):
            if attribute(message, "tool_call_id") == call:
                return self._tool_message(message)
        return self._ended(call, output, failed=False)

    def _tool_message(self, message: object) -> list[InnerEvent]:
        call = attribute(message, "tool_call_id")
        if not isinstance(call, str) or call in self._done:
            return []
        result: dict[str, object] = {"content": attribute(message, "content")}
        artifact = attribute(message, "artifact")
        if is_object(artifact):
            result["details"] = artifact
        events: list[InnerEvent] = []
        if call not in self._tools:
            # A node of the host's own called the tool: only its result is told.
            name = attribute(message, "name")
            name = name if isinstance(name, str) and name else "tool"
            events = [*self._close_message(), *self._start_tool(call, name, name)]
        failed = attribute(message, "status") == "error"
        return events + self._ended(call, result, failed=failed)

    def _ended(self, call: str, result: object, *, failed: bool) -> list[InnerEvent]:
        self._done.add(call)
        self._outputs.pop(call, None)
        return self._end_tool(call, result, failed=failed)

    # All else.

    def _update(self, data: Mapping[str, object]) -> list[InnerEvent]:
        events: list[InnerEvent] = []
        for interrupt in as_list(data.get("__interrupt__")):
            name = attribute(interrupt, "id")
            key = name if isinstance(name, str) else str(len(self._interrupts))
            if key in self._interrupts:
                # Told by the graph within, and again by the one around it.
                continue
            self._interrupts[key] = None
            asked = excerpt(readable_text(attribute(interrupt, "value")), self._secrets)
            events.append(Noticed(f"Waits for an answer: {asked}"))
        return events

    def _custom(self, data: object) -> list[InnerEvent]:
        if _is_event(data):
            return [data]
        text = excerpt(readable_text(data), self._secrets)
        return [Noticed(text)] if text else []


def _response_error(text: str) -> Failure | None:
    """Return the failure that the printed form of the provider's error object holds."""
    found = _RESPONSE_ERROR.match(text)
    if found is None:
        return None
    try:
        told = {name: ast.literal_eval(quoted) for name, quoted in found.groupdict().items()}
    except (SyntaxError, ValueError):
        return None
    return failure_of(told)


def _is_event(value: object) -> TypeGuard[InnerEvent]:
    return type(value) in _CLASSES


def _texts(message: object) -> Iterable[tuple[str, str]]:
    """Yield the kind and the text of each piece of a message."""
    extra = as_object(attribute(message, "additional_kwargs"))
    if thought := text_of(extra, "reasoning_content"):
        yield "thinking", thought
    content = attribute(message, "content")
    for block in [content] if isinstance(content, str) else as_list(content):
        if isinstance(block, str):
            yield "text", block
            continue
        value = as_object(block)
        match text_of(value, "type"):
            case "text":
                yield "text", text_of(value, "text")
            case "thinking":
                yield "thinking", text_of(value, "thinking")
            case "reasoning":
                yield "thinking", text_of(value, "reasoning") or _summary(value)
            case _:
                pass


def _summary(block: Mapping[str, object]) -> str:
    parts = block.get("summary")
    return "\n".join(text_of(as_object(part), "text") for part in as_list(parts))


def _stop_of(message: object) -> str:
    told = as_object(attribute(message, "response_metadata"))
    told_why = text_of(told, "finish_reason") or text_of(told, "stop_reason")
    if told_why or text_of(told, "status") not in ("failed", "incomplete"):
        return told_why
    # Responses say it by their status.
    details = as_object(told.get("incomplete_details"))
    return text_of(details, "reason") or text_of(told, "status")


def _reason_of(message: object) -> str:
    if as_list(attribute(message, "tool_calls")):
        return "toolUse"
    return _REASONS.get(_stop_of(message), "")


def _plan(arguments: Mapping[str, object]) -> tuple[PlanEntry, ...]:
    todos = arguments.get("todos")
    entries = (as_object(todo) for todo in todos) if is_list(todos) else ()
    return tuple(
        PlanEntry(text_of(entry, "content"), text_of(entry, "status"))
        for entry in entries
        if text_of(entry, "content")
    )
