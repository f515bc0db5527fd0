"""What a sender hands to a log in one step, and what the log answers."""

from __future__ import annotations

__all__ = ("Answer", "Batch", "EndMark", "SessionMeta")

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from compass_agent.errors.codes import ErrorCode
    from compass_agent.wire.items import GapReason


@dataclass(frozen=True, slots=True)
class SessionMeta:
    """What a writer says about the session that it opens, for people."""

    title: str = ""
    agent: str = ""
    version: str = ""


@dataclass(frozen=True, slots=True)
class EndMark:
    """The end of an epoch.

    Attributes:
        state: The number of the AgentSessionState at the end.
        reason: Why it ended, for a person.
        last_seq: The last `seq` of the epoch.
        prev_priority: The last priority `seq` of the epoch; 0: none.
    """

    state: int
    reason: str
    last_seq: int
    prev_priority: int


@dataclass(frozen=True, slots=True)
class Batch:
    """Frames of one session and epoch. Frozen: an unanswered batch is sent again as it is.

    Attributes:
        session: The session's id.
        epoch: The writer's epoch.
        number: Counts the batches of the epoch: 1, 2, 3, …
        priority: (seq, encoded SessionFrame) of the lane that never drops, ascending.
        trace: (seq, encoded SessionFrame) of the bounded lane, ascending.
        through: Everything up to this `seq` was sent before, is in this batch, or is lost.
        prev_priority: The last priority `seq` before this batch; 0: none.
        end: The end mark; the batch then holds no frames.
        lost_priority: Priority frames up to this `seq` are gone at the sender; 0: none.
        reasons: (first `seq`, last, why) of frames that are missing for another reason than that
            they were dropped. Of what is stored anew alone; no sender says it.
    """

    session: str
    epoch: str
    number: int
    priority: list[tuple[int, bytes]] = field(default_factory=list[tuple[int, bytes]])
    trace: list[tuple[int, bytes]] = field(default_factory=list[tuple[int, bytes]])
    through: int = 0
    prev_priority: int = 0
    end: EndMark | None = None
    lost_priority: int = 0
    reasons: tuple[tuple[int, int, GapReason], ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """What a log says to one batch.

    Attributes:
        batch: The number of the batch that is answered.
        last_priority: The last priority `seq` that is stored.
        through: The epoch's watermark.
        late_trace: Trace frames of the batch that came too late and were dropped.
        missing_from: Not 0: priority frames are missing from this `seq` on; nothing was taken.
        sealed: A newer epoch is open: priority is taken, trace is not.
        code: None: taken. Else why the batch was refused for good.
    """

    batch: int
    last_priority: int
    through: int
    late_trace: int = 0
    missing_from: int = 0
    sealed: bool = False
    code: ErrorCode | None = None
