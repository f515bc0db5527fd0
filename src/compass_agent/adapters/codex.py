"""Codex CLI: the lines of `codex exec --json`.

Its texts come whole, an item at a time; where an item is told while it grows, only what is new is
passed on.
"""

from __future__ import annotations

__all__ = ("Adapter",)

import re
from typing import TYPE_CHECKING

from compass_agent.adapters.lines import LARGEST_LINE
from compass_agent.adapters.objects import ObjectAdapter, text_of, title_of
from compass_agent.errors.shapes import as_list, as_object, is_object
from compass_agent.events.classes import (
    Failure,
    InnerEvent,
    Noticed,
    PlanChanged,
    PlanEntry,
    RetryScheduled,
    ToolUpdated,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_RETRY = re.compile(
    r"Reconnecting\.\.\. (?P<attempt>\d{1,4})/(?P<attempts>\d{1,4})(?: \((?P<why>.*)\))?\Z",
    re.DOTALL,
)
_STATUS = re.compile(r"(?:last status|unexpected status):? (?P<status>[1-5]\d\d)\b")
_UNEXPECTED = re.compile(
    r"unexpected status \d{3}[^:]{0,60}: (?P<body>.*?)(?:, url: \S+)?(?:, cf-ray: \S+)?"
    r"(?:, request id: (?P<id>[\w-]{1,80}))?\Z",
    re.DOTALL,
)
_REQUEST = re.compile(r",? request id: (?P<id>[\w-]{1,80})\Z")
_SHELL = re.compile(
    r"\A(?:\S*/)?(?:ba|z|da)?sh -l?c (?P<quote>['\"])(?P<command>.*)(?P=quote)\Z", re.DOTALL
)
_NO_REASON = "The turn failed, without a reason"
_FAILED = frozenset({"failed", "declined", "error"})
_TALK = frozenset({"thread.started"})


class Adapter(ObjectAdapter):
    """Turns the stream of one run into inner events. Never raises.

    An `error` line is told by the `turn.failed` that follows it; when none follows, by itself.
    """

    def __init__(
        self,
        secrets: Iterable[str] = (),
        *,
        largest_line: int = LARGEST_LINE,
        first_line: int = 1,
    ) -> None:
        super().__init__(secrets, largest_line=largest_line, first_line=first_line)
        self._texts: dict[str, str] = {}
        self._error = ""

    def _object(self, value: Mapping[str, object], kind: str) -> list[InnerEvent] | None:
        if kind in _TALK:
            return []
        if kind == "error":
            return self._warned(text_of(value, "message"))
        if kind == "turn.failed":
            said = text_of(as_object(value.get("error")), "message")
            return self._failed(said or self._error)
        item = value.get("item")
        if kind.startswith("item.") and is_object(item):
            told = self._item(item, done=kind == "item.completed")
            return None if told is None else [*self._took_back(), *told]
        if kind == "turn.started":
            return [*self._took_back(), *self._begin()]
        if kind == "turn.completed":
            return [*self._took_back(), *self._succeed()]
        return None

    def _left(self, *, stopped: bool) -> list[InnerEvent]:
        return [] if stopped or not self._error else self._failed(self._error)

    def _took_back(self) -> list[InnerEvent]:
        """The turn goes on, so what was called an error ended nothing."""
        error, self._error = self._error, ""
        return [Noticed(error)] if error else []

    def _warned(self, text: str) -> list[InnerEvent]:
        before = self._took_back()
        retry = _RETRY.match(text)
        if retry is None:
            self._error = text
            return before
        scheduled = RetryScheduled(
            attempt=int(retry["attempt"]),
            attempts=int(retry["attempts"]),
            delay_ms=None,
            reason=_failure(retry["why"] or "").message,
        )
        return [*before, *self._retrying(scheduled)]

    def _failed(self, text: str) -> list[InnerEvent]:
        self._error = ""
        return self._fail(_failure(text or _NO_REASON))

    def _item(self, item: Mapping[str, object], *, done: bool) -> list[InnerEvent] | None:
        kind = text_of(item, "type")
        if kind in ("agent_message", "reasoning", "plan"):
            return self._text(item, kind, done=done)
        if kind == "error":
            return [Noticed(text_of(item, "message"))]
        if kind == "todo_list":
            return [*self._begin(), PlanChanged(tuple(_plan(item)))]
        read = _TOOLS.get(kind)
        if read is None:
            return None
        title, result = read(item)
        return self._tool(item, title, result, done=done)

    def _text(self, item: Mapping[str, object], kind: str, *, done: bool) -> list[InnerEvent]:
        """A text that may have been told in part: its rest."""
        name, text = text_of(item, "id"), text_of(item, "text")
        before = self._texts.get(name)
        begun = self._start_message() if before is None else []
        self._texts[name] = text
        new = text.removeprefix(before or "")
        told = self._delta(new, thinking=kind == "reasoning") if new else []
        if not done:
            return begun + told
        del self._texts[name]
        return [*begun, *told, *self._end_message("stop" if kind == "agent_message" else "toolUse")]

    def _tool(
        self, item: Mapping[str, object], title: str, result: object, *, done: bool
    ) -> list[InnerEvent]:
        call, known = text_of(item, "id"), text_of(item, "id") in self._tools
        events: list[InnerEvent] = []
        if not known:
            events += self._end_message("toolUse")
            events += self._start_tool(call, text_of(item, "type"), title)
        if done:
            exit_code = item.get("exit_code")
            failed = text_of(item, "status") in _FAILED or (
                isinstance(exit_code, int) and exit_code != 0
            )
            return events + self._end_tool(call, result, failed=failed)
        return [*events, ToolUpdated(call, result)] if known else events


def _failure(text: str) -> Failure:
    """Return what a failure says without what the command wrapped around it."""
    text = text.strip()
    status = _STATUS.search(text)
    found = _UNEXPECTED.match(text) or _REQUEST.search(text)
    message = text
    if found is not None:
        message = found.groupdict().get("body") or text[: found.start()]
    return Failure(
        aborted=False,
        message=message or text,
        status=None if status is None else int(status["status"]),
        request_id=(found["id"] or "") if found is not None else "",
    )


def _plan(item: Mapping[str, object]) -> Iterable[PlanEntry]:
    for entry in as_list(item.get("items")):
        step = as_object(entry)
        done = step.get("completed") is True
        if text := text_of(step, "text"):
            yield PlanEntry(text, "completed" if done else text_of(step, "status") or "pending")


def _command(item: Mapping[str, object]) -> tuple[str, object]:
    command = text_of(item, "command")
    inner = _SHELL.match(command)
    title = title_of("Run", {"command": inner["command"] if inner else command})
    return title, text_of(item, "aggregated_output")


def _file_change(item: Mapping[str, object]) -> tuple[str, object]:
    changes = [as_object(change) for change in as_list(item.get("changes"))]
    told = [f"{text_of(change, 'kind')} {text_of(change, 'path')}".strip() for change in changes]
    return title_of("Change files", {"path": ", ".join(told)}), "\n".join(told)


def _mcp_call(item: Mapping[str, object]) -> tuple[str, object]:
    name = ".".join(filter(None, (text_of(item, "server"), text_of(item, "tool"))))
    error = text_of(as_object(item.get("error")), "message")
    result: object = error or item.get("result")
    return title_of(name, as_object(item.get("arguments"))), result


def _search(item: Mapping[str, object]) -> tuple[str, object]:
    return title_of("Search the web", item), ""


def _collab(item: Mapping[str, object]) -> tuple[str, object]:
    return title_of(text_of(item, "tool") or "collab", item), item.get("agents_states")


_TOOLS = {
    "collab_tool_call": _collab,
    "command_execution": _command,
    "file_change": _file_change,
    "mcp_tool_call": _mcp_call,
    "web_search": _search,
}
