"""Cuts what a page holds to the length that its reader asked for, and says so."""

from __future__ import annotations

__all__ = ("Cut", "cut_entries")

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from compass_agent.services.as_json import entry_to_dict
from compass_agent.view.entries import Message, Notice, Plan, Prompt, ToolCall

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compass_agent.view.entries import Entry, FileDiff

_LONGEST_TITLE = 500
_MOST_STEPS = 50


@dataclass(frozen=True, slots=True)
class Cut:
    """Entries with their long texts cut.

    Attributes:
        entries: All of them.
        fitting: How many fit the length, at least one when there are any.
        shortened: Something was cut.
    """

    entries: list[Entry]
    fitting: int
    shortened: bool


def cut_entries(entries: Sequence[Entry], most_chars: int, *, from_end: bool) -> Cut:
    """Cut the texts of `entries`, and count how many fit.

    Args:
        entries: In reading order.
        most_chars: How long all may be, as JSON. A single text gets half of that at most.
        from_end: Count from the last one back.
    """
    short = [_shortened(entry, most_chars // 2) for entry in entries]
    left, fitting = most_chars, 0
    for entry in reversed(short) if from_end else short:
        left -= len(json.dumps(entry_to_dict(entry), ensure_ascii=False))
        if left < 0 and fitting:
            break
        fitting += 1
    return Cut(short, fitting, short != list(entries))


def _shortened(entry: Entry, room: int) -> Entry:
    match entry:
        case Message() | Prompt() | Notice():
            return replace(entry, text=_cut(entry.text, room))
        case Plan():
            steps = tuple(
                replace(step, content=_cut(step.content, _LONGEST_TITLE))
                for step in entry.steps[:_MOST_STEPS]
            )
            return replace(entry, steps=steps)
        case ToolCall():
            return _shortened_tool(entry, room)
        case _:
            return entry


def _shortened_tool(tool: ToolCall, room: int) -> ToolCall:
    output = _cut(tool.output, room // 2)
    full = tool.full_output_chars
    if full is None and output != tool.output:
        full = len(tool.output)
    share = room // (4 * max(1, len(tool.diffs)))
    diffs: tuple[FileDiff, ...] = tuple(
        replace(
            diff,
            path=_cut(diff.path, _LONGEST_TITLE),
            old_text=None if diff.old_text is None else _cut(diff.old_text, share),
            new_text=_cut(diff.new_text, share),
        )
        for diff in tool.diffs
    )
    title = _cut(tool.title, _LONGEST_TITLE)
    return replace(tool, title=title, output=output, full_output_chars=full, diffs=diffs)


def _cut(text: str, room: int) -> str:
    """Return head and tail of `text`, about `room` characters of it."""
    if len(text) <= room:
        return text
    head, tail = room * 2 // 3, room // 3
    left_out = len(text) - head - tail
    return f"{text[:head]} [... {left_out} characters are left out ...] {text[len(text) - tail :]}"
