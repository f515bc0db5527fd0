"""openai-agents: the events of a streamed run.

await session.drive(events(Runner.run_streamed(agent, "…")))
"""

from __future__ import annotations

__all__ = ("Adapter", "StreamedRun", "events")

from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Protocol

from compass_agent.adapters.fields import arguments_of, entries, part, plain, text
from compass_agent.adapters.objects import title_of
from compass_agent.adapters.openai_responses import ResponseEvents, is_response_event
from compass_agent.adapters.sdk_run import SdkRun
from compass_agent.adapters.sources import items_of
from compass_agent.events.classes import Failure, InnerEvent, Noticed, RetryScheduled

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable

    from compass_agent.adapters.provider_run import ToolCall

_HANDED_OVER = "Handed over to the host"
_CUT = frozenset({"length", "max_output_tokens"})
# Items that say as a whole what came in pieces, or that only the host needs.
_SILENT = frozenset(
    {
        *("mcp_approval_response", "mcp_list_tools", "message_output_created"),
        *("reasoning_item_created", "tool_search_called", "tool_search_output_created"),
    }
)


class StreamedRun(Protocol):
    """What `Runner.run_streamed` returns."""

    def stream_events(self) -> Any:
        """Return the stream of the run's events."""
        ...

    def cancel(self) -> None:
        """Stop the run."""
        ...


class Adapter(SdkRun, ResponseEvents):
    """Turns the events of one run into inner events. Never raises.

    Args:
        secrets: Values that must not appear in failures and notices.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        super().__init__(secrets)
        self._agent = ""
        self._seen: set[str] = set()
        self._asks = False
        self._held: Failure | None = None

    def _item(self, item: object) -> list[InnerEvent] | None:
        match text(item, "type"):
            case "raw_response_event":
                return self._raw(part(item, "data"))
            case "run_item_stream_event":
                return self._run_item(part(item, "item"), text(item, "name"))
            case "agent_updated_stream_event":
                return self._agent_changed(text(item, "new_agent", "name"))
            case _:
                return None

    def _raw(self, data: object) -> list[InnerEvent] | None:
        if not is_response_event(data):
            return None
        begun = self._took_back()
        if text(data, "type") == "response.created":
            self._asks = False
            begun += self._start_message()
        return [*begun, *self._event(data)]

    def _run_item(self, item: object, name: str) -> list[InnerEvent] | None:
        raw = part(item, "raw_item")
        call = text(raw, "call_id") or text(raw, "id")
        match name:
            case "tool_called" | "handoff_requested":
                title = text(raw, "name") or text(raw, "type").removesuffix("_call")
                return self._called(
                    call, title, title_of(title, arguments_of(part(raw, "arguments")))
                )
            case "tool_output":
                return self._end_tool(call, plain(part(item, "output")), failed=False)
            case "handoff_occured":
                target = text(item, "target_agent", "name")
                return self._end_tool(call, f"Handed over to {target}", failed=False)
            case "mcp_approval_requested":
                return [Noticed(f"{text(raw, 'name') or 'A tool'} waits for an approval")]
            case _:
                return [] if name in _SILENT else None

    def _agent_changed(self, name: str) -> list[InnerEvent]:
        before, self._agent = self._agent, name
        return [Noticed(f"The agent is now {name}")] if before and name != before else []

    def _asked(self, call: ToolCall, *, torn: bool) -> list[InnerEvent]:
        del torn  # the SDK itself decides what it does with such a call, and tells that
        self._asks = True
        title = title_of(call.name, arguments_of(call.arguments))
        return self._called(call.tool_call_id, call.name, title)

    def _called(self, call: str, name: str, title: str) -> list[InnerEvent]:
        """A call is told by the model's answer and by the run: it begins with the first."""
        if call in self._seen:
            return []
        self._seen.add(call)
        return self._start_tool(call, name or "tool", title or "tool")

    def _added(self, item: object) -> list[InnerEvent]:
        begun = super()._added(item)
        if begun:
            # Only what began here: the id of a function's call may be its `call_id`, too.
            self._seen.add(text(item, "id"))
        return begun

    def _stopped(self, reason: str) -> list[InnerEvent]:
        if self._asks:
            return self._end_message("toolUse")
        return self._end_message("length" if reason in _CUT else "stop")

    def _fail(self, failure: Failure) -> list[InnerEvent]:
        """Hold back what an answer says of its failure: the SDK may try again, or raises it."""
        self._held = failure
        return []

    def _took_back(self) -> list[InnerEvent]:
        held, self._held = self._held, None
        if held is None:
            return []
        return self._retrying(RetryScheduled(0, 0, None, held.message))

    def broke(self) -> list[InnerEvent]:
        """Return the events of a run that raised: its failure, when the stream told more of it."""
        held, self._held = self._held, None
        return [] if held is None else super()._fail(held)

    def ended(self, result: object) -> list[InnerEvent]:
        """Return the events of a stream that ended normally.

        That is no success by itself: a run that its host cancelled ends like that, too.

        Args:
            result: Whose stream it was.
        """
        if self._held is not None:
            return self.broke()
        waiting = entries(result, "interruptions")
        if self._was_cancelled(result, waits=bool(waiting)):
            return super()._fail(Failure(aborted=True, message="The run was cancelled"))
        if part(result, "is_complete") is not True:
            return []
        names = ", ".join(text(item, "name") or text(item, "tool_name") for item in waiting)
        told: list[InnerEvent] = [Noticed(f"Waits for an approval: {names}")] if waiting else []
        for item in waiting:
            call = text(item, "raw_item", "call_id") or text(item, "call_id")
            told += self._end_tool(call, _HANDED_OVER, failed=False) if call in self._tools else []
        return self._cleaned([*told, *self._succeed()])

    def _was_cancelled(self, result: object, *, waits: bool) -> bool:
        mode = text(result, "_cancel_mode")
        if mode:
            return mode != "none"
        return part(result, "final_output") is None and not waits


async def events(
    result: StreamedRun, secrets: Iterable[str] = ()
) -> AsyncGenerator[InnerEvent, None]:
    """Yield the events of a run, as they come.

    A run whose stream is left early is cancelled.

    Args:
        result: What `Runner.run_streamed(…)` returns.
        secrets: Values that must not appear in failures and notices.

    Raises:
        BaseException: What the run raises, the same object.
    """
    adapter = Adapter(secrets)
    over = False
    try:
        for event in adapter.begin():
            yield event
        async with aclosing(items_of(result.stream_events())) as items:
            async for item in items:
                for event in adapter.feed(item):
                    yield event
        over = True
    except Exception:
        over = True
        for event in adapter.broke():
            yield event
        raise
    finally:
        if not over:
            result.cancel()
    for event in adapter.ended(result):
        yield event
