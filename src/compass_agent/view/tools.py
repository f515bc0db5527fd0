"""How a tool call changes: an update is applied once, and a call that ended never reopens."""

from __future__ import annotations

__all__ = ("close_tool", "open_tool", "restart_tool", "update_tool")

from dataclasses import replace
from typing import TYPE_CHECKING

from compass_agent.view.entries import FileDiff, ToolCall, ToolStatus
from compass_agent.view.single import place_of
from compass_agent.view.words import tool_status

if TYPE_CHECKING:
    from compass_agent.frames import SessionEvent
    from compass_agent.wire import FrameItem


def open_tool(item: FrameItem, event: SessionEvent) -> ToolCall:
    """Return the tool call that `event` begins, or first tells of."""
    started = event.HasField("tool_call")
    number = event.tool_call.status if started else 0
    return ToolCall(
        **place_of(item, event),
        tool_call_id=(event.tool_call if started else event.tool_call_update).tool_call_id,
        title=event.tool_call.title if started else "",
        status=tool_status(number),
        number=number,
    )


def restart_tool(tool: ToolCall, item: FrameItem, event: SessionEvent) -> ToolCall:
    """Return `tool`, which has not ended, after a second start: its title and status count."""
    started = open_tool(item, event)
    return replace(
        tool,
        last_seq=max(tool.last_seq, item.seq),
        title=started.title or tool.title,
        status=started.status,
        number=started.number,
    )


def update_tool(tool: ToolCall, item: FrameItem, event: SessionEvent) -> ToolCall | None:
    """Return `tool` after the update that `event` holds; None: it had ended and stays as it is.

    The last output and the last diffs count; an update without any keeps what was there.
    """
    if tool.status.ended:
        return None
    update = event.tool_call_update
    status = tool_status(update.status)
    cut = update.full_output_chars if update.HasField("full_output_chars") else None
    diffs = tuple(
        FileDiff(diff.path, diff.old_text if diff.HasField("old_text") else None, diff.new_text)
        for diff in update.diffs
    )
    return replace(
        tool,
        last_seq=max(tool.last_seq, item.seq),
        status=status,
        number=update.status,
        output=update.output or tool.output,
        full_output_chars=cut if update.output else tool.full_output_chars,
        diffs=diffs or tool.diffs,
        ended_ms=(event.at_unix_ms or None) if status.ended else None,
    )


def close_tool(tool: ToolCall, status: ToolStatus, at_ms: int | None) -> ToolCall:
    """Return `tool` as its turn's end leaves it when it told of no end of its own."""
    return replace(tool, status=status, ended_ms=at_ms)
