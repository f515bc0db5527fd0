"""Tells from one line which agent's format a stream has."""

from __future__ import annotations

__all__ = ("detect",)

import json
from collections.abc import Callable, Mapping
from typing import TypeAlias

from compass_agent.errors.shapes import as_object, is_list, is_object

_Json: TypeAlias = Mapping[str, object]

# Names that no other known format uses for a line.
_OWN = frozenset(
    {
        "agent_end",
        "agent_start",
        "auto_compaction_end",
        "auto_compaction_start",
        "auto_retry_end",
        "auto_retry_start",
        "available_commands_update",
        "compaction_end",
        "compaction_start",
        "extension_error",
        "extension_ui_request",
        "model_changed",
        "queue_update",
        "retry_fallback_applied",
        "retry_fallback_succeeded",
        "rpc_frame_error",
        "session_info_changed",
        "subagent_event",
        "subagent_lifecycle",
        "subagent_progress",
        "thinking_level_changed",
        "todo_auto_clear",
        "todo_reminder",
        "tool_stream_update",
        "ttsr_triggered",
        "turn_start",
    }
)
_STEPS = ("text_start", "text_delta", "text_end", "thinking_start", "thinking_delta")
_MORE_STEPS = ("thinking_end", "toolcall_start", "toolcall_delta", "toolcall_end", "image_end")


def detect(line: object) -> str | None:
    """Return the format that `line` is of: a name of `auto.FORMATS`; None: none. Never raises.

    Of pi and oh-my-pi, session events, rpc lines and the bare events of a provider's stream count.

    Args:
        line: One line as text or bytes, or the object that JSON made of it.

    >>> from compass_agent.adapters import detect
    >>> detect('{"type": "agent_start"}')
    'pi'
    """
    event = _parsed(line)
    kind = event.get("type")
    if not isinstance(kind, str):
        return None
    if kind in _OWN:
        return "pi"
    fits = _SHAPES.get(kind)
    if fits is not None and fits(event):
        return "pi"
    for name, shapes in _OTHERS:
        fits = shapes.get(kind)
        if fits is not None and fits(event):
            return name
    return None


def _parsed(line: object) -> _Json:
    if isinstance(line, bytes | bytearray):
        line = line.decode(errors="replace")
    if isinstance(line, str):
        try:
            line = json.loads(line)
        except (ValueError, RecursionError):
            return {}
    return as_object(line)


def _has(*names: str) -> Callable[[_Json], bool]:
    return lambda event: all(name in event for name in names)


def _is_message(event: _Json, name: str = "message") -> bool:
    # Anthropic's own stream has messages too; those carry a type.
    message = as_object(event.get(name))
    return isinstance(message.get("role"), str) and "type" not in message


def _is_ready(event: _Json) -> bool:
    return event.keys() <= {
        "type",
        "protocolVersion",
        "supportedProtocolVersions",
        "maxFrameBytes",
        "maxReassembledFrameBytes",
    }


def _is_notice(event: _Json) -> bool:
    return isinstance(event.get("message"), str) and event.get("level") in (
        "info",
        "warning",
        "error",
    )


_SHAPES: dict[str, Callable[[_Json], bool]] = {
    **dict.fromkeys((*_STEPS, *_MORE_STEPS), _has("contentIndex")),
    "done": lambda event: "reason" in event and _is_message(event),
    "error": lambda event: (
        event.get("reason") in ("error", "aborted") and is_object(event.get("error"))
    ),
    "message_end": _is_message,
    "message_start": _is_message,
    "message_update": lambda event: is_object(event.get("assistantMessageEvent")),
    "notice": _is_notice,
    "prompt_result": _has("agentInvoked"),
    "ready": _is_ready,
    "response": _has("command", "success"),
    "rpc_chunk": _has("chunkId", "data"),
    "session": _has("version", "id", "cwd"),
    "start": lambda event: _is_message(event, "partial"),
    "tool_execution_end": _has("toolCallId", "toolName"),
    "tool_execution_start": _has("toolCallId", "toolName"),
    "tool_execution_update": _has("toolCallId", "partialResult"),
    "turn_end": lambda event: _is_message(event) or is_list(event.get("toolResults")),
}

_IN_SESSION = _has("session_id")


def _is_item(event: _Json) -> bool:
    return is_object(event.get("item"))


_CLAUDE_CODE: dict[str, Callable[[_Json], bool]] = {
    "assistant": lambda event: _IN_SESSION(event) and is_object(event.get("message")),
    "rate_limit_event": _IN_SESSION,
    "result": _has("session_id", "is_error"),
    "stream_event": lambda event: _IN_SESSION(event) and is_object(event.get("event")),
    "system": _has("session_id", "subtype"),
    "user": lambda event: _IN_SESSION(event) and is_object(event.get("message")),
}
_CODEX: dict[str, Callable[[_Json], bool]] = {
    "item.completed": _is_item,
    "item.started": _is_item,
    "item.updated": _is_item,
    "thread.started": _has("thread_id"),
    "turn.completed": _has("usage"),
    "turn.failed": lambda event: is_object(event.get("error")),
    "turn.started": lambda _: True,
}
_GEMINI: dict[str, Callable[[_Json], bool]] = {
    "error": _has("timestamp", "severity", "message"),
    "init": _has("timestamp", "session_id", "model"),
    "message": _has("timestamp", "role", "content"),
    "result": _has("timestamp", "status"),
    "tool_result": _has("tool_id", "status"),
    "tool_use": _has("tool_id", "tool_name"),
}
_OTHERS = (("claude-code", _CLAUDE_CODE), ("codex", _CODEX), ("gemini", _GEMINI))
