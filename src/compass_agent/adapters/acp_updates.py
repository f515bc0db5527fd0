"""What the messages of the Agent Client Protocol mean, as the JSON that is on the wire."""

from __future__ import annotations

__all__ = ("UpdateReader", "texts_of")

from typing import TYPE_CHECKING

from compass_agent.adapters.failures import failure_of
from compass_agent.adapters.objects import text_of
from compass_agent.adapters.sdk_stream import StreamRun, is_kind
from compass_agent.adapters.texts import excerpt
from compass_agent.errors.failure import describe_failure
from compass_agent.errors.foreign import attribute, said
from compass_agent.errors.shapes import as_list, as_object, is_list, is_object, valid_text
from compass_agent.events.classes import (
    Failure,
    InnerEvent,
    MessageStarted,
    Noticed,
    PlanChanged,
    PlanEntry,
    ToolUpdated,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_STOPPED = "Stopped by the client"
_UNANSWERED = "Stopped by the client; the agent did not answer"
_REASONS = {
    "max_turn_requests": "The agent made as many requests as one turn may make",
    "refusal": "The agent refused to go on",
}
_SILENT = frozenset(
    {"available_commands_update", "config_option_update", "session_info_update", "usage_update"}
)
_INTERNAL = "Internal error"
_WITHIN = ("error", "details", "data", "cause")
_UNSAID = "No reason was given"


class UpdateReader(StreamRun):
    """Turns the messages of one turn into inner events; an item is the `update` of a message.

    Args:
        prompt: The texts of the prompt that begins the turn.
        secrets: Values that must not appear in failures and notices.
    """

    def __init__(self, prompt: Iterable[str], secrets: Iterable[str] = ()) -> None:
        super().__init__(secrets)
        self._prompt = tuple(prompt)
        self._message_id = ""
        self._contents: dict[str, object] = {}
        self._asked: dict[object, str] = {}
        self.cancelled = False

    def begin(self) -> list[InnerEvent]:
        """Return the events of a turn that begins: its prompt."""
        text = "\n".join(self._prompt)
        return [*self._begin(), MessageStarted("user", text=valid_text(text))]

    def asked(self, key: object, params: Mapping[str, object]) -> list[InnerEvent]:
        """Return the events of a request for permission.

        Args:
            key: The request's id.
            params: What it says.
        """
        tool = as_object(params.get("toolCall"))
        call = text_of(tool, "toolCallId")
        title = excerpt(text_of(tool, "title") or self._tools.get(call) or call, self._secrets)
        self._asked[key] = f"{title} ({call})" if call else title
        return [Noticed(f"Asks for permission: {self._asked[key]}")]

    def answered(self, key: object, result: Mapping[str, object]) -> list[InnerEvent]:
        """Return the events of the answer to a request for permission."""
        title = self._asked.pop(key, None)
        if title is None:
            return []
        outcome = as_object(result.get("outcome"))
        if text_of(outcome, "outcome") == "selected":
            return [Noticed(f"Answered with {text_of(outcome, 'optionId')}: {title}")]
        return [_withdrawn(title)]

    def finish(self, reason: str) -> list[InnerEvent]:
        """Return the end of a turn that the agent ended, with its reason."""
        match reason:
            case "cancelled":
                return self._stopped(_STOPPED)
            case "end_turn":
                return self._cleaned(self._succeed())
            case "max_tokens":
                return self._cleaned([*self._end_message("length"), *self._succeed()])
            case _:
                text = _REASONS.get(reason) or f"The turn ended: {reason.replace('_', ' ')}"
                return self._fail(Failure(aborted=False, message=text, code=reason))

    def late(self) -> list[InnerEvent]:
        """Return the end of a turn whose agent was asked to stop and says nothing."""
        return self._stopped(_UNANSWERED)

    def fail(self, error: Exception) -> list[InnerEvent]:
        """The agent's own error holds what the exception's text does not."""
        if self.cancelled:
            return self._stopped(_STOPPED)
        if not is_kind(error, "RequestError"):
            return self._flushed()
        return self._fail(_failure_of(error, self._secrets))

    def withdrawn(self) -> list[InnerEvent]:
        """Return the end of the requests for permission that are open: nobody answers them."""
        withdrawn: list[InnerEvent] = [_withdrawn(title) for title in self._asked.values()]
        self._asked.clear()
        return withdrawn

    def _stopped(self, text: str) -> list[InnerEvent]:
        return self._fail(Failure(aborted=True, message=text))

    def _item(self, item: object) -> list[InnerEvent]:
        value = as_object(item)
        match text_of(value, "sessionUpdate"):
            case "agent_message_chunk":
                return self._chunk(value, thinking=False)
            case "agent_thought_chunk":
                return self._chunk(value, thinking=True)
            case "user_message_chunk":
                return self._said(text_of(as_object(value.get("content")), "text"))
            case "tool_call" | "tool_call_update":
                return self._tool(value)
            case "plan":
                return _plan(value)
            case "plan_update":
                return _plan(as_object(value.get("plan")))
            case "plan_removed":
                return [PlanChanged(())]
            case "current_mode_update":
                return [Noticed(f"The mode is now {text_of(value, 'currentModeId')}")]
            case kind if kind in _SILENT:
                return []
            case kind:
                return [Noticed(f"An update is not known: {excerpt(kind, self._secrets)}")]

    def _chunk(self, value: Mapping[str, object], *, thinking: bool) -> list[InnerEvent]:
        text, name = _shown(as_object(value.get("content"))), text_of(value, "messageId")
        begun: list[InnerEvent] = []
        if name != self._message_id:
            self._message_id = name
            begun = self._end_message()
        return [*begun, *self._delta(text, thinking=thinking)] if text else begun

    def _said(self, text: str) -> list[InnerEvent]:
        """The prompt was told already; whatever else a user says was put into the turn."""
        if not text or text in self._prompt:
            return []
        ended = self._end_message()
        return [*ended, MessageStarted("user", text=valid_text(text), steering=True)]

    def _tool(self, value: Mapping[str, object]) -> list[InnerEvent]:
        call, status = text_of(value, "toolCallId"), text_of(value, "status")
        events: list[InnerEvent] = []
        if call not in self._tools:
            if text_of(value, "sessionUpdate") != "tool_call" and call in self._contents:
                return []  # it has ended
            title = " ".join(text_of(value, "title").split()) or call
            events = [*self._end_message("toolUse"), *self._start_tool(call, title, title)]
            self._contents[call] = None
        given = any(value.get(key) is not None for key in ("content", "rawOutput"))
        if given:
            self._contents[call] = _result(value)
        result = self._contents[call]
        if status in ("completed", "failed"):
            self._contents[call] = None
            return events + self._end_tool(call, result, failed=status == "failed")
        return [*events, ToolUpdated(call, result)] if given else events


def texts_of(blocks: object) -> list[str]:
    """Return the texts of a prompt's blocks, as JSON or as the SDK's objects."""
    texts: list[str] = []
    for block in as_list(blocks):
        text = block.get("text") if is_object(block) else attribute(block, "text")
        if isinstance(text, str) and text:
            texts.append(text)
    return texts


def _shown(block: Mapping[str, object]) -> str:
    """Return a block as text: what is no text is named."""
    kind = text_of(block, "type")
    if kind == "text":
        return text_of(block, "text")
    name = text_of(block, "title") or text_of(block, "name") or text_of(block, "uri")
    return f"[{kind}: {name}]" if name else f"[{kind}]"


def _result(value: Mapping[str, object]) -> object:
    """Return the output and the diffs of a call."""
    content = value.get("content")
    if not is_list(content) or not content:
        raw = value.get("rawOutput")
        return {"content": []} if raw is None else raw
    items = [as_object(item) for item in content]
    blocks = (as_object(item.get("content")) for item in items if item.get("type") == "content")
    diffs = [
        {key: item.get(key) for key in ("path", "oldText", "newText")}
        for item in items
        if item.get("type") == "diff"
    ]
    return {
        "content": [{"type": "text", "text": _shown(block)} for block in blocks],
        "details": {"perFileResults": diffs},
    }


def _plan(value: Mapping[str, object]) -> list[InnerEvent]:
    entries = value.get("entries")
    if not is_list(entries):
        return []
    found = (as_object(entry) for entry in entries)
    pairs = [PlanEntry(text_of(entry, "content"), text_of(entry, "status")) for entry in found]
    return [PlanChanged(tuple(pair for pair in pairs if pair.content))]


def _withdrawn(title: str) -> Noticed:
    return Noticed(f"The request for permission was withdrawn: {title}")


def _failure_of(error: Exception, secrets: Iterable[str]) -> Failure:
    data, text = attribute(error, "data"), said(error)
    fields = as_object(data)
    inner = data if isinstance(data, str) else ""
    for key in ("details", "message", "error"):
        inner = inner or text_of(fields, key)
    for key in _WITHIN if not inner else ():
        # An error within the data, as a provider gave it to the agent.
        found = failure_of(fields[key], secrets).message if is_object(fields.get(key)) else ""
        inner = inner or ("" if found.startswith(_UNSAID) else found)
    if inner and text == _INTERNAL:
        text = inner
    elif inner and inner not in text:
        text = f"{text}: {inner}"
    told = describe_failure(text, secrets)
    # What the data says in fields of its own counts more than what a text may mean.
    typed = describe_failure({**fields, "message": text}, secrets)
    wait = told.retry_after_s if typed.retry_after_s is None else typed.retry_after_s
    return Failure(
        aborted=False,
        message=told.message,
        status=told.status if typed.status is None else typed.status,
        retry_after_ms=None if wait is None else round(wait * 1000),
        code=typed.code or told.code or "",
        request_id=typed.request_id or told.request_id or "",
    )
