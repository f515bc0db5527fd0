"""claude-agent-sdk: the messages of `query()` and of `ClaudeSDKClient`.

    await session.drive(events(query(prompt=…, options=…)))

The SDK makes its objects of the lines that Claude Code writes, so they are read as those lines are.
With `include_partial_messages=True` the words come as they are made.
"""

from __future__ import annotations

__all__ = ("Adapter", "events")

from typing import TYPE_CHECKING

from compass_agent.adapters import claude_code
from compass_agent.adapters.objects import text_of
from compass_agent.adapters.sdk_stream import StreamRun, fields_of, is_kind, run_events
from compass_agent.errors.foreign import attribute
from compass_agent.errors.shapes import as_object, is_list, is_object
from compass_agent.events.classes import InnerEvent, MessageStarted, Noticed

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable, Mapping

    from compass_agent.adapters.sources import Source

_RESULT = (
    *("subtype", "is_error", "result", "errors", "api_error_status", "terminal_reason"),
    "stop_reason",
)
_BLOCKS = {
    "ServerToolUseBlock": ("server_tool_use", ("id", "name", "input")),
    "TextBlock": ("text", ("text",)),
    "ThinkingBlock": ("thinking", ("thinking",)),
    "ToolResultBlock": ("tool_result", ("tool_use_id", "content", "is_error")),
    "ServerToolResultBlock": ("tool_result", ("tool_use_id", "content")),
    "ToolUseBlock": ("tool_use", ("id", "name", "input")),
}


def events(source: Source, secrets: Iterable[str] = ()) -> AsyncGenerator[InnerEvent, None]:
    """Return the events of a turn, or of several.

    Args:
        source: What `query(…)`, `client.receive_response()` or `client.receive_messages()` gives.
            What it raises goes on, the same object.
        secrets: Values that must not appear in failures and notices.
    """
    return run_events(Adapter(secrets), source)


class _Lines(claude_code.Adapter):
    """The command's adapter, on the objects of lines."""

    def begin(self) -> list[InnerEvent]:
        return self._begin()

    def line(self, value: Mapping[str, object], kind: str) -> list[InnerEvent]:
        """Return the events of one line of a kind that the SDK knows."""
        return self._cleaned(self._object(value, kind) or [])

    def left(self) -> list[InnerEvent]:
        """Return what was held back: the failure of a run that gave no result."""
        return self._cleaned([*self._left(stopped=False), *self._flushed()])

    def said(self, text: str, sender: str) -> list[InnerEvent]:
        """Return the events of a message that somebody put into the run."""
        ended = self._end_message()
        message = MessageStarted("user", text=text, steering=True, sender=sender)
        return [*ended, *self._begin(), message]


class Adapter(StreamRun):
    """Turns what it gives into inner events. Never raises.

    Args:
        secrets: Values that must not appear in failures and notices.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        super().__init__(secrets)
        self._lines = _Lines(self._secrets)
        # Whether the provider said of the message that is being streamed why it ended.
        self._complete = False

    def begin(self) -> list[InnerEvent]:
        """Return the event of the run's start."""
        return self._lines.begin()

    def fail(self, error: Exception) -> list[InnerEvent]:
        """Return the failure that the command told without a result."""
        del error
        return self._lines.left()

    def end(self) -> list[InnerEvent]:
        """Return what was held back."""
        return self._lines.left()

    def _item(self, item: object) -> list[InnerEvent] | None:
        if is_kind(item, "StreamEvent"):
            return self._stream_event(item)
        if is_kind(item, "AssistantMessage"):
            return self._lines.line(_assistant(item), "assistant")
        if is_kind(item, "UserMessage"):
            return self._user(item)
        if is_kind(item, "ResultMessage"):
            return self._lines.line(fields_of(item, *_RESULT), "result")
        if is_kind(item, "SystemMessage", "HookEventMessage"):
            data = as_object(attribute(item, "data"))
            return self._lines.line({**data, **fields_of(item, "subtype")}, "system")
        if is_kind(item, "RateLimitEvent"):
            info = as_object(attribute(attribute(item, "rate_limit_info"), "raw"))
            return self._lines.line({"rate_limit_info": info}, "rate_limit_event")
        if is_kind(item, "ConversationResetMessage"):
            return [Noticed("The conversation was begun anew")]
        return None

    def _stream_event(self, item: object) -> list[InnerEvent]:
        line = fields_of(item, "event", "parent_tool_use_id")
        if "parent_tool_use_id" not in line:
            match text_of(as_object(line.get("event")), "type"):
                case "message_start":
                    self._complete = False
                case "message_delta":
                    self._complete = True
                case "message_stop" if not self._complete:
                    # The command says so in a field that the SDK leaves out.
                    line["abandoned_blocks"] = {"from_block_index": 0}
                case _:
                    pass
        return self._lines.line(line, "stream_event")

    def _user(self, item: object) -> list[InnerEvent]:
        content, origin = _content(item), as_object(attribute(item, "origin"))
        kind = origin.get("kind")
        results = is_list(content) and any("tool_use_id" in as_object(block) for block in content)
        if isinstance(kind, str) and not results and attribute(item, "parent_tool_use_id") is None:
            return self._lines.said(_text(content), kind)
        line = {"message": {"content": content}, **fields_of(item, "tool_use_result")}
        return self._lines.line(line, "user")


def _assistant(item: object) -> dict[str, object]:
    message = {
        **fields_of(item, "model"),
        "id": attribute(item, "message_id"),
        "content": _content(item),
    }
    return {"message": message, **fields_of(item, "parent_tool_use_id", "error")}


def _content(item: object) -> object:
    content = attribute(item, "content")
    return [_block(block) for block in content] if is_list(content) else content


def _block(block: object) -> Mapping[str, object]:
    if is_object(block):
        return block
    kind, names = _BLOCKS.get(type(block).__name__, ("", ()))
    return {"type": kind, **fields_of(block, *names)}


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    blocks = content if is_list(content) else ()
    texts = (as_object(block).get("text") for block in blocks)
    return "\n".join(text for text in texts if isinstance(text, str))
