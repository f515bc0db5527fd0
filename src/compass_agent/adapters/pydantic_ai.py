"""pydantic-ai: the events of a run of an agent.

await session.drive(events(agent.run_stream_events("…")))
"""

from __future__ import annotations

__all__ = ("Adapter", "events")

from typing import TYPE_CHECKING

from compass_agent.adapters.fields import (
    arguments_of,
    entries,
    name_of,
    number,
    part,
    plain,
    text,
)
from compass_agent.adapters.objects import title_of
from compass_agent.adapters.sdk_stream import StreamRun, run_events
from compass_agent.adapters.telling import CUT_OFF, FAILED_ENDS, PROVIDER_FAILED
from compass_agent.errors.foreign import class_names, own_text
from compass_agent.errors.shapes import is_object
from compass_agent.events.classes import Failure, InnerEvent, MessageStarted, Noticed, ToolUpdated
from compass_agent.events.readable import readable_text

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable

    from compass_agent.adapters.sources import Source

# What a run says to its host alone.
_SILENT = frozenset(
    {
        "capability_load_delta",
        "deferred_tool_results",
        "final_result",
        "model_settings_delta",
        "tool_availability_delta",
    }
)
_FILTERED = "The provider's filter stopped the answer"
_HANDED_OVER = "Handed over to the host"
# They keep no reason of the provider's own, or have none.
_NO_REASONS = frozenset({"snowflake", "xai"})
# What a custom event has beside its own fields.
_ENVELOPE = frozenset({"event_kind", "name", "tool_call_id", "tool_name"})


class Adapter(StreamRun):
    """Turns the events of one run into inner events. Never raises.

    Args:
        secrets: Values that must not appear in failures and notices.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        super().__init__(secrets)
        self._deferred: list[str] = []

    def _item(self, item: object) -> list[InnerEvent] | None:
        kind = text(item, "event_kind")
        match kind:
            case "part_start":
                return self._part_begun(part(item, "part"), number(item, "index"))
            case "part_delta":
                return self._part_grown(part(item, "delta"), number(item, "index"))
            case "part_end":
                return self._part_over(part(item, "part"))
            case "function_tool_call" | "output_tool_call":
                return [*self._end_message("toolUse"), *self._called(part(item, "part"))]
            case "function_tool_result" | "output_tool_result":
                return self._returned(part(item, "part"))
            case "agent_run_result":
                left = [call for call in self._deferred if call in self._tools]
                ended = [self._end_tool(call, _HANDED_OVER, failed=False) for call in left]
                over = self._over(part(part(item, "result"), "response"))
                return [*(event for events in ended for event in events), *over]
            case _:
                return self._aside(item, kind)

    def _over(self, response: object) -> list[InnerEvent]:
        """The run has its result; `response`: its last answer."""
        reason = text(response, "finish_reason")
        if reason == "content_filter":
            return self._fail(Failure(aborted=False, message=_FILTERED, code=reason))
        own = text(response, "provider_details", "finish_reason")
        if reason == "error" or own in FAILED_ENDS:
            code = own or reason
            return self._fail(Failure(aborted=False, message=PROVIDER_FAILED, code=code))
        if _was_cut(response):
            return self._fail(CUT_OFF)
        ended = self._end_message("length") if reason == "length" else []
        return [*ended, *self._succeed()]

    def _aside(self, item: object, kind: str) -> list[InnerEvent] | None:
        match kind:
            case "enqueued_messages":
                said = _prompt_of(item)
                return [*self._end_message(), MessageStarted("user", text=said, steering=True)]
            case "deferred_tool_requests":
                return self._waits(part(item, "requests"))
            case "custom":
                return self._custom(item)
            case _:
                return [] if kind in _SILENT else None

    def _part_begun(self, block: object, index: int) -> list[InnerEvent]:
        # Parts are counted anew with each answer of the model.
        begun = self._start_message() if not index or not self._message_open else []
        content = text(block, "content")
        match text(block, "part_kind"):
            case "text" | "thinking" as kind if content:
                return [*begun, *self._delta(content, index, thinking=kind == "thinking")]
            case "builtin-tool-return":
                return [*begun, *self._returned(block)]
            case _:
                return begun

    def _part_grown(self, delta: object, index: int) -> list[InnerEvent]:
        kind, said = text(delta, "part_delta_kind"), text(delta, "content_delta")
        if kind not in ("text", "thinking") or not said:
            return []
        return self._delta(said, index, thinking=kind == "thinking")

    def _part_over(self, block: object) -> list[InnerEvent]:
        return self._called(block) if text(block, "part_kind") == "builtin-tool-call" else []

    def _called(self, call: object) -> list[InnerEvent]:
        name = text(call, "tool_name") or "tool"
        title = title_of(name, arguments_of(part(call, "args")))
        return self._start_tool(text(call, "tool_call_id"), name, title)

    def _returned(self, result: object) -> list[InnerEvent]:
        content = plain(part(result, "content"))
        details = part(result, "metadata")
        failed = text(result, "part_kind") == "retry-prompt"
        failed = failed or text(result, "outcome") not in ("", "success")
        if is_object(details):
            content = {"text": readable_text(content), "details": details}
        return self._end_tool(text(result, "tool_call_id"), content, failed=failed)

    def _waits(self, requests: object) -> list[InnerEvent]:
        asked, calls = entries(requests, "approvals"), entries(requests, "calls")
        self._deferred += [text(call, "tool_call_id") for call in (*asked, *calls)]
        names = ", ".join(text(call, "tool_name") for call in asked or calls)
        return [Noticed(f"Waits for {'an approval' if asked else 'the host'}: {names}")]

    def _custom(self, item: object) -> list[InnerEvent]:
        name, call = text(item, "name") or name_of(item), text(item, "tool_call_id")
        fields = plain(item)
        told = {
            key: value
            for key, value in (fields.items() if is_object(fields) else ())
            if key not in _ENVELOPE
        }
        said = f"{name}: {readable_text(told)}" if told else name
        return [ToolUpdated(call, said)] if call in self._tools else [Noticed(said)]

    def fail(self, error: Exception) -> list[InnerEvent]:
        """Return the events of a run that its own host cancelled; none when `error` is no such."""
        names = class_names(error)
        # A run's own time limit is a cancellation, too, but nobody asked for that one.
        if "RunCancelled" not in names or "RunTimedOut" in names:
            return []
        return self._fail(Failure(aborted=True, message=own_text(error).strip()))


def _was_cut(response: object) -> bool:
    """Tell whether a provider's answer did not say why it ended: its connection was closed."""
    if text(response, "provider_details", "finish_reason"):
        return False
    if not text(response, "provider_response_id"):
        return False  # a model of the host's own has no ends to tell
    # Where Chat Completions end without a reason, the SDK puts in one of these.
    made_up = text(response, "finish_reason") in ("", "stop", "tool_call")
    return made_up and text(response, "provider_name") not in _NO_REASONS


def _prompt_of(item: object) -> str:
    messages = [found for one in entries(item, "messages") for found in entries(one, "parts")]
    found = [part(one, "content") for one in messages or entries(item, "parts")]
    return "\n".join(readable_text(plain(content)) for content in found)


def events(source: Source, secrets: Iterable[str] = ()) -> AsyncGenerator[InnerEvent, None]:
    """Return the events of a run, as they come.

    Args:
        source: What `agent.run_stream_events(…)` gives, entered or not, or any other stream of the
            run's events that ends with its result.
        secrets: Values that must not appear in failures and notices.

    Raises:
        BaseException: What the run raises, the same object.
    """
    return run_events(Adapter(secrets), source)
