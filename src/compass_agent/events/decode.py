"""Turns the canonical JSON of an inner event into its class. Takes any value, never raises.

The canonical JSON is that of the pi and oh-my-pi agents, at both levels: session events
(`message_update` and so on), and the bare stream of a provider (`text_delta` and so on at the top).
"""

from __future__ import annotations

__all__ = ("decode",)

from collections.abc import Callable, Mapping
from typing import TypeAlias

from compass_agent.errors.shapes import as_list, as_object, is_object
from compass_agent.events.classes import (
    Failure,
    Ignored,
    InnerEvent,
    MessageEnded,
    MessageFailed,
    MessageStarted,
    Noticed,
    PlanChanged,
    PlanEntry,
    RetryEnded,
    RetryScheduled,
    RunEnded,
    RunStarted,
    TextDelta,
    ThinkingDelta,
    ToolEnded,
    ToolStarted,
    ToolUpdated,
    TurnEnded,
    Unknown,
)
from compass_agent.events.notices import NOTICES
from compass_agent.events.readable import readable_text, verbatim_text

_Json: TypeAlias = Mapping[str, object]

_LARGEST_STATUS = 2**31 - 1
# How these agents say that a stop came while a retry was waiting.
_RETRY_CANCELLED = "Retry cancelled"

# Talk between an agent and its host, and steps of a message that readers do not need.
_IGNORED = frozenset(
    {
        "available_commands_update",
        "command_output",
        "config_update",
        "extension_ui_request",
        "host_tool_call",
        "host_tool_cancel",
        "host_uri_cancel",
        "host_uri_request",
        "prompt_result",
        "queue_update",
        "ready",
        "response",
        "rpc_chunk",
        "rpc_frame_error",
        "session",
        "session_info_changed",
        "session_info_update",
        "subagent_event",
        "subagent_lifecycle",
        "subagent_progress",
        "tool_stream_update",
    }
)
_STEPS = frozenset(
    {
        "image_end",
        "text_end",
        "text_start",
        "thinking_end",
        "thinking_start",
        "toolcall_delta",
        "toolcall_end",
        "toolcall_start",
    }
)


def decode(value: object) -> InnerEvent:
    """Return the inner event that `value`, the result of `json.loads`, stands for.

    What is no event gives `Unknown` with the reason; what readers do not need gives `Ignored`.
    """
    if not is_object(value):
        return Unknown(type(value).__name__, "not a JSON object")
    event = value
    kind = event.get("type")
    if not isinstance(kind, str):
        return Unknown("", "no type")
    handler = _DECODERS.get(kind)
    if handler is not None:
        return handler(event)
    sentence = NOTICES.get(kind)
    if sentence is not None:
        return Noticed(sentence(event))
    if kind in _IGNORED or kind in _STEPS:
        return Ignored(kind)
    return Unknown(kind, "unknown type")


def _count(value: object) -> int:
    number = _integer(value)
    return 0 if number is None else number


def _integer(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, float) and not value.is_integer():
        return None
    number = int(value)
    return number if 0 <= number <= _LARGEST_STATUS else None


def _failure(message: _Json, *, aborted: bool) -> Failure:
    return Failure(
        aborted=aborted,
        message=verbatim_text(message.get("errorMessage")),
        status=_integer(message.get("errorStatus")),
    )


def _message_failure(value: object) -> Failure | None:
    """Return the failure of an assistant message; None when it did not fail."""
    message = as_object(value)
    reason = message.get("stopReason")
    if message.get("role", "assistant") != "assistant" or reason not in ("error", "aborted"):
        return None
    return _failure(message, aborted=reason == "aborted")


def _run_started(_event: _Json) -> InnerEvent:
    return RunStarted()


def _turn_started(_event: _Json) -> InnerEvent:
    return RunStarted(turn=True)


def _role(message: _Json) -> str:
    role = message.get("role")
    return role if isinstance(role, str) else ""


def _message_started(event: _Json) -> InnerEvent:
    message = as_object(event.get("message"))
    role = _role(message)
    if role != "user":
        return MessageStarted(role)
    sender = message.get("attribution")
    return MessageStarted(
        role,
        text=_prompt_text(message.get("content")),
        steering=message.get("steering") is True,
        sender=sender if isinstance(sender, str) else "",
    )


def _prompt_text(content: object) -> str:
    if isinstance(content, str):
        return content
    texts = (as_object(block).get("text") for block in as_list(content))
    return "\n".join(text for text in texts if isinstance(text, str))


def _message_updated(event: _Json) -> InnerEvent:
    inner = event.get("assistantMessageEvent")
    if not is_object(inner):
        return Unknown("message_update", "no assistantMessageEvent")
    kind = inner.get("type")
    handler = _STEP_DECODERS.get(kind) if isinstance(kind, str) else None
    return Ignored("message_update") if handler is None else handler(inner)


def _text_delta(step: _Json) -> InnerEvent:
    delta = step.get("delta")
    return TextDelta(delta) if isinstance(delta, str) else Unknown("text_delta", "no delta")


def _thinking_delta(step: _Json) -> InnerEvent:
    delta = step.get("delta")
    return ThinkingDelta(delta) if isinstance(delta, str) else Unknown("thinking_delta", "no delta")


def _stream_failed(step: _Json) -> InnerEvent:
    value = step.get("error")
    message = as_object(value)
    reason = step.get("reason", message.get("stopReason"))
    if isinstance(value, str):
        return MessageFailed(Failure(aborted=reason == "aborted", message=value))
    return MessageFailed(_failure(message, aborted=reason == "aborted"))


def _stream_started(_event: _Json) -> InnerEvent:
    return MessageStarted("assistant")


def _stream_done(event: _Json) -> InnerEvent:
    message = as_object(event.get("message"))
    reason = event.get("reason", message.get("stopReason"))
    return MessageEnded(
        "assistant",
        stop_reason=reason if isinstance(reason, str) else "",
        empty=_is_empty(message.get("content")),
    )


def _is_empty(content: object) -> bool:
    if isinstance(content, str):
        return not content.strip()
    return not any(_has_content(block) for block in as_list(content))


def _has_content(block: object) -> bool:
    item = as_object(block)
    texts = [item.get(key) for key in ("text", "thinking") if isinstance(item.get(key), str)]
    return not texts or any(isinstance(text, str) and text.strip() for text in texts)


def _message_ended(event: _Json) -> InnerEvent:
    message = as_object(event.get("message"))
    failure = _message_failure(message)
    reason = message.get("stopReason")
    return MessageEnded(
        _role(message) or ("assistant" if failure else ""),
        stop_reason=reason if isinstance(reason, str) else "",
        failure=failure,
        empty=_is_empty(message.get("content")),
    )


def _turn_ended(event: _Json) -> InnerEvent:
    return TurnEnded(_message_failure(event.get("message")))


def _run_ended(event: _Json) -> InnerEvent:
    messages = [as_object(message) for message in as_list(event.get("messages"))]
    last = next((m for m in reversed(messages) if m.get("role") == "assistant"), None)
    return RunEnded(
        failure=None if last is None else _message_failure(last),
        final=event.get("isTerminal") is not False,
    )


def _tool_id(event: _Json) -> str:
    value = event.get("toolCallId")
    if isinstance(value, int) and not isinstance(value, bool):
        return readable_text(value)
    return value if isinstance(value, str) else ""


def _tool_name(event: _Json) -> str:
    name = event.get("toolName")
    return name if isinstance(name, str) else ""


def _tool_started(event: _Json) -> InnerEvent:
    intent = event.get("intent")
    title = intent.strip() if isinstance(intent, str) else ""
    return ToolStarted(_tool_id(event), title or _tool_name(event))


def _tool_updated(event: _Json) -> InnerEvent:
    return ToolUpdated(_tool_id(event), event.get("partialResult"))


def _tool_ended(event: _Json) -> InnerEvent:
    result = event.get("result")
    failed = event.get("isError")
    if not isinstance(failed, bool):
        failed = as_object(result).get("isError") is True
    return ToolEnded(_tool_id(event), _tool_name(event), failed, result)


def _todo_reminder(event: _Json) -> InnerEvent:
    return PlanChanged(tuple(_plan_entries(as_list(event.get("todos")))))


def _plan_entries(tasks: list[object] | tuple[object, ...]) -> list[PlanEntry]:
    entries: list[PlanEntry] = []
    for task in tasks:
        item = as_object(task)
        content, status = item.get("content"), item.get("status")
        if isinstance(content, str):
            entries.append(PlanEntry(content, status if isinstance(status, str) else ""))
    return entries


def _todo_cleared(_event: _Json) -> InnerEvent:
    return PlanChanged(())


def _milliseconds(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0.0
    return float(value) if 0 <= value <= _LARGEST_STATUS else 0.0


def _retry_started(event: _Json) -> InnerEvent:
    return RetryScheduled(
        attempt=_count(event.get("attempt")),
        attempts=_count(event.get("maxAttempts")),
        delay_ms=_milliseconds(event.get("delayMs")),
        reason=verbatim_text(event.get("errorMessage")),
    )


def _retry_ended(event: _Json) -> InnerEvent:
    final = event.get("finalError")
    text = verbatim_text(final)
    cancelled = text.strip() == _RETRY_CANCELLED
    success = event.get("success")
    return RetryEnded(
        success=success if isinstance(success, bool) else final is None,
        attempt=_count(event.get("attempt")),
        failure=None if final is None else Failure(aborted=cancelled, message=text),
        cancelled=cancelled,
    )


_STEP_DECODERS: dict[str, Callable[[_Json], InnerEvent]] = {
    "error": _stream_failed,
    "text_delta": _text_delta,
    "thinking_delta": _thinking_delta,
}
_DECODERS: dict[str, Callable[[_Json], InnerEvent]] = {
    **_STEP_DECODERS,
    "agent_end": _run_ended,
    "agent_start": _run_started,
    "auto_retry_end": _retry_ended,
    "auto_retry_start": _retry_started,
    "done": _stream_done,
    "message_end": _message_ended,
    "message_start": _message_started,
    "message_update": _message_updated,
    "start": _stream_started,
    "todo_auto_clear": _todo_cleared,
    "todo_reminder": _todo_reminder,
    "tool_execution_end": _tool_ended,
    "tool_execution_start": _tool_started,
    "tool_execution_update": _tool_updated,
    "turn_end": _turn_ended,
    "turn_start": _turn_started,
}
