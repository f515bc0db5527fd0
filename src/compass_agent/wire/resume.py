"""One reading of a hub's session over as many calls as it takes: neither hole nor repeat.

A hub answers each call for itself. What it says again because the call is a new one is known here.
"""

from __future__ import annotations

__all__ = ("Resume",)

from compass_agent.frames import AgentSessionState, Cursor
from compass_agent.wire.items import CaughtUp, End, FrameItem, Gap, Item, Reset, StateSignal

_DISCONNECTED = int(AgentSessionState.AGENT_SESSION_STATE_DISCONNECTED)


class Resume:
    """Where a reading stands, and what its reader was told.

    Args:
        after: Where it begins; None: with the oldest that is kept.

    Attributes:
        cursor: Where the next call goes on; None: nothing was read.
        unclear: The epoch whose writer was away before the connection broke, and of which the new
            call says nothing: the session's state has to be asked for. None: all is clear.
        at_end: The last place that was read is an end.
    """

    def __init__(self, after: Cursor | None) -> None:
        self.cursor = after
        self.unclear: str | None = None
        self.at_end = False
        self._caught_up = False
        self._away = False
        self._signalled = False
        self._ended = ""

    def begin_call(self) -> None:
        """Note that what follows comes from a new call."""
        self._signalled = False

    def clear(self, epoch: str, state: int) -> StateSignal:
        """Take the state that was asked for; return the signal that tells it."""
        self.unclear = None
        self._away = state == _DISCONNECTED
        return StateSignal(epoch, state)

    def take(self, item: Item) -> bool:
        """Move behind `item`; return whether the reader was not told of it yet."""
        match item:
            case StateSignal():
                self._signalled = True
                away = item.state == _DISCONNECTED
                known, self._away = away and self._away, away
            case CaughtUp():
                known = self._caught_up
                self._caught_up = True
                if self._away and not self._signalled:
                    self.unclear = item.epoch
            case End():
                known = self._ended == item.epoch
                self._ended = item.epoch
            case Reset():
                known = self._away = False
            case _:
                known = False
        self._move(item)
        return not known

    def _move(self, item: Item) -> None:
        match item:
            case FrameItem(late=False):
                self.cursor = Cursor(item.epoch, item.seq)
                self.at_end = False
            case Gap() | End():
                self.cursor = Cursor(item.epoch, item.last_seq)
                self.at_end = isinstance(item, End)
            case Reset():
                self.cursor = Cursor(item.epoch, 0)
                self.at_end = False
            case _:
                if self.cursor is None and not isinstance(item, FrameItem):
                    self.cursor = Cursor(item.epoch, 0)
