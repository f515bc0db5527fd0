"""Streams of the `openai` library, both APIs: Chat Completions and Responses.

    await session.drive(events(client.responses.create(model=…, input=…, stream=True)))

A run with tools of your own is a `Run`.
"""

from __future__ import annotations

__all__ = ("Run", "ToolCall", "events")

from typing import TYPE_CHECKING

from compass_agent.adapters.failures import failure_of
from compass_agent.adapters.fields import part, plain, text
from compass_agent.adapters.openai_chat import ChatReader
from compass_agent.adapters.openai_responses import ResponseEvents, is_response_event
from compass_agent.adapters.provider_run import CUT_ENDS, ProviderRun, ToolCall, request_events
from compass_agent.adapters.telling import FAILED_ENDS

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable

    from compass_agent.adapters.sources import Source
    from compass_agent.events.classes import InnerEvent


class Run(ProviderRun, ResponseEvents):
    """The requests of one run, and its tools.

    It takes what `client.chat.completions` and `client.responses` give, by `create(stream=True)` or
    by `stream()`.

    Args:
        secrets: Values that must not appear in failures and notices.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        super().__init__(secrets)
        self._chat = ChatReader()

    def _forget(self) -> None:
        self._chat = ChatReader()

    def _item(self, item: object) -> list[InnerEvent] | None:
        if is_response_event(item):
            return self._event(item)
        if text(item, "type") == "chunk":
            item = part(item, "chunk")
        elif "." in text(item, "type"):
            return []  # what the library's own helper puts together from chunks
        if part(item, "choices") is None and part(item, "error") is None:
            return None
        return self._chunk(item)

    def _chunk(self, chunk: object) -> list[InnerEvent]:
        events: list[InnerEvent] = []
        for kind, said in self._chat.read(chunk):
            events += self._delta(said, thinking=kind == "thinking")
        if self._chat.error is not None:
            return [*events, *self._fail(failure_of(plain(self._chat.error), self._secrets))]
        if self._chat.reason in FAILED_ENDS:
            self._reason = self._chat.reason
        elif self._chat.reason and not self._reason:
            self._reason = self._chat.reason
            events += self._asked_all(self._chat.calls())
        return events

    def _asked_all(self, calls: list[tuple[str, str, str, bool]]) -> list[InnerEvent]:
        events: list[InnerEvent] = []
        for place, (*call, free) in enumerate(calls, 1):
            # Any text may be the beginning of a longer one; only the last call can be cut off.
            torn = free and place == len(calls) and self._reason in CUT_ENDS
            events += self._call(ToolCall(*call), free=free, torn=torn)
        return events

    def _asked(self, call: ToolCall, *, torn: bool) -> list[InnerEvent]:
        return self._call(call, torn=torn)

    def _stopped(self, reason: str) -> list[InnerEvent]:
        self._reason = reason
        return []


def events(source: Source, secrets: Iterable[str] = ()) -> AsyncGenerator[InnerEvent, None]:
    """Return the events of a run that is one request.

    Tools that the answer asks for are told as handed over to the host.

    Args:
        source: The stream, or what `create(stream=True)` or `stream()` gives.
        secrets: Values that must not appear in failures and notices.

    Raises:
        BaseException: Within the stream: what the library raises, the same object.
    """
    return request_events(Run(secrets), source)
