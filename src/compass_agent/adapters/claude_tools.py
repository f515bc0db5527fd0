"""What Claude Code's tool calls say besides their output: file diffs, the plan, refusals."""

from __future__ import annotations

__all__ = ("Plan", "diff_of", "was_refused")

from typing import TYPE_CHECKING

from compass_agent.adapters.objects import text_of
from compass_agent.errors.shapes import as_list, as_object
from compass_agent.events.classes import InnerEvent, PlanChanged, PlanEntry

if TYPE_CHECKING:
    from collections.abc import Mapping

_MOST_TASKS = 1_000
_REFUSED = "user-rejected"
_REFUSAL = "The user doesn't want to proceed with this tool use."


def diff_of(told: Mapping[str, object]) -> dict[str, object] | None:
    """Return the change of a file that a result tells: `path`, `oldText`, `newText`; None: none."""
    path, original = text_of(told, "filePath"), told.get("originalFile")
    if not path:
        return None
    diff: dict[str, object] = {"path": path}
    if isinstance(original, str):
        diff["oldText"] = original
    content, old, new = (told.get(key) for key in ("content", "oldString", "newString"))
    if isinstance(content, str):
        diff["newText"] = content
    elif isinstance(old, str) and isinstance(new, str):
        if not isinstance(original, str):
            return {"path": path, "oldText": old, "newText": new}
        count = -1 if told.get("replaceAll") is True else 1
        diff["newText"] = original.replace(old, new, count)
    else:
        return None
    return diff


def was_refused(call: str, line: Mapping[str, object]) -> bool:
    """Tell whether the user, or a stop, kept a call from running to its end."""
    for meta in as_list(line.get("tool_result_meta")):
        if text_of(as_object(meta), "id") == call and "non_execution_kind" in as_object(meta):
            return text_of(as_object(meta), "non_execution_kind") == _REFUSED
    for block in as_list(as_object(line.get("message")).get("content")):
        item = as_object(block)
        if text_of(item, "tool_use_id") == call:
            return text_of(item, "content").startswith(_REFUSAL)
    return False


class Plan:
    """The plan, put together from the calls of the tools that keep it."""

    def __init__(self) -> None:
        self._tasks: dict[str, PlanEntry] = {}

    def asked(self, name: str, arguments: Mapping[str, object]) -> list[InnerEvent]:
        """Return the plan that a call holds as a whole."""
        if name != "TodoWrite":
            return []
        todos = [as_object(todo) for todo in as_list(arguments.get("todos"))]
        entries = [PlanEntry(text_of(todo, "content"), text_of(todo, "status")) for todo in todos]
        return [PlanChanged(tuple(entry for entry in entries if entry.content))]

    def done(self, name: str, arguments: Mapping[str, object], told: object) -> list[InnerEvent]:
        """Return the plan after a call that added or changed one task."""
        if name == "TaskCreate":
            task = as_object(as_object(told).get("task"))
            number, subject = text_of(task, "id"), text_of(task, "subject")
            if number and len(self._tasks) < _MOST_TASKS:
                subject = subject or text_of(arguments, "subject")
                self._tasks[number] = PlanEntry(subject, "pending")
        elif name == "TaskUpdate":
            self._update(text_of(arguments, "taskId"), arguments)
        else:
            return []
        return [PlanChanged(tuple(self._tasks.values()))]

    def _update(self, number: str, arguments: Mapping[str, object]) -> None:
        entry = self._tasks.get(number)
        if entry is None:
            return
        status = text_of(arguments, "status") or entry.status
        subject = text_of(arguments, "subject") or entry.content
        if status == "deleted":
            del self._tasks[number]
        else:
            self._tasks[number] = PlanEntry(subject, status)
