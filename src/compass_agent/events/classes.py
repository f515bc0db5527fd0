"""The inner events: one frozen class for each thing that an agent does.

Adapters make them, the mapper reads them. Texts are as the agent gave them, cleaned by the adapter
where a failure's text needs cleaning.
"""

from __future__ import annotations

__all__ = (
    "AgentExited",
    "Failure",
    "Ignored",
    "InnerEvent",
    "MessageEnded",
    "MessageFailed",
    "MessageStarted",
    "Noticed",
    "PlanChanged",
    "PlanEntry",
    "RetryEnded",
    "RetryScheduled",
    "RunEnded",
    "RunStarted",
    "TextDelta",
    "ThinkingDelta",
    "ToolEnded",
    "ToolStarted",
    "ToolUpdated",
    "TurnEnded",
    "Unknown",
)

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a message failed or was stopped.

    Attributes:
        aborted: A stop on purpose, not a failure.
        message: The text for a person; empty when the agent gave none.
        status: The HTTP status; None when there was none (0 is a status).
        retry_after_ms: How long the provider asked to wait, in milliseconds.
        code: The provider's own code.
        request_id: The provider's id of the failed request.
        stopped_by: Who asked for the stop.
    """

    aborted: bool
    message: str
    status: int | None = None
    retry_after_ms: int | None = None
    code: str = ""
    request_id: str = ""
    stopped_by: str = ""


@dataclass(frozen=True, slots=True)
class RunStarted:
    """The agent began to work: a run, or a turn of one (`turn`)."""

    turn: bool = False


@dataclass(frozen=True, slots=True)
class MessageStarted:
    """A message begins.

    Attributes:
        role: "assistant", "user", "toolResult" or any other.
        text: The text of a user's message.
        steering: The message was put into a run that was going on.
        sender: Who sent a user's message, when the agent says so.
    """

    role: str
    text: str = ""
    steering: bool = False
    sender: str = ""


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class ThinkingDelta:
    """A piece of reasoning."""

    text: str


@dataclass(frozen=True, slots=True)
class MessageFailed:
    """The message that is being streamed failed or was stopped."""

    failure: Failure


@dataclass(frozen=True, slots=True)
class MessageEnded:
    """A message is complete.

    Attributes:
        role: As in MessageStarted.
        stop_reason: Why the model stopped: "stop", "length", "toolUse", "error", "aborted", …
        failure: Set when the message failed or was stopped.
        empty: The message has no content.
    """

    role: str
    stop_reason: str = ""
    failure: Failure | None = None
    empty: bool = False


@dataclass(frozen=True, slots=True)
class TurnEnded:
    """A turn is over; `failure` is that of its assistant message."""

    failure: Failure | None = None


@dataclass(frozen=True, slots=True)
class RunEnded:
    """A run is over.

    Attributes:
        failure: That of the run's last assistant message.
        final: False: the agent goes on by itself.
    """

    failure: Failure | None = None
    final: bool = True


@dataclass(frozen=True, slots=True)
class ToolStarted:
    """A tool call began; `title` says what it does, for a person."""

    tool_call_id: str
    title: str


@dataclass(frozen=True, slots=True)
class ToolUpdated:
    """A tool call goes on; `result` is all that it gave so far, of any shape."""

    tool_call_id: str
    result: object


@dataclass(frozen=True, slots=True)
class ToolEnded:
    """A tool call is over; `result` is what it gave, of any shape."""

    tool_call_id: str
    name: str
    failed: bool
    result: object


@dataclass(frozen=True, slots=True)
class PlanEntry:
    """One thing that the agent means to do; `status` is the agent's word for how far it is."""

    content: str
    status: str


@dataclass(frozen=True, slots=True)
class PlanChanged:
    """The whole plan."""

    entries: tuple[PlanEntry, ...]


@dataclass(frozen=True, slots=True)
class RetryScheduled:
    """The agent will try again by itself.

    Attributes:
        attempt: Which attempt it will be; 0: not said.
        attempts: How many it makes at most; 0: not said.
        delay_ms: How long it waits, in milliseconds; None: not said.
        reason: The failure's text.
    """

    attempt: int
    attempts: int
    delay_ms: float | None
    reason: str


@dataclass(frozen=True, slots=True)
class RetryEnded:
    """A chain of retries is over.

    Attributes:
        success: Whether the last attempt went well.
        attempt: Which attempt it was; 0: not said.
        failure: Why it gave up; None: not said.
        cancelled: It was stopped while it waited.
    """

    success: bool
    attempt: int = 0
    failure: Failure | None = None
    cancelled: bool = False


@dataclass(frozen=True, slots=True)
class Noticed:
    """Information for a person."""

    text: str
    link: str | None = None


@dataclass(frozen=True, slots=True)
class AgentExited:
    """The agent's stream ended.

    Attributes:
        exit_code: Of its process; negative: killed by that signal; None: not known.
        stderr_tail: The last lines of its standard error.
        cut_line: It was ended in the middle of a line.
        start_failure: Not empty: it could not be started, and why.
        stopped_by: Not empty: the runtime stopped it, and who asked.
        unfinished: Work had begun, and the agent, which tells the end of its work, did not.
        last_words: The failure that the last line of a stream of no known format told.
    """

    exit_code: int | None = None
    stderr_tail: str = ""
    cut_line: bool = False
    start_failure: str = ""
    stopped_by: str = ""
    unfinished: bool = False
    last_words: Failure | None = None


@dataclass(frozen=True, slots=True)
class Ignored:
    """Talk of the transport, or a step that readers do not need."""

    event_type: str


@dataclass(frozen=True, slots=True)
class Unknown:
    """Something that is no event we know; `reason` says why."""

    event_type: str
    reason: str


InnerEvent: TypeAlias = (
    RunStarted
    | MessageStarted
    | TextDelta
    | ThinkingDelta
    | MessageFailed
    | MessageEnded
    | TurnEnded
    | RunEnded
    | ToolStarted
    | ToolUpdated
    | ToolEnded
    | PlanChanged
    | RetryScheduled
    | RetryEnded
    | Noticed
    | AgentExited
    | Ignored
    | Unknown
)
