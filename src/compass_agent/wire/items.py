"""What a reader of a session receives, in order."""

from __future__ import annotations

__all__ = (
    "CaughtUp",
    "End",
    "FrameItem",
    "FrameRun",
    "Gap",
    "GapReason",
    "Item",
    "Page",
    "Reset",
    "ResetReason",
    "StateSignal",
)

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import partial
from itertools import repeat
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, overload

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

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


# Calling the class would go through a Python function, for every frame that is read.
_make: Callable[[tuple[str, int, bytes, bool, bool]], FrameItem]
_make = partial(tuple.__new__, FrameItem)  # pyright: ignore[reportUnknownMemberType] - of any tuple


class FrameRun(Sequence[FrameItem]):
    """Frames of one epoch in ascending order, none of them late.

    Reads like a list of FrameItem, each of which is made when it is looked at. Whoever needs only
    bytes and places takes the columns.

    Attributes:
        epoch: The epoch of all of them.
        seqs: Their places.
        frames: The encoded SessionFrames.
        lanes: 1 for each frame of the priority lane, else 0; empty: all are trace.
    """

    __slots__ = ("epoch", "frames", "lanes", "seqs")

    def __init__(
        self, epoch: str, seqs: Sequence[int], frames: Sequence[bytes], lanes: bytes = b""
    ) -> None:
        self.epoch = epoch
        self.seqs = seqs
        self.frames = frames
        self.lanes = lanes

    @classmethod
    def of(cls, items: Sequence[FrameItem]) -> FrameRun:
        """Return the run of these frames, of one epoch and none of them late."""
        if not items:
            return cls("", (), ())
        epochs, seqs, frames, lanes, _ = zip(*items, strict=True)
        return cls(epochs[0], seqs, frames, bytes(lanes))

    def __len__(self) -> int:
        return len(self.seqs)

    def __iter__(self) -> Iterator[FrameItem]:
        lanes = map(bool, self.lanes) if self.lanes else repeat(object=False)
        late = repeat(object=False)
        columns = zip(repeat(self.epoch), self.seqs, self.frames, lanes, late, strict=False)
        return map(_make, columns)

    @overload
    def __getitem__(self, place: int) -> FrameItem: ...
    @overload
    def __getitem__(self, place: slice) -> FrameRun: ...
    def __getitem__(self, place: int | slice) -> FrameItem | FrameRun:
        if isinstance(place, slice):
            return FrameRun(self.epoch, self.seqs[place], self.frames[place], self.lanes[place])
        priority = bool(self.lanes) and self.lanes[place] == 1
        return FrameItem(self.epoch, self.seqs[place], self.frames[place], priority)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and [*self] == [*other]

    __hash__ = None  # pyright: ignore[reportAssignmentType] - so Python says it: as of lists


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

    items: Sequence[Item]
    cursor: Cursor | None
