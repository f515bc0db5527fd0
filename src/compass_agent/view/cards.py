"""Writes one entry as lines: a header with the time, and barred lines under it."""

from __future__ import annotations

__all__ = (
    "GAP_TEXTS",
    "RESTART_TEXTS",
    "USUAL",
    "WHOLE",
    "Detail",
    "DiffForm",
    "EntryWriter",
    "failure_facts",
)

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from compass_agent.view.entries import (
    Ended,
    Failure,
    Injection,
    Message,
    Missing,
    Notice,
    Plan,
    Prompt,
    Restart,
    StateChange,
    StepStatus,
    ToolCall,
    ToolStatus,
    Unknown,
)
from compass_agent.view.failure import NO_MESSAGE, FailureKind
from compass_agent.view.neutralise import without_colours
from compass_agent.view.style import Role
from compass_agent.view.times import Times
from compass_agent.view.words import DISCONNECTED, duration, state_word
from compass_agent.wire import GapReason, ResetReason

if TYPE_CHECKING:
    from collections.abc import Callable

    from compass_agent.view.entries import Entry, FileDiff
    from compass_agent.view.failure import Cause
    from compass_agent.view.lines import LineWriter

_WORD = 8
_LABEL = 9
GAP_TEXTS = {
    GapReason.UNSPECIFIED: "for a reason that this version does not know",
    GapReason.DROPPED: "the agent was faster than its buffer, or the log was away or refused them",
    GapReason.RETENTION: "the log no longer keeps them",
    GapReason.WRITER_GONE: "the agent's process went away before it could send them",
    GapReason.LOG_LOSS: "the log lost them, which is a fault",
}
RESTART_TEXTS = {
    ResetReason.UNSPECIFIED: "the reading begins anew here",
    ResetReason.NEW_EPOCH: "the session was opened again; what follows is the newer run",
    ResetReason.UNKNOWN_EPOCH: "that place is not kept; reading from the oldest that is",
}
_TOOL_WORDS = {
    ToolStatus.PENDING: "waiting",
    ToolStatus.RUNNING: "running",
    ToolStatus.COMPLETED: "done",
    ToolStatus.FAILED: "FAILED",
    ToolStatus.INTERRUPTED: "interrupted",
    ToolStatus.UNKNOWN: "status not known",
}
_RETRY = {True: "yes", False: "no, not without a change", None: "not known"}


class DiffForm(StrEnum):
    """How much of the change of a file to show; STAT is its name and the count of lines."""

    NONE = "none"
    STAT = "stat"
    FULL = "full"


@dataclass(frozen=True, slots=True)
class Detail:
    """How much of long entries to show.

    Attributes:
        output_lines: Lines of a tool's output, head and tail.
        line_chars: Characters of one such line.
        diff: How much of a file's change.
        diff_lines: Lines of one file's change.
    """

    output_lines: int = 10
    line_chars: int = 500
    diff: DiffForm = DiffForm.FULL
    diff_lines: int = 60


USUAL = Detail()
WHOLE = Detail(output_lines=1_000_000_000, line_chars=1_000_000_000, diff_lines=1_000_000_000)
"""Nothing is shortened."""


@dataclass(frozen=True, slots=True)
class EntryWriter:
    """Writes entries to `lines`.

    Attributes:
        lines: Where they go.
        detail: How much of them to show.
        times: Writes their times.
        clock: Gives the time in milliseconds since 1970-01-01 UTC; None: nothing is said of now.
    """

    lines: LineWriter
    detail: Detail = USUAL
    times: Times = field(default_factory=Times)
    clock: Callable[[], int] | None = None

    def head(
        self, at_ms: int | None, symbol: str, word: str, role: Role = Role.PLAIN, bar: str = "bar"
    ) -> None:
        """Begin an entry: its time, symbol and word; what flows next stands beside them."""
        time = self.times.text(at_ms)
        first = f"{time}{' ' if time else ''}{symbol} {word:<{_WORD}} "
        self.lines.begin(first, self._bar(bar), role)

    def write(self, entry: Entry, at_ms: int | None) -> None:
        """Write `entry` with the time `at_ms`, and close its last line."""
        match entry:
            case ToolCall():
                self._tool(entry, at_ms)
            case Failure():
                self._failure(entry, at_ms)
            case Plan():
                self._plan(entry, at_ms)
            case StateChange():
                self._state(entry, at_ms)
            case Message():
                self._plain(at_ms, "text", "text", entry.text)
            case Prompt():
                self._plain(at_ms, "prompt", "prompt", entry.text)
            case Notice():
                link = f" ({entry.link})" if entry.link else ""
                self._plain(at_ms, "notice", "notice", entry.text + link)
            case Injection():
                text = f"{entry.kind} from {entry.from_handle or 'unknown sender'}"
                self._plain(at_ms, "injected", "injected", text)
            case _:
                self._marker(entry, at_ms)
        if entry.late:
            self.remark("arrived late: it belongs further up")
        self.lines.close()

    def remark(self, text: str) -> None:
        """Write a barred line of our own under what was written last."""
        self.lines.begin(self._bar("bar"), self._bar("bar"), Role.DIM)
        self.lines.flow(text, Role.DIM)
        self.lines.close()

    def _bar(self, name: str) -> str:
        width = self.times.width
        return f"{' ' * (width and width + 1)}{self.lines.style.symbol(name)} "

    def _plain(self, at_ms: int | None, symbol: str, word: str, text: str) -> None:
        self.head(at_ms, self.lines.style.symbol(symbol), word)
        self.lines.flow(text if text.strip() else "(empty)")

    def _marker(self, entry: Entry, at_ms: int | None) -> None:
        lines, style = self.lines, self.lines.style
        match entry:
            case Missing():
                self.head(at_ms, style.symbol("missing"), "missing", Role.WARNING)
                frames = "1 frame is" if entry.count == 1 else f"{entry.count} frames are"
                lines.flow(f"{frames} missing here: {GAP_TEXTS[entry.reason]}", Role.WARNING)
            case Restart():
                self.head(at_ms, style.symbol("dot"), "session")
                lines.flow(f"{RESTART_TEXTS[entry.reason]} (epoch {entry.epoch})")
            case Ended():
                symbol, role = style.of_state(entry.state)
                self.head(at_ms, symbol, "end", role)
                lines.flow(state_word(entry.state), role)
                if entry.reason:
                    lines.put(f"  {entry.reason}")
            case Unknown():
                self.head(at_ms, style.symbol("unknown"), "unknown", Role.WARNING)
                lines.flow(f"an event that this version does not know ({entry.size} bytes)")
            case _:
                self.head(at_ms, style.symbol("unknown"), "unknown", Role.WARNING)

    def _state(self, entry: StateChange, at_ms: int | None) -> None:
        symbol, role = self.lines.style.of_state(entry.state)
        self.head(at_ms, symbol, "state", role)
        self.lines.flow(state_word(entry.state), role)
        if entry.signal and entry.state == DISCONNECTED:
            self.lines.flow("  no contact with the agent's process; it may still be running")
        elif entry.signal:
            self.lines.flow("  the agent's process is back")

    def _plan(self, entry: Plan, at_ms: int | None) -> None:
        self.head(at_ms, self.lines.style.symbol("plan"), "plan")
        done = sum(step.status is StepStatus.DONE for step in entry.steps)
        self.lines.flow(f"{done} of {len(entry.steps)} done" if entry.steps else "cleared")
        for step in entry.steps:
            first = f"{self._bar('bar')}{self.lines.style.of_step(step.status)} "
            self.lines.begin(first, self._bar("bar") + "  ", Role.DIM)
            self.lines.put(step.content)

    def _tool(self, tool: ToolCall, at_ms: int | None) -> None:
        symbol, role = self.lines.style.of_tool(tool.status)
        self.head(at_ms, symbol, "tool", role)
        self.lines.put(tool.title or tool.tool_call_id or "(no title)")
        if tool.status is ToolStatus.RUNNING:
            return
        text = _TOOL_WORDS[tool.status]
        if tool.status is ToolStatus.UNKNOWN and tool.number:
            text = f"{text} ({tool.number})"
        if tool.ended_ms and tool.at_ms and tool.ended_ms >= tool.at_ms:
            text += f" in {duration(tool.ended_ms - tool.at_ms)}"
        output = without_colours(tool.output).rstrip("\n")
        count = output.count("\n") + 1 if output else 0
        if tool.full_output_chars is not None:
            text += f", output cut from {tool.full_output_chars} characters"
        elif count > 1:
            text += f", {count} lines"
        self.lines.flow("  " + text, role)
        self._output(output)
        for diff in tool.diffs if self.detail.diff is not DiffForm.NONE else ():
            self._diff(diff)

    def _output(self, output: str) -> None:
        rows = output.split("\n") if output else []
        hidden = len(rows) - self.detail.output_lines
        head = len(rows) if hidden <= 0 else (self.detail.output_lines + 1) // 2
        tail = len(rows) if hidden <= 0 else head + hidden
        for row in rows[:head]:
            self._row(row, Role.PLAIN)
        if hidden > 0:
            self._hidden(hidden)
        for row in rows[tail:]:
            self._row(row, Role.PLAIN)

    def _diff(self, diff: FileDiff) -> None:
        from compass_agent.view.diff import diff_text  # noqa: PLC0415 - dear, and most show none

        text = diff_text(diff)
        self.lines.begin(self._bar("bar"), self._bar("bar"), Role.DIM)
        self.lines.put(diff.path or "(no path)", Role.STRONG)
        created = "  created" if diff.old_text is None else ""
        rough = "" if text.exact else "  (too large to compare line by line)"
        self.lines.flow(f"{created}  +{text.added} -{text.removed}{rough}")
        if self.detail.diff is DiffForm.STAT:
            return
        roles = {"+": Role.ADDED, "-": Role.REMOVED, "@": Role.ACCENT}
        for row in text.lines[: self.detail.diff_lines]:
            self._row(row, roles.get(row[0], Role.PLAIN))
        if len(text.lines) > self.detail.diff_lines:
            self._hidden(len(text.lines) - self.detail.diff_lines)

    def _row(self, text: str, role: Role) -> None:
        bar = self._bar("bar")
        self.lines.begin(bar if text else bar.rstrip(), bar, Role.DIM)
        most = self.detail.line_chars
        if len(text) > most:
            more = self.lines.style.symbol("more")
            text = f"{text[:most]} {more} ({len(text) - most} more characters)"
        self.lines.flow(text, role)

    def _hidden(self, count: int) -> None:
        bar, more = self._bar("bar"), self.lines.style.symbol("more")
        self.lines.begin(bar, bar, Role.DIM)
        self.lines.flow(f"{more} {count} more {'line' if count == 1 else 'lines'}", Role.DIM)

    def _failure(self, entry: Failure, at_ms: int | None) -> None:
        cause, style = entry.cause, self.lines.style
        role = Role.STOPPED if cause.aborted else Role.ERROR
        symbol = style.symbol("aborted" if cause.aborted else "errored")
        words = {FailureKind.ABORTED: "ABORTED", FailureKind.ERROR: "ERROR"}
        self.head(at_ms, symbol, words.get(cause.kind, "ENDED"), role, "heavy")
        self.lines.put(cause.title + (f" ({cause.http})" if cause.http else ""), role)
        message = cause.message if cause.message.strip() else f"({NO_MESSAGE})"
        self._field("message", message, role)
        for label, text in failure_facts(cause, self._over(entry)):
            if text:
                self._field(label, text, role)
        self._field("place", f"{entry.epoch}-{entry.seq}", role)

    def _over(self, entry: Failure) -> str:
        """Return what to say of the time that the provider asked to wait: nothing, or its end."""
        wait = entry.cause.retry_after_ms
        if self.clock is None or wait is None or entry.at_ms is None:
            return ""
        return ", which has passed" if entry.at_ms + wait <= self.clock() else ""

    def _field(self, label: str, text: str, role: Role) -> None:
        bar = self._bar("heavy")
        self.lines.begin(f"{bar}{label:<{_LABEL}}", bar + " " * _LABEL, role)
        self.lines.flow(text)


def failure_facts(cause: Cause, over: str = "") -> list[tuple[str, str]]:
    """Return what a card says below the message, by label; a text may be empty.

    Args:
        cause: What went wrong.
        over: Follows the time that the provider asked to wait.
    """
    told = [("code", cause.code), ("request", cause.request_id)]
    wait = cause.retry_after_ms
    asked = "" if wait is None else f"; the provider asked to wait {duration(max(0, wait))}{over}"
    if cause.aborted:
        meaning = "stopped on purpose, not a crash; what was produced is kept above"
        return [("meaning", meaning), ("by", cause.stopped_by or "not reported"), *told]
    return [("retry", _RETRY[cause.retryable] + asked), ("to do", cause.guidance), *told]
