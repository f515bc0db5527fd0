"""Claude Code: the lines of `claude -p --output-format stream-json --verbose`.

With `--include-partial-messages` the words come as they are made; without, a block at a time.
"""

from __future__ import annotations

__all__ = ("Adapter",)

from typing import TYPE_CHECKING

from compass_agent.adapters.claude_failures import failure_of, has_failed, retry_of
from compass_agent.adapters.claude_tools import Plan, diff_of, was_refused
from compass_agent.adapters.lines import LARGEST_LINE
from compass_agent.adapters.objects import ObjectAdapter, number_of, text_of, title_of
from compass_agent.errors.shapes import as_list, as_object, is_object, valid_text
from compass_agent.events.classes import (
    Failure,
    InnerEvent,
    MessageStarted,
    Noticed,
    ToolUpdated,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_BEGAN_AGAIN = "The answer broke off and was begun again; the message before is not valid"
_FILTERED = "The provider's filter stopped the answer"
_REASONS = {
    "end_turn": "stop",
    "max_tokens": "length",
    "stop_sequence": "stop",
    "tool_use": "toolUse",
}
_TALK = frozenset(
    {
        "control_cancel_request",
        "control_request",
        "control_response",
        "keep_alive",
        "tool_progress",
        "tool_use_summary",
    }
)
_SILENT_NEWS = frozenset(
    {
        "files_persisted",
        "hook_progress",
        "hook_response",
        "hook_started",
        "session_state_changed",
        "status",
        "task_progress",
        "thinking_tokens",
    }
)


class Adapter(ObjectAdapter):
    """Turns the stream of one process into inner events. Never raises.

    The command tells a failed request as a message of its own making, then in the result; only the
    result says whether it was a stop. What was streamed and then made anew without streaming is
    told as a new message.
    """

    def __init__(
        self,
        secrets: Iterable[str] = (),
        *,
        largest_line: int = LARGEST_LINE,
        first_line: int = 1,
    ) -> None:
        super().__init__(secrets, largest_line=largest_line, first_line=first_line)
        self._plan = Plan()
        self._inputs: dict[str, Mapping[str, object]] = {}
        self._refused: dict[str, object] = {}
        # The text of each block of the message that is being streamed, by its index.
        self._streamed: dict[int, str] = {}
        self._block = -1
        self._message_id: str = ""
        self._reason = ""
        self._told_text = False
        self._synthetic: Mapping[str, object] | None = None

    def _object(self, value: Mapping[str, object], kind: str) -> list[InnerEvent] | None:
        handlers = {
            "assistant": self._assistant,
            "rate_limit_event": _rate_limit,
            "result": self._result,
            "stream_event": self._stream_event,
            "system": self._system,
            "user": self._user,
        }
        handler = handlers.get(kind)
        if handler is None:
            return [] if kind in _TALK else None
        return handler(value)

    def _left(self, *, stopped: bool) -> list[InnerEvent]:
        said = self._synthetic
        return [] if stopped or said is None else self._fail(failure_of({}, said))

    def _system(self, value: Mapping[str, object]) -> list[InnerEvent] | None:
        match text_of(value, "subtype"):
            case "init":
                return self._begin()
            case "api_retry":
                return self._retrying(retry_of(value))
            case "compact_boundary":
                return [Noticed("The context was compacted")]
            case subtype if subtype in _SILENT_NEWS:
                return []
            case subtype:
                said = text_of(value, "summary") or text_of(value, "description")
                return [Noticed(f"{subtype.replace('_', ' ')}: {said}")] if said else None

    # Words as they are made.

    def _stream_event(self, value: Mapping[str, object]) -> list[InnerEvent]:
        event = as_object(value.get("event"))
        if value.get("parent_tool_use_id") is not None:
            return []
        match text_of(event, "type"):
            case "message_start":
                self._streamed, self._block, self._reason = {}, -1, ""
                self._message_id = text_of(as_object(event.get("message")), "id")
                return [*self._closed_refusals(), *self._start_message()]
            case "content_block_start":
                self._block = _index(event)
                block = as_object(event.get("content_block"))
                return self._piece(text_of(block, "text"))
            case "content_block_delta":
                self._block = _index(event)
                delta = as_object(event.get("delta"))
                if text := text_of(delta, "thinking"):
                    return self._piece(text, thinking=True)
                return self._piece(text_of(delta, "text"))
            case "message_delta":
                self._reason = text_of(as_object(event.get("delta")), "stop_reason")
                return []
            case "message_stop":
                return self._stopped(value)
            case _:
                return []

    def _piece(self, text: str, *, thinking: bool = False) -> list[InnerEvent]:
        if not text:
            return []
        self._synthetic = None
        self._streamed[self._block] = self._streamed.get(self._block, "") + text
        self._told_text = self._told_text or not thinking
        return self._delta(text, self._block, thinking=thinking)

    def _stopped(self, value: Mapping[str, object]) -> list[InnerEvent]:
        first = number_of(as_object(value.get("abandoned_blocks")), "from_block_index")
        ended = self._end_message(_REASONS.get(self._reason, self._reason or "stop"))
        if first is not None and any(index >= first for index in self._streamed):
            self._streamed = {}
            return [*ended, Noticed("The answer broke off")]
        return ended

    # Whole messages.

    def _assistant(self, value: Mapping[str, object]) -> list[InnerEvent]:
        message = as_object(value.get("message"))
        parent = value.get("parent_tool_use_id")
        within = isinstance(parent, str)
        failed = text_of(message, "model") == "<synthetic>" or bool(text_of(value, "error"))
        if failed and not within:
            self._synthetic = value
            return self._begin()
        # A failed request of an agent within is that one's output: the run goes on.
        events: list[InnerEvent] = [] if within else self._of_message(message)
        for block in as_list(message.get("content")):
            events += self._whole(as_object(block), parent if isinstance(parent, str) else "")
        return events

    def _of_message(self, message: Mapping[str, object]) -> list[InnerEvent]:
        """A block of a message that was not streamed begins it, unless it goes on."""
        name = text_of(message, "id")
        if name == self._message_id and (self._message_open or self._streamed):
            return []
        self._message_id, self._streamed, self._block = name, {}, -1
        self._synthetic = None
        return [*self._closed_refusals(), *self._start_message()]

    def _whole(self, block: Mapping[str, object], parent: str) -> list[InnerEvent]:
        kind = text_of(block, "type")
        if kind == "tool_use" or kind.endswith("_tool_use"):
            self._synthetic = self._synthetic if parent else None
            return self._tool_use(block)
        if kind not in ("text", "thinking"):
            return []
        text = text_of(block, kind)
        if parent:
            return [ToolUpdated(parent, text)] if kind == "text" else []
        return self._rest(text, thinking=kind == "thinking")

    def _rest(self, text: str, *, thinking: bool) -> list[InnerEvent]:
        """What of a whole block was not streamed; when it is another text, all of it, anew."""
        if text in self._streamed.values():
            return []
        before = self._streamed.get(self._block, "")
        if before and not text.startswith(before):
            began = [Noticed(_BEGAN_AGAIN), *self._start_message()]
            self._streamed, before = {}, ""
        else:
            began = []
        self._block += 0 if before else 1
        return began + self._piece(text[len(before) :], thinking=thinking)

    def _tool_use(self, block: Mapping[str, object]) -> list[InnerEvent]:
        call, name = text_of(block, "id"), text_of(block, "name")
        arguments = as_object(block.get("input"))
        self._inputs[call] = arguments
        events = self._start_tool(call, name, title_of(name, arguments))
        return events + self._plan.asked(name, arguments)

    def _user(self, value: Mapping[str, object]) -> list[InnerEvent]:
        content = as_object(value.get("message")).get("content")
        events: list[InnerEvent] = []
        for block in as_list(content):
            if text_of(as_object(block), "type") == "tool_result":
                events += self._tool_result(as_object(block), value)
        if value.get("isReplay") is True and not events:
            texts = [text_of(as_object(block), "text") for block in as_list(content)]
            text = content if isinstance(content, str) else "\n".join(filter(None, texts))
            ended = self._end_message()
            events = [*ended, *self._begin(), MessageStarted("user", text=valid_text(text))]
        return events

    def _tool_result(
        self, block: Mapping[str, object], line: Mapping[str, object]
    ) -> list[InnerEvent]:
        call, failed = text_of(block, "tool_use_id"), block.get("is_error") is True
        told, arguments = line.get("tool_use_result"), self._inputs.pop(call, {})
        result: dict[str, object] = {"content": block.get("content")}
        if failed and was_refused(call, line):
            # A stop looks like a refusal; only the end of the run tells them apart.
            self._refused[call] = result
            return []
        if not failed and is_object(told) and (diff := diff_of(told)) is not None:
            result["details"] = diff
        name = self._tools.get(call, "")
        planned = [] if failed else self._plan.done(name, arguments, told)
        return self._end_message("toolUse") + self._end_tool(call, result, failed=failed) + planned

    def _closed_refusals(self) -> list[InnerEvent]:
        refused, self._refused = self._refused, {}
        return [
            event
            for call, result in refused.items()
            for event in self._end_tool(call, result, failed=True)
        ]

    def _result(self, value: Mapping[str, object]) -> list[InnerEvent]:
        said, self._synthetic = self._synthetic, None
        told_text, self._told_text = self._told_text, False
        begun = self._begin()
        if has_failed(value, said):
            failure = failure_of(value, said or {})
            refusals = [] if failure.aborted else self._closed_refusals()
            self._refused.clear()
            return [*begun, *refusals, *self._fail(failure)]
        events = [*begun, *self._closed_refusals()]
        text = text_of(value, "result")
        if text and not told_text:
            events += [*self._start_message(), *self._delta(text)]
        reason = text_of(value, "stop_reason")
        if reason == "refusal":
            return events + self._fail(Failure(aborted=False, message=_FILTERED, code=reason))
        ended = self._end_message(_REASONS.get(reason, "stop"))
        return [*events, *ended, *self._succeed()]


def _index(event: Mapping[str, object]) -> int:
    index = number_of(event, "index")
    return 0 if index is None else index


def _rate_limit(value: Mapping[str, object]) -> list[InnerEvent]:
    info = as_object(value.get("rate_limit_info"))
    status = text_of(info, "status")
    if status in ("", "allowed"):
        return []
    kind = text_of(info, "rateLimitType").replace("_", " ")
    return [Noticed(f"Rate limit{f' ({kind})' if kind else ''}: {status.replace('_', ' ')}")]
