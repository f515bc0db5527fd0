"""A session as Markdown, for people to keep: every entry under a heading, in reading order.

Text of the session stands in fences and code spans that it cannot leave, and is neutralised: a
renderer shows it as it is, follows no link in it, loads no image, and runs no markup.
"""

from __future__ import annotations

__all__ = ("MarkdownRenderer", "fenced")

import datetime as dt
import re
from typing import TYPE_CHECKING

from compass_agent.view.cards import GAP_TEXTS, RESTART_TEXTS
from compass_agent.view.choice import Choice
from compass_agent.view.diff import diff_text
from compass_agent.view.entries import (
    Ended,
    Failure,
    Injection,
    Message,
    MessageStatus,
    Missing,
    Notice,
    Plan,
    Prompt,
    Restart,
    StateChange,
    StepStatus,
    ToolCall,
    Unknown,
)
from compass_agent.view.failure import NO_MESSAGE
from compass_agent.view.fold import Folder
from compass_agent.view.neutralise import neutralise, one_line, without_colours
from compass_agent.view.words import duration, state_word

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from compass_agent.view.entries import Entry, FileDiff
    from compass_agent.view.failure import Cause
    from compass_agent.wire import Item

_TICKS = re.compile("`+")
_YEAR_10000_MS = 253_402_300_800_000
_RETRY = {True: "yes", False: "no, not without a change", None: "not known"}
_STEPS = {
    StepStatus.PENDING: " ",
    StepStatus.ACTIVE: ">",
    StepStatus.DONE: "x",
    StepStatus.UNKNOWN: "?",
}


class MarkdownRenderer:
    """Turns items into Markdown. One renderer serves one reading of one session.

    Args:
        session: The session's id.
        title: What the session is about; may be empty.
        choice: Which entries to show; None: all.
    """

    def __init__(self, session: str, title: str = "", choice: Choice | None = None) -> None:
        self._folder = Folder()
        self._choice = choice or Choice()
        self._head = f"# Session {_span(session)}\n"
        if title.strip():
            self._head += f"\n{_span(title)}\n"
        self._shown = 0

    def render(self, items: Iterable[Item]) -> str:
        """Return the text of the entries that no later item changes, up to the first that one may.

        Raises:
            OperationError: `unsupported_input`, when an item holds bytes that are no frame.
        """
        for item in items:
            self._folder.push(item)
        settled = self._shown
        while settled < len(self._folder) and not _grows(self._folder.entry(settled)):
            settled += 1
        return self._take(settled)

    def skip(self, items: Iterable[Item]) -> None:
        """Take note of items whose entries are not to be shown.

        Raises:
            OperationError: As `render`.
        """
        for item in items:
            self._folder.push(item)
        self._shown = len(self._folder)

    def finish(self) -> str:
        """Return the text of what is left, as it stands."""
        return self._take(len(self._folder))

    def _take(self, until: int) -> str:
        head, self._head = self._head, ""
        shown, self._shown = range(self._shown, until), until
        entries = map(self._folder.entry, shown)
        return head + "".join(_section(entry) for entry in entries if self._choice.takes(entry))


def fenced(text: str, kind: str = "text") -> str:
    """Return `text`, neutralised, in a fence that is longer than any within it."""
    clean = neutralise(without_colours(text))
    longest = max((len(run) for run in _TICKS.findall(clean)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{kind}\n{clean.rstrip(chr(10))}\n{fence}\n"


def _grows(entry: Entry) -> bool:
    match entry:
        case Message():
            return entry.status is MessageStatus.OPEN
        case ToolCall():
            return not entry.status.ended
        case _:
            return False


def _section(entry: Entry) -> str:
    word, *parts = _parts(entry)
    if entry.late:
        parts.append("Arrived late: it belongs further up.\n")
    place = f"{entry.epoch}-{entry.seq}" if entry.seq else entry.epoch
    return "\n" + "\n".join([f"## {word}\n", f"{_time(entry.at_ms)}{_span(place)}\n", *parts])


def _parts(entry: Entry) -> Iterator[str]:
    """Yield the heading of the entry, then its paragraphs."""
    match entry:
        case Message():
            yield "Thinking" if entry.kind == "thinking" else "Answer"
            yield fenced(entry.text)
        case ToolCall():
            yield from _tool(entry)
        case Failure():
            yield from _failure(entry.cause)
        case Plan():
            yield "Plan"
            yield fenced(
                "\n".join(f"[{_STEPS[s.status]}] {one_line(s.content)}" for s in entry.steps)
            )
        case Prompt():
            yield "Prompt"
            yield fenced(entry.text)
        case Notice():
            yield "Notice"
            yield fenced(entry.text + (f"\n{entry.link}" if entry.link else ""))
        case Injection():
            yield f"Injected: {entry.kind}"
            yield f"From {_span(entry.from_handle or 'unknown sender')}\n"
        case _:
            yield from _mark(entry)


def _mark(entry: Entry) -> Iterator[str]:
    match entry:
        case StateChange():
            yield f"State {state_word(entry.state)}"
        case Missing():
            frames = "1 frame is" if entry.count == 1 else f"{entry.count} frames are"
            yield f"{frames} missing here"
            yield f"{GAP_TEXTS[entry.reason]}.\n"
        case Restart():
            yield "The session goes on"
            yield f"{RESTART_TEXTS[entry.reason]}.\n"
        case Ended():
            yield f"End: {state_word(entry.state)}"
            yield from [fenced(entry.reason)] if entry.reason else []
        case Unknown():
            yield "Unknown"
            yield f"An event that this version does not know ({entry.size} bytes).\n"
        case _:
            yield "Unknown"


def _tool(tool: ToolCall) -> Iterator[str]:
    yield f"Tool: {tool.status}"
    took = ""
    if tool.ended_ms and tool.at_ms and tool.ended_ms >= tool.at_ms:
        took = f" in {duration(tool.ended_ms - tool.at_ms)}"
    yield f"{_span(tool.title or tool.tool_call_id or '(no title)')}{took}\n"
    if tool.output.strip():
        yield fenced(tool.output)
    if tool.full_output_chars is not None:
        yield f"The output was cut from {tool.full_output_chars} characters.\n"
    for diff in tool.diffs:
        yield from _diff(diff)


def _diff(diff: FileDiff) -> Iterator[str]:
    text = diff_text(diff)
    created = ", created" if diff.old_text is None else ""
    yield f"{_span(diff.path or '(no path)')}{created}: +{text.added} -{text.removed}\n"
    if text.lines:
        yield fenced("\n".join(text.lines), "diff")


def _failure(cause: Cause) -> Iterator[str]:
    yield cause.title + (f" ({cause.http})" if cause.http else "")
    yield fenced(cause.message if cause.message.strip() else f"({NO_MESSAGE})")
    if cause.aborted:
        facts = [("Meaning", "stopped on purpose, not a crash")]
        facts += [("Stopped by", _span(cause.stopped_by))] if cause.stopped_by else []
    else:
        wait = cause.retry_after_ms
        asked = "" if wait is None else f"; the provider asked to wait {duration(max(0, wait))}"
        facts = [("Retry", _RETRY[cause.retryable] + asked), ("What to do", cause.guidance)]
    facts += [("Code", _span(cause.code))] if cause.code else []
    facts += [("Request", _span(cause.request_id))] if cause.request_id else []
    yield "".join(f"- {label}: {text}\n" for label, text in facts if text)


def _span(text: str) -> str:
    """Return `text`, neutralised, as one code span."""
    clean = one_line(text)
    longest = max((len(run) for run in _TICKS.findall(clean)), default=0)
    ticks = "`" * (longest + 1)
    room = " " if not clean.strip() or clean[0] == "`" or clean[-1] == "`" else ""
    return f"{ticks}{room}{clean}{room}{ticks}"


def _time(at_ms: int | None) -> str:
    if at_ms is None or not 0 < at_ms < _YEAR_10000_MS:
        return ""
    at = dt.datetime.fromtimestamp(at_ms / 1000, dt.UTC)
    return f"{at:%Y-%m-%d %H:%M:%S} UTC, "
