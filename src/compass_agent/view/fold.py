"""Joins the items of a session into what people read: messages, calls, failures.

Nothing that was read is left out: what this version does not know becomes `Unknown`, what is
missing becomes `Missing`, at its place. Nothing becomes a success by itself: only an update that
says COMPLETED completes a tool call, and a call that ended never reopens.
"""

from __future__ import annotations

__all__ = ("Folder", "fold")

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, assert_never

from compass_agent.view.entries import (
    Entry,
    Failure,
    Message,
    MessageStatus,
    StateChange,
    ToolCall,
    ToolStatus,
)
from compass_agent.view.failure import explain
from compass_agent.view.single import place_of, single_entry, unknown_entry, unplaced_entry
from compass_agent.view.tools import close_tool, open_tool, restart_tool, update_tool
from compass_agent.view.words import ERRORED, SETTLED
from compass_agent.wire import CaughtUp, End, FrameItem, Gap, Reset, StateSignal, decode_frame

if TYPE_CHECKING:
    from collections.abc import Iterable

    from compass_agent.frames import SessionEvent
    from compass_agent.wire import Item


@dataclass(slots=True)
class _Draft:
    """A message that still grows: its pieces are joined when it is looked at."""

    message: Message
    parts: list[str]
    last_seq: int

    def entry(self) -> Message:
        if len(self.parts) > 1:
            self.parts = ["".join(self.parts)]
        return replace(self.message, text=self.parts[0], last_seq=self.last_seq)


def fold(items: Iterable[Item]) -> list[Entry]:
    """Return the entries that `items`, in reading order, make.

    Raises:
        OperationError: `unsupported_input`, when an item holds bytes that are no frame.
    """
    folder = Folder()
    for item in items:
        folder.push(item)
    return folder.entries()


class Folder:
    """Folds item by item. Entries keep their position; `push` tells which are new or changed."""

    def __init__(self) -> None:
        self._entries: list[Entry | _Draft] = []
        # By epoch, because late frames of an older one come among those of the current one.
        self._open_messages: dict[str, list[int]] = {}
        self._tools: dict[str, dict[str, int]] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def entry(self, position: int) -> Entry:
        """Return the entry at `position` as it is now."""
        found = self._entries[position]
        return found.entry() if isinstance(found, _Draft) else found

    def entries(self) -> list[Entry]:
        """Return all entries as they are now, in reading order."""
        return [self.entry(position) for position in range(len(self._entries))]

    def push(self, item: Item) -> list[int]:
        """Take one item; return the positions of the entries that are new or changed, ascending.

        Raises:
            OperationError: `unsupported_input`, when the item holds bytes that are no frame.
        """
        changed: list[int] = []
        match item:
            case FrameItem():
                changed = self._frame(item)
            case Gap():
                # What is lost may be a part of the message: what follows is another entry.
                changed = self._close_messages(item.epoch, MessageStatus.DONE)
                changed.append(self._add(unplaced_entry(item)))
            case End():
                changed = self._close(item.epoch, MessageStatus.DONE, ToolStatus.INTERRUPTED, None)
                changed.append(self._add(unplaced_entry(item)))
            case Reset():
                # The epochs before it get no trace any more: what is open there stays without end.
                for epoch in {*self._tools, *self._open_messages} - {item.epoch}:
                    changed += self._close(epoch, MessageStatus.DONE, ToolStatus.INTERRUPTED, None)
                changed.append(self._add(unplaced_entry(item)))
            case StateSignal():
                changed = [self._add(unplaced_entry(item))]
            case CaughtUp():
                pass
            case _:
                assert_never(item)
        return sorted(set(changed))

    def _add(self, entry: Entry | _Draft) -> int:
        self._entries.append(entry)
        return len(self._entries) - 1

    def _frame(self, item: FrameItem) -> list[int]:
        frame = decode_frame(item.data)
        changed: list[int] = []
        if frame.HasField("typed_event"):
            changed += self._event(item, frame.typed_event)
        elif not frame.state:
            changed.append(self._add(unknown_entry(item, frame.typed_event)))
        if frame.state:
            changed += self._state(item, frame.typed_event, frame.state)
        return changed

    def _state(self, item: FrameItem, event: SessionEvent, state: int) -> list[int]:
        place = place_of(item, event)
        changed: list[int] = []
        if item.late:  # it tells of the past: what is open now is none of its business
            pass
        elif state == ERRORED:
            # After its SessionError nothing is open any more; without one, this is the failure.
            at_ms = place["at_ms"]
            changed = self._close(item.epoch, MessageStatus.FAILED, ToolStatus.FAILED, at_ms)
        elif state in SETTLED:
            changed = self._close_messages(item.epoch, MessageStatus.DONE)
        return [*changed, self._add(StateChange(**place, state=state))]

    def _event(self, item: FrameItem, event: SessionEvent) -> list[int]:
        kind = event.WhichOneof("event")
        match kind:
            case "assistant_text" | "thinking":
                return self._message(item, event, kind)
            case "tool_call":
                return self._tool_call(item, event)
            case "tool_call_update":
                return self._tool_update(item, event)
            case "session_error":
                return self._failure(item, event)
            case "prompt":
                changed = self._close_messages(item.epoch, MessageStatus.DONE)
                return [*changed, self._add(single_entry(item, event))]
            case _:
                return [self._add(single_entry(item, event))]

    def _message(
        self, item: FrameItem, event: SessionEvent, kind: Literal["assistant_text", "thinking"]
    ) -> list[int]:
        piece = event.assistant_text if kind == "assistant_text" else event.thinking
        opened = self._open_messages.get(item.epoch)
        draft = self._entries[opened[-1]] if opened else None
        changed: list[int] = []
        if opened and isinstance(draft, _Draft):
            same = draft.message.message_id == piece.message_id
            if same and draft.message.kind == kind:
                draft.parts.append(piece.text)
                draft.last_seq = max(draft.last_seq, item.seq)
                return [opened[-1]]
            if not same:
                changed = self._close_messages(item.epoch, MessageStatus.DONE)
        message = Message(
            **place_of(item, event),
            kind=kind,
            message_id=piece.message_id,
            text="",
            status=MessageStatus.OPEN,
        )
        position = self._add(_Draft(message, [piece.text], item.seq))
        self._open_messages.setdefault(item.epoch, []).append(position)
        return [*changed, position]

    def _tool_call(self, item: FrameItem, event: SessionEvent) -> list[int]:
        # A tool runs once the message that asked for it is complete.
        changed = self._close_messages(item.epoch, MessageStatus.DONE)
        tools = self._tools.setdefault(item.epoch, {})
        position = tools.get(event.tool_call.tool_call_id)
        known = None if position is None else self._entries[position]
        if position is None or not isinstance(known, ToolCall) or known.status.ended:
            # An id that is used again is another call; the one that ended stays as it is.
            position = self._add(open_tool(item, event))
            tools[event.tool_call.tool_call_id] = position
        else:
            self._entries[position] = restart_tool(known, item, event)
        return [*changed, position]

    def _tool_update(self, item: FrameItem, event: SessionEvent) -> list[int]:
        tools = self._tools.setdefault(item.epoch, {})
        position = tools.get(event.tool_call_update.tool_call_id)
        if position is None:  # its start is missing
            position = self._add(open_tool(item, event))
            tools[event.tool_call_update.tool_call_id] = position
        known = self._entries[position]
        updated = update_tool(known, item, event) if isinstance(known, ToolCall) else None
        if updated is None:
            return []
        self._entries[position] = updated
        return [position]

    def _failure(self, item: FrameItem, event: SessionEvent) -> list[int]:
        cause, place = explain(event.session_error), place_of(item, event)
        messages, tools = MessageStatus.FAILED, ToolStatus.FAILED
        if cause.aborted:
            messages, tools = MessageStatus.ABORTED, ToolStatus.INTERRUPTED
        changed: list[int] = []
        if not item.late:
            changed = self._close(item.epoch, messages, tools, place["at_ms"])
        return [*changed, self._add(Failure(**place, cause=cause))]

    def _close(
        self, epoch: str, message: MessageStatus, tool: ToolStatus, at_ms: int | None
    ) -> list[int]:
        changed = self._close_messages(epoch, message)
        for position in self._tools.get(epoch, {}).values():
            known = self._entries[position]
            if isinstance(known, ToolCall) and not known.status.ended:
                self._entries[position] = close_tool(known, tool, at_ms)
                changed.append(position)
        return changed

    def _close_messages(self, epoch: str, status: MessageStatus) -> list[int]:
        closed = self._open_messages.pop(epoch, [])
        for position in closed:
            draft = self._entries[position]
            if isinstance(draft, _Draft):
                self._entries[position] = replace(draft.entry(), status=status)
        return closed
