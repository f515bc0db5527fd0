"""What an entry is called, and the words in it that can be searched."""

from __future__ import annotations

__all__ = ("ALWAYS", "entry_words", "kind_of_entry")

from compass_agent.view.entries import (
    Ended,
    Entry,
    Failure,
    Injection,
    Message,
    Missing,
    Notice,
    Plan,
    Prompt,
    Restart,
    StateChange,
    ToolCall,
)
from compass_agent.view.words import state_word

_KINDS: dict[type[Entry], str] = {
    ToolCall: "tool_call",
    Plan: "plan",
    Prompt: "prompt",
    Notice: "notice",
    Injection: "session_injection",
    Failure: "session_error",
    StateChange: "state",
    Missing: "gap",
    Restart: "reset",
    Ended: "end",
}
ALWAYS = frozenset({"gap", "reset", "end"})
"""Kinds that come whatever was asked for: without them nobody knows what is missing."""


def kind_of_entry(entry: Entry) -> str:
    """Return what the entry is: a name of the oneof, or state, gap, reset, end or unknown."""
    return entry.kind if isinstance(entry, Message) else _KINDS.get(type(entry), "unknown")


def entry_words(entry: Entry) -> str:
    """Return the text of `entry` that a person may look for, its parts on lines of their own."""
    match entry:
        case Message() | Prompt():
            return entry.text
        case ToolCall():
            return "\n".join((entry.title, entry.output, *(diff.path for diff in entry.diffs)))
        case Failure():
            cause = entry.cause
            parts = (cause.title, cause.http, cause.message, cause.code, cause.request_id)
            return "\n".join((*parts, cause.stopped_by))
        case Plan():
            return "\n".join(step.content for step in entry.steps)
        case Notice():
            return f"{entry.text}\n{entry.link or ''}"
        case Injection():
            return f"{entry.kind} {entry.from_handle}"
        case StateChange():
            return state_word(entry.state)
        case _:
            return ""
