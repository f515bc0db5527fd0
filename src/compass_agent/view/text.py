"""The text of `compass tail`: lines for a terminal or a pipe, as the items come.

Pieces of one message flow on in one block; a frame of another kind closes its line first, and a new
message begins with a new header. Everything else is one entry under its own header.
"""

from __future__ import annotations

__all__ = ("TextRenderer", "Thinking")

from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, Literal, TypeAlias, assert_never

from compass_agent.view.cards import USUAL, Detail, EntryWriter
from compass_agent.view.choice import Choice
from compass_agent.view.entries import (
    Failure,
    Message,
    MessageStatus,
    StateChange,
    ToolCall,
    ToolStatus,
)
from compass_agent.view.failure import explain
from compass_agent.view.lines import LineWriter
from compass_agent.view.single import place_of, single_entry, unknown_entry, unplaced_entry
from compass_agent.view.style import Role
from compass_agent.view.times import Times
from compass_agent.view.tools import close_tool, open_tool, restart_tool, update_tool
from compass_agent.view.words import ERRORED, SETTLED, STARTING, WORKING
from compass_agent.wire import CaughtUp, End, FrameItem, Gap, Reset, StateSignal, decode_frame

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from compass_agent.frames import SessionEvent
    from compass_agent.view.entries import Entry
    from compass_agent.view.style import Style
    from compass_agent.wire import Item

_Marker: TypeAlias = "CaughtUp | End | Gap | Reset | StateSignal"
_SHORT_CHARS = 160
_FRESH_MS = 3_000


class Thinking(StrEnum):
    """How much of the reasoning to show; SHORT is the first 160 characters of each piece."""

    NONE = "none"
    SHORT = "short"
    FULL = "full"


class TextRenderer:
    """Turns items into text. One renderer serves one reading of one session.

    Args:
        style: Colours and symbols.
        width: The terminal's width in cells; None: a pipe or a file, lines are not wrapped.
        thinking: How much of the reasoning to show.
        clock: Gives the time in milliseconds since 1970-01-01 UTC, for live items that tell none.
        opened_ms: When the session was opened, likewise, for what comes before the first time.
        times: Writes the times of entries.
        detail: How much of long entries to show.
        choice: Which entries to show. With a pattern, a message is shown once it is complete.
    """

    def __init__(
        self,
        style: Style,
        *,
        width: int | None = None,
        thinking: Thinking = Thinking.SHORT,
        clock: Callable[[], int] | None = None,
        opened_ms: int | None = None,
        times: Times | None = None,
        detail: Detail = USUAL,
        choice: Choice | None = None,
    ) -> None:
        self._lines = LineWriter(style, width)
        self._entries = EntryWriter(self._lines, detail, times or Times(), clock)
        self._choice = choice or Choice()
        words = {"text": "assistant_text", "thinking": "thinking"}
        self._words = {
            word: self._choice.takes_kind(kind) and not self._choice.problems
            for word, kind in words.items()
        }
        self._words["thinking"] &= thinking is not Thinking.NONE
        self._held: tuple[FrameItem, SessionEvent, list[str]] | None = None
        self._thinking = thinking
        self._clock = clock
        self._opened_ms = opened_ms
        self._live = False
        self._last_ms: int | None = None
        self._tools: dict[str, dict[str, ToolCall]] = {}
        self._block: tuple[str, str, str] | None = None
        self._flowing: list[str] = []  # pieces of that block, not written yet
        self._headed = False
        self._shown = 0
        # Epochs: an answer is being written; work was seen and neither its end nor its failure.
        self._answering: set[str] = set()
        self._working: set[str] = set()
        self._failed: set[str] = set()  # and nothing has gone well since

    @property
    def width(self) -> int | None:
        """The terminal's width in cells; None: lines are not wrapped."""
        return self._lines.width

    @width.setter
    def width(self, width: int | None) -> None:
        self._lines.width = width

    def render(self, items: Sequence[Item]) -> str:
        """Return the text of `items`; the last line may stay open for what flows on.

        Raises:
            OperationError: `unsupported_input`, when an item holds bytes that are no frame.
        """
        if self._last_ms is None:
            self._last_ms = _first_time(items) or self._opened_ms
        for number, item in enumerate(items):
            if isinstance(item, FrameItem):
                self._frame(item)
                continue
            if isinstance(item, Reset):
                self._last_ms = _first_time(items[number:])
            self._flush()
            self._item(item)
        self._flush()
        return self._lines.take()

    def pause(self) -> str:
        """Return what ends the open line, if there is one: something else is to stand below it.

        What flows on is barred.
        """
        self._lines.pause()
        return self._lines.take()

    def finish(self) -> str:
        """Return what closes the open line, if there is one."""
        self._release()
        self._lines.close()
        self._block = None
        return self._lines.take()

    def _flush(self) -> None:
        """Hand on what flows into the message that is open."""
        if self._flowing:
            self._lines.flow("".join(self._flowing))
            self._flowing.clear()

    def _item(self, item: _Marker) -> None:
        match item:
            case CaughtUp():
                self._live = True
            case End():
                self._close_tools(item.epoch, ToolStatus.INTERRUPTED, None)
                self._write(unplaced_entry(item))
            case Reset():
                for epoch in set(self._tools) - {item.epoch}:
                    self._close_tools(epoch, ToolStatus.INTERRUPTED, None)
                self._write(unplaced_entry(item))
            case Gap():
                self._answering.discard(item.epoch)
                self._write(unplaced_entry(item))
            case StateSignal():
                self._write(unplaced_entry(item))
            case _:
                assert_never(item)

    def _write(self, entry: Entry, at_ms: int | None = None) -> bool:
        """Write `entry`; return whether it is one to show."""
        self._release()
        if not self._choice.takes(entry):
            return False
        self._block = None
        at_ms = entry.at_ms if at_ms is None else at_ms
        self._entries.write(entry, self._time() if at_ms is None else at_ms)
        return True

    def _release(self) -> None:
        """Write the message that was held back to be searched, if it is one to show."""
        held, self._held = self._held, None
        if held is None or self._block is None:
            return
        item, event, parts = held
        word, self._block = self._block[1], None
        kind: Literal["assistant_text", "thinking"] = (
            "assistant_text" if word == "text" else "thinking"
        )
        text = "".join(parts)
        message = Message(
            **place_of(item, event),
            kind=kind,
            message_id="",
            text=text,
            status=MessageStatus.OPEN,
        )
        if self._choice.takes(message):
            self._headed, self._shown = False, 0
            self._flow(event, word, text)

    def _time(self) -> int | None:
        if not self._live or self._clock is None:
            return self._last_ms
        now = self._clock()
        # A transition that follows an event belongs to it, however late it arrived here.
        fresh = self._last_ms is not None and 0 <= now - self._last_ms < _FRESH_MS
        return self._last_ms if fresh else now

    def _frame(self, item: FrameItem) -> None:
        frame = decode_frame(item.data)
        event, state = frame.typed_event, frame.state
        at_ms = event.at_unix_ms
        if at_ms and not item.late:
            self._last_ms = at_ms
        kind = event.WhichOneof("event")
        if kind == "assistant_text" and self._headed and not state:
            piece = event.assistant_text
            if self._block == (item.epoch, "text", piece.message_id):
                # What nearly every frame is: one more piece of the message that is open.
                self._answering.add(item.epoch)
                self._flowing.append(piece.text)
                return
        self._flush()
        if kind is not None or frame.HasField("typed_event"):
            self._event(item, event, kind)
        elif not state:
            self._write(unknown_entry(item, event))
        if state:
            self._state(item, event, state)

    def _event(self, item: FrameItem, event: SessionEvent, kind: str | None) -> None:
        match kind:
            case "assistant_text":
                piece = event.assistant_text
                self._answering.add(item.epoch)
                self._message(item, event, "text", piece.message_id, piece.text)
            case "thinking":
                piece = event.thinking
                self._message(item, event, "thinking", piece.message_id, piece.text)
            case "tool_call":
                self._answering.discard(item.epoch)
                self._tool_call(item, event)
            case "tool_call_update":
                self._tool_update(item, event)
            case "session_error":
                self._failure(item, event)
            case _:
                if kind == "prompt":
                    self._answering.discard(item.epoch)
                self._write(single_entry(item, event))

    def _state(self, item: FrameItem, event: SessionEvent, state: int) -> None:
        entry = StateChange(**place_of(item, event), state=state)
        if item.late:  # it tells of the past: what is open now is none of its business
            self._write(entry)
            return
        if state == ERRORED:
            self._close_tools(item.epoch, ToolStatus.FAILED, entry.at_ms)
        shown = self._write(entry)
        if shown and state == ERRORED and item.epoch in self._working:
            self._entries.remark(
                "the failure above was the last word"
                if item.epoch in self._failed
                else "the agent stopped unexpectedly and no reason was reported"
            )
        if state in SETTLED:
            self._answering.discard(item.epoch)
        if state in {STARTING, WORKING}:
            self._working.add(item.epoch)
        else:
            self._working.discard(item.epoch)
            if state != ERRORED:
                self._failed.discard(item.epoch)

    def _message(
        self, item: FrameItem, event: SessionEvent, word: str, message_id: str, text: str
    ) -> None:
        if not self._words[word]:
            return
        block = (item.epoch, word, message_id)
        if self._block != block:
            self._release()
            self._block, self._headed, self._shown = block, False, 0
        if self._choice.pattern is None:
            self._flow(event, word, text)
        elif self._held is None:
            self._held = item, event, [text]
        else:
            self._held[2].append(text)

    def _flow(self, event: SessionEvent, word: str, text: str) -> None:
        role = Role.PLAIN
        if word == "thinking":
            role = Role.DIM
            text = self._shorten(text)
        if not self._headed:
            if not text.strip("\n"):
                return
            self._headed = True
            at_ms = event.at_unix_ms or self._time()
            self._entries.head(at_ms, self._lines.style.symbol(word), word, role)
        self._lines.flow(text, role)

    def _shorten(self, text: str) -> str:
        if self._thinking is Thinking.FULL:
            return text
        room, self._shown = _SHORT_CHARS - self._shown, self._shown + len(text)
        if room < 0:
            return ""
        more = self._lines.style.symbol("more") if len(text) > room else ""
        return text[:room].replace("\n", " ") + more

    def _tool_call(self, item: FrameItem, event: SessionEvent) -> None:
        tools = self._tools.setdefault(item.epoch, {})
        known = tools.get(event.tool_call.tool_call_id)
        if known is None or known.status.ended:
            tool = open_tool(item, event)
        else:
            tool = restart_tool(known, item, event)
        tools[tool.tool_call_id] = tool
        if known is None or (known.status, known.title) != (tool.status, tool.title):
            self._write(tool)

    def _tool_update(self, item: FrameItem, event: SessionEvent) -> None:
        tools = self._tools.setdefault(item.epoch, {})
        known = tools.get(event.tool_call_update.tool_call_id) or open_tool(item, event)
        tool = update_tool(known, item, event)
        if tool is None:
            return
        if tool.status.ended:
            self._write(tool, event.at_unix_ms or None)
            # What was shown need not be kept; that it ended must be.
            tool = replace(tool, output="", diffs=())
        elif tool.status is ToolStatus.UNKNOWN and tool.number != known.number:
            self._write(tool, event.at_unix_ms or None)
        tools[tool.tool_call_id] = tool

    def _close_tools(self, epoch: str, status: ToolStatus, at_ms: int | None) -> None:
        tools = self._tools.get(epoch, {})
        for tool in tools.values():
            if not tool.status.ended:
                tools[tool.tool_call_id] = closed = close_tool(tool, status, at_ms)
                if self._write(closed, at_ms):
                    self._entries.remark("it was at work when its turn ended")

    def _failure(self, item: FrameItem, event: SessionEvent) -> None:
        entry = Failure(**place_of(item, event), cause=explain(event.session_error))
        if item.late:
            self._write(entry)
            return
        status = ToolStatus.INTERRUPTED if entry.cause.aborted else ToolStatus.FAILED
        self._close_tools(item.epoch, status, entry.at_ms)
        shown = self._write(entry)
        if shown and item.epoch in self._answering and not entry.cause.aborted:
            self._entries.remark("the answer above is not complete")
        self._answering.discard(item.epoch)
        self._working.discard(item.epoch)
        self._failed.add(item.epoch)


def _first_time(items: Sequence[Item]) -> int | None:
    for item in items:
        if isinstance(item, FrameItem):
            at_ms = decode_frame(item.data).typed_event.at_unix_ms
            if at_ms:
                return at_ms
    return None
