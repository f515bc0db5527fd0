"""Gemini CLI: the lines of `gemini --output-format stream-json`."""

from __future__ import annotations

__all__ = ("Adapter",)

import re
from typing import TYPE_CHECKING

from compass_agent.adapters.lines import LARGEST_LINE
from compass_agent.adapters.objects import ObjectAdapter, text_of, title_of
from compass_agent.errors.shapes import as_list, as_object, valid_text
from compass_agent.events.classes import (
    Failure,
    InnerEvent,
    MessageStarted,
    Noticed,
    PlanChanged,
    PlanEntry,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

# What the command puts around a provider's text.
_WRAPPED = re.compile(r"^\[API Error: (?P<text>.*)\](?P<advice>\n[^\]]*)?$", re.DOTALL)
_WAIT = re.compile(r"\n?Suggested retry after (?P<seconds>[0-9.]{1,12})s\.?$")
# The advice that it adds to a rate limit, and to nothing else.
_LIMITED = "try again later. To increase your limits"
_TOO_MANY_REQUESTS = 429
_CANCELLED = "FatalCancellationError"
_ENDED_EARLY = "The run ended as failed, without a reason"
_SECOND_MS = 1000


class Adapter(ObjectAdapter):
    """Turns the stream of one run into inner events. Never raises.

    An `error` line is the reason of the failed `result` that follows it, unless the run goes on.
    """

    def __init__(
        self,
        secrets: Iterable[str] = (),
        *,
        largest_line: int = LARGEST_LINE,
        first_line: int = 1,
    ) -> None:
        super().__init__(secrets, largest_line=largest_line, first_line=first_line)
        self._calls: dict[str, Mapping[str, object]] = {}
        self._error = ""

    def _object(self, value: Mapping[str, object], kind: str) -> list[InnerEvent] | None:
        if kind == "error":
            return self._warned(value)
        if kind == "result":
            return self._result(value)
        handlers = {
            "message": self._message,
            "tool_use": self._tool_use,
            "tool_result": self._tool_result,
        }
        if kind == "init":
            return [*self._took_back(), *self._begin()]
        handler = handlers.get(kind)
        return None if handler is None else [*self._took_back(), *handler(value)]

    def _left(self, *, stopped: bool) -> list[InnerEvent]:
        return [] if stopped or not self._error else self._failed(self._error)

    def _took_back(self) -> list[InnerEvent]:
        """The run goes on, so what was called an error ended nothing."""
        error, self._error = self._error, ""
        return [Noticed(error)] if error else []

    def _message(self, value: Mapping[str, object]) -> list[InnerEvent]:
        text = text_of(value, "content")
        if text_of(value, "role") == "user":
            ended = self._end_message()
            return [*ended, *self._begin(), MessageStarted("user", text=valid_text(text))]
        if value.get("delta") is True:
            return self._delta(text)
        return [*self._start_message(), *self._delta(text), *self._end_message()]

    def _tool_use(self, value: Mapping[str, object]) -> list[InnerEvent]:
        name, call = text_of(value, "tool_name"), text_of(value, "tool_id")
        arguments = as_object(value.get("parameters"))
        self._calls[call] = arguments
        return self._end_message("toolUse") + self._start_tool(
            call, name, title_of(name, arguments)
        )

    def _tool_result(self, value: Mapping[str, object]) -> list[InnerEvent]:
        call = text_of(value, "tool_id")
        name, arguments = self._tools.get(call, ""), self._calls.pop(call, {})
        failed = text_of(value, "status") == "error"
        error = text_of(as_object(value.get("error")), "message")
        output = (error if failed else "") or text_of(value, "output")
        result: dict[str, object] = {"content": output}
        if not failed and name == "replace":
            result["details"] = {
                "path": arguments.get("file_path"),
                "oldText": arguments.get("old_string"),
                "newText": arguments.get("new_string"),
            }
        events = self._end_tool(call, result, failed=failed)
        if not failed and name == "write_todos":
            events.append(PlanChanged(tuple(_plan(arguments))))
        return events

    def _warned(self, value: Mapping[str, object]) -> list[InnerEvent]:
        text = text_of(value, "message")
        before = self._took_back()
        if text_of(value, "severity") == "warning":
            return [*before, Noticed(text)]
        self._error = text
        return before

    def _result(self, value: Mapping[str, object]) -> list[InnerEvent]:
        error = as_object(value.get("error"))
        text = text_of(error, "message") or self._error
        if text_of(value, "status") == "success" and not text:
            return self._succeed()
        return self._failed(text or _ENDED_EARLY, text_of(error, "type"))

    def _failed(self, text: str, kind: str = "") -> list[InnerEvent]:
        self._error = ""
        return self._fail(_failure(text, kind))


def _failure(text: str, kind: str) -> Failure:
    """Return what a failure says without what the command wrapped around it."""
    found = _WRAPPED.match(text.strip())
    inner, advice = (found["text"], found["advice"] or "") if found else (text, "")
    wait = _WAIT.search(inner)
    if wait is not None:
        inner = inner[: wait.start()]
    return Failure(
        aborted=kind == _CANCELLED,
        message=inner,
        status=_TOO_MANY_REQUESTS if _LIMITED in advice or wait is not None else None,
        retry_after_ms=None if wait is None else _milliseconds(wait["seconds"]),
        code="" if kind in ("unknown", "Error") else kind,
    )


def _milliseconds(seconds: str) -> int | None:
    try:
        return round(float(seconds) * _SECOND_MS)
    except (ValueError, OverflowError):
        return None


def _plan(arguments: Mapping[str, object]) -> Iterable[PlanEntry]:
    for todo in as_list(arguments.get("todos")):
        item = as_object(todo)
        if text := text_of(item, "description"):
            status = text_of(item, "status")
            yield PlanEntry(text, "abandoned" if status == "cancelled" else status)
