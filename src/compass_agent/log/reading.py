"""One reader's way through a session, step by step. Pure: it is told what is stored, and when.

It keeps the reader's promises: emission order, no hole, no repeat, each gap once, and the ends and
changes of epochs at their places.
"""

from __future__ import annotations

__all__ = ("PAGE_BYTES", "Place", "Reading", "Then", "View")

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from compass_agent.errors.codes import ErrorCode, OperationError
from compass_agent.frames import AgentSessionState, Cursor
from compass_agent.log.merge import in_place
from compass_agent.wire import CaughtUp, End, FrameItem, Reset, ResetReason, StateSignal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compass_agent.log.epoch import EpochHead
    from compass_agent.wire import Item

PAGE_BYTES = 1 << 20
"""A page ends with the frames that bring it to this size: large frames make short pages."""


class Then(Enum):
    """What the reader does after a step."""

    MORE = "look again at once"
    WAIT = "look again when something was stored"
    CLOSE = "store the closing mark, then look again"
    AHEAD = "the cursor is above what is stored: wait for a short while"
    STOP = "all is read"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a reader is.

    Attributes:
        epoch: Its epoch; None: it has not begun.
        seq: The `seq` that it read last.
        arrivals: The number of the last late arrival that it knows of; None: it has not looked yet.
    """

    epoch: str | None
    seq: int
    arrivals: int | None


@dataclass(frozen=True, slots=True)
class View:
    """What is stored, as one reader sees it at one moment.

    Attributes:
        head: The reader's epoch; None: it is not kept, or the reader has not begun.
        following: The next epoch after it; without a head, the oldest that is kept.
        rows: The frames above the reader's place and up to the watermark, ascending.
        complete: `rows` are all of them.
        late: Frames that arrived since the reader looked last, at places that it has passed.
        arrivals: The number of the last late arrival.
    """

    head: EpochHead | None
    following: str | None
    rows: Sequence[FrameItem] = ()
    complete: bool = True
    late: list[FrameItem] = field(default_factory=list[FrameItem])
    arrivals: int = 0


class Reading:
    """The state of one reader.

    Args:
        after: Where it begins; None: with the oldest that is kept.
        follow: Go on with what comes, once all that is kept was read.
    """

    __slots__ = ("_arrivals", "_away", "_caught_up", "_epoch", "_follow", "_lease_ms", "_seq")

    def __init__(self, after: Cursor | None, *, follow: bool) -> None:
        self._epoch = None if after is None else after.epoch
        self._seq = 0 if after is None else after.seq
        self._follow = follow
        self._arrivals: int | None = None
        self._lease_ms: int | None = None
        self._away = False
        self._caught_up = False

    @property
    def place(self) -> Place:
        """Where the reader is now."""
        return Place(self._epoch, self._seq, self._arrivals)

    @property
    def cursor(self) -> Cursor | None:
        """Where a later reading goes on; None: nothing was read yet."""
        return None if self._epoch is None else Cursor(self._epoch, self._seq)

    def due(self, now_ms: int) -> bool:
        """Tell whether time alone changed what the reader must be told: a lease ran out."""
        return self._lease_ms is not None and self._lease_ms <= now_ms

    def advance(self, view: View | None, now_ms: int) -> tuple[Sequence[Item], Then]:
        """Return what the reader gets now, and what it does next.

        Args:
            view: What is stored; None: there is no such session.
            now_ms: Milliseconds since 1970-01-01 UTC.

        Raises:
            OperationError: `not_found`: there is no such session.
        """
        if view is None:
            raise OperationError(ErrorCode.NOT_FOUND)
        if view.head is None:
            if view.following is None:
                raise OperationError(ErrorCode.NOT_FOUND)
            self._arrivals = view.arrivals
            reason = None if self._epoch is None else ResetReason.UNKNOWN_EPOCH
            return self._enter(view.following, reason), Then.MORE
        items: list[Item] = []
        if self._follow and self._arrivals is not None:
            items += view.late
        self._arrivals = view.arrivals
        head = view.head
        if self._seq > head.through:
            return items, Then.AHEAD
        found = in_place(head, self._seq, view.rows, complete=view.complete)
        if not view.complete:
            self._seq = view.rows[-1].seq
            return [*items, *found] if items else found, Then.MORE
        self._seq = head.through
        return self._at_watermark([*items, *found], view.following, head, now_ms)

    def _at_watermark(
        self, items: list[Item], following: str | None, head: EpochHead, now_ms: int
    ) -> tuple[list[Item], Then]:
        if head.end is not None:
            items.append(End(head.epoch, head.end.last_seq, head.end.state, head.end.reason))
        if following is not None:
            items += self._enter(following, ResetReason.NEW_EPOCH)
            return items, Then.MORE
        if head.end is not None:
            return items, Then.STOP
        if head.detached(now_ms) and head.highest > head.through:
            return items, Then.CLOSE
        self._tell_link(items, head, now_ms)
        if not self._follow:
            return items, Then.STOP
        if not self._caught_up:
            self._caught_up = True
            items.append(CaughtUp(head.epoch))
        return items, Then.WAIT

    def _tell_link(self, items: list[Item], head: EpochHead, now_ms: int) -> None:
        """Tell that the writer is away, or back, when that is new to the reader."""
        away = head.detached(now_ms)
        if away and not self._away:
            state = AgentSessionState.AGENT_SESSION_STATE_DISCONNECTED
            items.append(StateSignal(head.epoch, state))
        elif self._away and not away:
            items.append(StateSignal(head.epoch, head.state))
        self._away = away
        self._lease_ms = None if away else head.lease_ms

    def _enter(self, epoch: str, reason: ResetReason | None) -> list[Item]:
        self._epoch = epoch
        self._seq = 0
        self._away = False
        self._lease_ms = None
        return [] if reason is None else [Reset(epoch, reason)]
