"""Readers of tool payloads, which can be anything. Never raise."""

from __future__ import annotations

__all__ = ("OUTPUT_CHARS", "plan_of", "plan_status", "read_diffs", "read_output")

from typing import TYPE_CHECKING

from compass_agent.errors.shapes import as_list, as_object, is_list
from compass_agent.events import readable_text
from compass_agent.frames import AgentPlanEntryStatus, SessionFileDiff, valid_text

if TYPE_CHECKING:
    from collections.abc import Mapping

# What a reader sees of one output at most; the whole of a large output would fill the trace lane.
OUTPUT_CHARS = 4_000


def read_output(result: object) -> tuple[str, int | None]:
    """Return the output text, and how many characters it had when it was cut, else None."""
    text = readable_text(result)
    if len(text) <= OUTPUT_CHARS:
        return text, None
    text = valid_text(text)
    if len(text) <= OUTPUT_CHARS:
        return text, None
    return text[: OUTPUT_CHARS - 1] + "…", len(text)


def read_diffs(result: object) -> list[SessionFileDiff]:
    """Return the file diffs of `result.details`, or of its `perFileResults`.

    Entries that are errors, have no path, or have neither text are left out. Without `oldText` the
    file was created.
    """
    details = as_object(result).get("details")
    per_file = as_object(details).get("perFileResults")
    entries = per_file if is_list(per_file) else (details,)
    diffs = (_read_diff(as_object(entry)) for entry in entries)
    return [diff for diff in diffs if diff is not None]


def _read_diff(entry: Mapping[str, object]) -> SessionFileDiff | None:
    path, old, new = entry.get("path"), entry.get("oldText"), entry.get("newText")
    has_text = isinstance(old, str) or isinstance(new, str)
    if entry.get("isError") is True or not isinstance(path, str) or not path or not has_text:
        return None
    diff = SessionFileDiff(path=valid_text(path))
    if isinstance(old, str):
        diff.old_text = valid_text(old)
    if isinstance(new, str):
        diff.new_text = valid_text(new)
    return diff


def plan_of(result: object) -> list[tuple[str, AgentPlanEntryStatus.ValueType]] | None:
    """Return the plan of a todo tool's `result.details.phases[].tasks[]`.

    None: it is not of that shape. A task without a text is left out.
    """
    phases = as_object(as_object(result).get("details")).get("phases")
    if not is_list(phases):
        return None
    entries: list[tuple[str, AgentPlanEntryStatus.ValueType]] = []
    for phase in phases:
        for task in as_list(as_object(phase).get("tasks")):
            content, status = as_object(task).get("content"), as_object(task).get("status")
            if isinstance(content, str):
                entries.append((content, plan_status(status)))
    return entries


def plan_status(word: object) -> AgentPlanEntryStatus.ValueType:
    """Return the status for an agent's word; a word that is not known reads as pending."""
    if word == "in_progress":
        return AgentPlanEntryStatus.AGENT_PLAN_ENTRY_STATUS_IN_PROGRESS
    if word in ("completed", "abandoned"):
        return AgentPlanEntryStatus.AGENT_PLAN_ENTRY_STATUS_COMPLETED
    return AgentPlanEntryStatus.AGENT_PLAN_ENTRY_STATUS_PENDING
