"""What a reader of a session receives, in order."""

from __future__ import annotations

__all__ = (
    "CaughtUp",
    "End",
    "FrameItem",
    "Gap",
    "GapReason",
    "Item",
    "Page",
    "Reset",
    "ResetReason",
    "StateSignal",
)

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from compass_agent.frames.cursor import Cursor


class GapReason(IntEnum):
    """Why frames are missing; the numbers are those of SessionGapReason.

    UNSPECIFIED is a reason that only a newer hub knows.
    """

    UNSPECIFIED = 0
    DROPPED = 1
    RETENTION = 2
    WRITER_GONE = 3
    LOG_LOSS = 4


class ResetReason(IntEnum):
    """Why a reader starts anew; the numbers are those of SessionResetReason.

    UNSPECIFIED is a reason that only a newer hub knows.
    """

    UNSPECIFIED = 0
    UNKNOWN_EPOCH = 1
    NEW_EPOCH = 2


class FrameItem(NamedTuple):
    """A frame at its place. A tuple, because readers make hundreds of thousands a second.

    Attributes:
        epoch: The epoch of `seq`.
        seq: The frame's place.
        data: The encoded SessionFrame, as it was emitted.
        priority: The lane that it came through.
        late: It arrived after its place was read: it moves no cursor and is not counted.
    """

    epoch: str
    seq: int
    data: bytes
    priority: bool = False
    late: bool = False


@dataclass(frozen=True, slots=True)
class Gap:
    """`count` frames are missing here: all of `first_seq` to `last_seq`."""

    epoch: str
    first_seq: int
    last_seq: int
    reason: GapReason

    @property
    def count(self) -> int:
        """How many are missing."""
        return self.last_seq - self.first_seq + 1


@dataclass(frozen=True, slots=True)
class Reset:
    """What follows belongs to `epoch` and begins at its oldest kept frame."""

    epoch: str
    reason: ResetReason


@dataclass(frozen=True, slots=True)
class End:
    """The epoch ended; `state` is the number of an AgentSessionState."""

    epoch: str
    last_seq: int
    state: int
    reason: str = ""


@dataclass(frozen=True, slots=True)
class StateSignal:
    """The state as far as it is known, without a `seq`: not stored, not counted, moves no cursor.

    DISCONNECTED while the epoch's writer is away, the stored state when it is back.
    """

    epoch: str
    state: int


@dataclass(frozen=True, slots=True)
class CaughtUp:
    """What was kept has been read; what follows is live."""

    epoch: str


Item: TypeAlias = FrameItem | Gap | Reset | End | StateSignal | CaughtUp


@dataclass(frozen=True, slots=True)
class Page:
    """Items in reading order, and the cursor after the last of them."""

    items: list[Item]
    cursor: Cursor | None
