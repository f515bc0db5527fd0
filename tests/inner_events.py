"""Short names for the canonical JSON that the mapping tests feed."""

from __future__ import annotations

__all__ = (
    "Json",
    "assistant_end",
    "delta",
    "message_start",
    "run_end",
    "tool_end",
    "tool_start",
    "tool_update",
)

from typing import Any, TypeAlias

Json: TypeAlias = dict[str, Any]


def message_start(role: str = "assistant", **fields: Any) -> Json:
    return {"type": "message_start", "message": {"role": role, "content": [], **fields}}


def delta(text: str, kind: str = "text_delta") -> Json:
    return {"type": "message_update", "assistantMessageEvent": {"type": kind, "delta": text}}


def assistant_end(reason: str = "stop", text: str = "", **fields: Any) -> Json:
    content = [{"type": "text", "text": text}] if text else []
    message = {"role": "assistant", "content": content, "stopReason": reason, **fields}
    return {"type": "message_end", "message": message}


def run_end(*messages: Json, **fields: Any) -> Json:
    return {"type": "agent_end", "messages": [m.get("message", m) for m in messages], **fields}


def tool_start(name: str = "bash", call: str = "t1", **fields: Any) -> Json:
    return {
        "type": "tool_execution_start",
        "toolCallId": call,
        "toolName": name,
        "args": {},
        **fields,
    }


def tool_update(partial: Any, call: str = "t1") -> Json:
    return {"type": "tool_execution_update", "toolCallId": call, "partialResult": partial}


def tool_end(result: Any, call: str = "t1", name: str = "bash", *, failed: bool = False) -> Json:
    return {
        "type": "tool_execution_end",
        "toolCallId": call,
        "toolName": name,
        "result": result,
        "isError": failed,
    }
