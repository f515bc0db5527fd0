"""A run whose loop is the host's: requests to a provider, and tools that the host calls itself."""

from __future__ import annotations

__all__ = ("CUT_ENDS", "ProviderRun", "ToolCall", "request_events")

import json
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from compass_agent.adapters.fields import arguments_of
from compass_agent.adapters.objects import title_of
from compass_agent.adapters.sdk_run import SdkRun
from compass_agent.adapters.sources import items_of
from compass_agent.adapters.telling import CUT_OFF, FAILED_ENDS, PROVIDER_FAILED
from compass_agent.events.classes import Failure, InnerEvent, ToolEnded

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable

    from compass_agent.adapters.sources import Source

_FILTERED = "The provider's filter stopped the answer"
_FILTERS = frozenset({"content_filter", "refusal"})
CUT_ENDS = frozenset({"length", "max_tokens", "max_output_tokens", "model_context_window_exceeded"})
"""What providers give as the reason when an answer came to a limit."""
_PAUSED = frozenset({"pause_turn"})
_HANDED_OVER = "Handed over to the host"


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that an answer asks for; `arguments` is JSON, as the model wrote it."""

    tool_call_id: str
    name: str
    arguments: str


class ProviderRun(SdkRun):
    """Turns the streams of one run into inner events; a subclass says what an item means.

    Give it each request of the run in turn, by `request`, or by `feed` and `end` from a loop of
    your own, and what each tool gave by `ended`. What a stream raises is not its business: the
    session that is driven tells that.

    Attributes:
        calls: The tools that the last answer asks for.
        goes_on: The last answer was not the end: it asks for tools, or to be continued.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        super().__init__(secrets)
        self.calls: list[ToolCall] = []
        self.goes_on = False
        self._reason = ""
        # Its failure was told: what its stream says after that begins no run.
        self._failed = False
        # Calls whose arguments are no whole JSON: only the end says whether they were cut off.
        self._torn: list[ToolCall] = []

    async def request(self, source: Source) -> AsyncGenerator[InnerEvent, None]:
        """Yield the events of one request, as they come.

        Args:
            source: The stream, or what the SDK's call gives: it need not be awaited or entered.

        Raises:
            BaseException: What the SDK raises, the same object.
        """
        for event in self.begin():
            yield event
        async with aclosing(items_of(source)) as items:
            async for item in items:
                for event in self.feed(item):
                    yield event
        for event in self.end():
            yield event

    def begin(self) -> list[InnerEvent]:
        """Begin a request; `feed` does so by itself when none has begun."""
        self.calls, self.goes_on, self._reason, self._failed = [], False, "", False
        self._torn.clear()
        self._forget()
        return self._start_message()

    def feed(self, item: object) -> list[InnerEvent]:
        """Return the events of one item of the stream; none after its failure. Never raises."""
        if self._failed:
            return []
        begun = [] if self._message_open else self.begin()
        return [*begun, *super().feed(item)]

    def end(self) -> list[InnerEvent]:
        """Return the events of the stream's end, which is a success only when the answer said so.

        An answer that was cut off is a failure. A run that goes on is not over. A call that its
        provider's limit cut off is none.
        """
        self._failed = False
        if not self._working:
            return []
        if not self._reason:
            return self._fail(CUT_OFF)
        if self._reason in _FILTERS:
            return self._fail(Failure(aborted=False, message=_FILTERED, code=self._reason))
        if self._reason in FAILED_ENDS:
            return self._fail(Failure(aborted=False, message=PROVIDER_FAILED, code=self._reason))
        cut = self._reason in CUT_ENDS
        if cut:
            self.calls = [call for call in self.calls if call not in self._torn]
        begun = [] if cut else [event for call in self._torn for event in self._started(call)]
        self._torn.clear()
        self.goes_on = bool(self.calls) or self._reason in _PAUSED
        ended = self._end_message("length" if cut else "toolUse" if self.goes_on else "stop")
        return [*begun, *ended, *([] if self.goes_on else self._succeed())]

    def ended(self, call: ToolCall, result: object, *, failed: bool = False) -> ToolEnded:
        """Return the event of a tool's end.

        Args:
            call: One of `calls`.
            result: What it gave, of any shape.
            failed: Whether it went wrong.
        """
        self._tools.pop(call.tool_call_id, None)
        return ToolEnded(call.tool_call_id, call.name, failed, result)

    def hand_over(self) -> list[InnerEvent]:
        """Return the end of a run whose tools are not told: nobody knows how they end."""
        if not self.goes_on:
            return []
        ended = [self.ended(call, _HANDED_OVER) for call in self.calls]
        return [*ended, *self._succeed()]

    def _fail(self, failure: Failure) -> list[InnerEvent]:
        self._failed = True
        # Nobody is to carry out what an answer that failed asked for.
        self.calls, self.goes_on = [], False
        return super()._fail(failure)

    def _forget(self) -> None:
        """A request begins: nothing of the one before counts."""

    def _call(self, call: ToolCall, *, free: bool = False, torn: bool = False) -> list[InnerEvent]:
        """The answer asks for a tool of the host.

        Args:
            call: The tool.
            free: Its arguments are any text.
            torn: Its provider says that they may not be whole.
        """
        # Without a word of arguments it may be one that takes none, or one that was cut off.
        whole = not torn and (free or _is_json(call.arguments))
        if not free and not call.arguments:
            call = replace(call, arguments="{}")
        self.calls.append(call)
        if whole:
            return self._started(call)
        self._torn.append(call)
        self._message_has_content = True
        return []

    def _started(self, call: ToolCall) -> list[InnerEvent]:
        title = title_of(call.name or "tool", arguments_of(call.arguments))
        return self._start_tool(call.tool_call_id, call.name, title)


def _is_json(arguments: str) -> bool:
    try:
        json.loads(arguments)
    except (ValueError, RecursionError):
        return False
    return True


async def request_events(run: ProviderRun, source: Source) -> AsyncGenerator[InnerEvent, None]:
    """Yield the events of a run that is one request; its tools are handed over to the host."""
    async with aclosing(run.request(source)) as events:
        async for event in events:
            yield event
    for event in run.hand_over():
        yield event
