"""What a session reads as once its frames are joined: frozen entries, in reading order."""

from __future__ import annotations

__all__ = (
    "Ended",
    "Entry",
    "Failure",
    "FileDiff",
    "Injection",
    "Message",
    "MessageStatus",
    "Missing",
    "Notice",
    "Plan",
    "PlanStep",
    "Prompt",
    "Restart",
    "StateChange",
    "StepStatus",
    "ToolCall",
    "ToolStatus",
    "Unknown",
)

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from compass_agent.view.failure import Cause
    from compass_agent.wire import GapReason, ResetReason


class MessageStatus(StrEnum):
    """How a message stands. The wire does not say that a message is complete; what follows does.

    DONE says that nothing more is appended, and no failure was told.
    """

    OPEN = "open"
    DONE = "done"
    FAILED = "failed"
    ABORTED = "aborted"


class ToolStatus(StrEnum):
    """How a tool call stands. UNKNOWN is a status that this version cannot read: no success."""

    PENDING = "pending"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    INTERRUPTED = "interrupted"
    UNKNOWN = "unknown"

    @property
    def ended(self) -> bool:
        """Whether nothing follows for this call."""
        return self in {ToolStatus.COMPLETED, ToolStatus.FAILED, ToolStatus.INTERRUPTED}


class StepStatus(StrEnum):
    """How a step of a plan stands. UNKNOWN is not done."""

    PENDING = "pending"
    ACTIVE = "active"
    DONE = "done"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """What all entries have.

    Attributes:
        epoch: The epoch that it belongs to.
        seq: The place of its first frame; 0: it has none.
        last_seq: The place of its last frame.
        at_ms: When it began, in milliseconds since 1970-01-01 UTC; None: not told.
        late: Its frame arrived after its place had been read.
    """

    epoch: str
    seq: int
    last_seq: int
    at_ms: int | None
    late: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Message(Entry):
    """An answer, or reasoning, joined from its pieces."""

    kind: Literal["assistant_text", "thinking"]
    message_id: str
    text: str
    status: MessageStatus


@dataclass(frozen=True, slots=True)
class FileDiff:
    """What a tool did to a file; `old_text` is None when the file was created."""

    path: str
    old_text: str | None
    new_text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall(Entry):
    """A tool call as its last update left it.

    Attributes:
        tool_call_id: Names the call.
        title: What it does, for a person; empty when its start was never read.
        status: How it stands.
        number: The status as it was sent; the last one, also when the call was closed here.
        output: The last output.
        full_output_chars: How long the output was before it was cut; None: it was not cut.
        diffs: What it did to files.
        ended_ms: When it ended, likewise; None: not ended, or not told.
    """

    tool_call_id: str
    title: str
    status: ToolStatus
    number: int
    output: str = ""
    full_output_chars: int | None = None
    diffs: tuple[FileDiff, ...] = ()
    ended_ms: int | None = None


@dataclass(frozen=True, slots=True)
class PlanStep:
    """One thing that the agent means to do."""

    content: str
    status: StepStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan(Entry):
    """The whole plan; it replaces the one before. No steps: the plan was cleared."""

    steps: tuple[PlanStep, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt(Entry):
    """What the user asked."""

    text: str
    message_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice(Entry):
    """A line of information; `link` is None when there is none."""

    text: str
    link: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Injection(Entry):
    """A message that was put into the running agent; `kind` is steer, deliver or unknown."""

    kind: Literal["steer", "deliver", "unknown"]
    message_id: str
    from_handle: str
    traceparent: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure(Entry):
    """A turn that failed or was stopped."""

    cause: Cause


@dataclass(frozen=True, slots=True, kw_only=True)
class StateChange(Entry):
    """The session's new state.

    Attributes:
        state: The number of an AgentSessionState, known or not.
        signal: A sign of the log (the writer is away, or back), not a word of the writer.
    """

    state: int
    signal: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing(Entry):
    """Frames `seq` to `last_seq` are missing here."""

    count: int
    reason: GapReason


@dataclass(frozen=True, slots=True, kw_only=True)
class Restart(Entry):
    """What follows belongs to this entry's epoch."""

    reason: ResetReason


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended(Entry):
    """The epoch ended in `state`, the number of an AgentSessionState."""

    state: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown(Entry):
    """A frame whose content this version does not know: kept, and no success."""

    event_id: str
    size: int
