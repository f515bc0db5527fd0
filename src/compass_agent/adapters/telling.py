"""What every adapter says of a run: its messages, tools, retries and its one end. Never raises."""

from __future__ import annotations

__all__ = ("CUT_OFF", "FAILED_ENDS", "PROVIDER_FAILED", "Telling")

from typing import TYPE_CHECKING

from compass_agent.adapters.failures import FailureCleaner
from compass_agent.adapters.surrogates import DeltaJoiner
from compass_agent.errors.shapes import valid_text
from compass_agent.events.classes import (
    Failure,
    InnerEvent,
    MessageEnded,
    MessageFailed,
    MessageStarted,
    RetryEnded,
    RetryScheduled,
    RunEnded,
    RunStarted,
    TextDelta,
    ThinkingDelta,
    ToolEnded,
    ToolStarted,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

CUT_OFF = Failure(
    aborted=False,
    message="The agent's stream ended in the middle of its work",
    code="adapter.no_terminal",
)
"""How an answer is told whose stream ended without saying that it does."""
PROVIDER_FAILED = "The provider says that the answer failed, without a reason"
"""How an answer is told whose provider gives an error as the reason of its end."""
FAILED_ENDS = frozenset({"error", "failed"})
"""What providers call that reason."""
_NO_RESULT = "The run ended without this tool's result"


class Telling:
    """Keeps what holds for all agents; a subclass says what happens, in its order.

    A run is over when the agent says so, what failed is told once, and no tool stays open.

    Args:
        secrets: Values that must not appear in failures and notices.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._secrets = tuple(secrets)
        self._cleaner = FailureCleaner(self._secrets)
        self._deltas = DeltaJoiner()
        self._tools: dict[str, str] = {}
        self._working = False
        self._message_open = False
        self._message_has_content = False
        self._retry = 0

    def _cleaned(self, events: list[InnerEvent]) -> list[InnerEvent]:
        return [self._cleaner.clean(event) for event in events]

    def _begin(self) -> list[InnerEvent]:
        """A run begins; a run that goes on goes on."""
        if self._working:
            return []
        self._working = True
        return [RunStarted()]

    def _start_message(self) -> list[InnerEvent]:
        """A message of the agent begins; the one before is over."""
        ended = self._end_message("toolUse")
        self._message_open, self._message_has_content = True, False
        return [*ended, *self._begin(), MessageStarted("assistant")]

    def _delta(self, text: str, index: int = 0, *, thinking: bool = False) -> list[InnerEvent]:
        """A piece of the message, which begins with it when none has begun."""
        begun = [] if self._message_open else self._start_message()
        self._message_has_content = self._message_has_content or bool(text)
        kind = "thinking_delta" if thinking else "text_delta"
        whole = self._deltas.join((kind, index), text)
        if not whole:
            return begun
        return [*begun, ThinkingDelta(whole) if thinking else TextDelta(whole)]

    def _end_message(self, reason: str = "stop") -> list[InnerEvent]:
        """The message is over, if one has begun."""
        if not self._message_open:
            return []
        flushed = self._flushed()
        self._message_open = False
        empty = not self._message_has_content
        return [*flushed, MessageEnded("assistant", stop_reason=reason, empty=empty)]

    def _start_tool(self, call: str, name: str, title: str) -> list[InnerEvent]:
        begun = self._begin()
        self._message_has_content = True
        self._tools[call] = name
        return [*begun, ToolStarted(call, valid_text(title))]

    def _end_tool(self, call: str, result: object, *, failed: bool) -> list[InnerEvent]:
        return [ToolEnded(call, self._tools.pop(call, ""), failed, result)]

    def _retrying(self, retry: RetryScheduled) -> list[InnerEvent]:
        ended = self._end_message("retry")
        self._retry = retry.attempt or self._retry + 1
        return [*ended, *self._begin(), retry]

    def _fail(self, failure: Failure) -> list[InnerEvent]:
        """The run failed or was stopped: that is its end."""
        flushed = self._flushed()
        self._working = self._message_open = False
        # The mapper closes them.
        self._tools.clear()
        failure = self._cleaner.failure(failure)
        retried: list[InnerEvent] = []
        if self._retry:
            retried = [RetryEnded(success=False, attempt=self._retry, failure=failure)]
        self._retry = 0
        if failure.aborted:
            retried = []
        return [*flushed, MessageFailed(failure), *retried, RunEnded()]

    def _succeed(self) -> list[InnerEvent]:
        """The agent says that the run went well: that is its end."""
        events = self._end_message()
        for call in list(self._tools):
            events += self._end_tool(call, _NO_RESULT, failed=True)
        if self._retry:
            events.append(RetryEnded(success=True, attempt=self._retry + 1))
        self._working, self._retry = False, 0
        return [*events, RunEnded()]

    def _flushed(self) -> list[InnerEvent]:
        return [
            TextDelta(lost) if kind == "text_delta" else ThinkingDelta(lost)
            for kind, lost in self._deltas.end()
        ]
