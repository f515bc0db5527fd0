"""When to stop following: the session ended, or stands as the user waits for."""

from __future__ import annotations

__all__ = ("UNTIL_HELP", "Goal", "Until")

from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from compass_agent.wire import Item


class Goal(StrEnum):
    """What to wait for. Every one of them is over when the session ends.

    ENDED is the end alone. ERROR: the session is ERRORED. IDLE: the agent is not at work. TURN: the
    turn that is under way, or else the next one, is over.
    """

    ENDED = "ended"
    ERROR = "error"
    IDLE = "idle"
    TURN = "turn"


UNTIL_HELP = (
    "stop when the session ended, is ERRORED (error), is not at work (idle), or when the turn that"
    " is under way, or else the next one, is over (turn)"
)
_BUSY = {"STARTING", "WORKING"}
_AT_REST = {"READY", "STOPPED", "ERRORED"}


class Until:
    """Follows a session until its goal is met. What was kept before only says how things stand."""

    def __init__(self, goal: Goal) -> None:
        self._goal = goal
        self._live = False
        self._worked = False

    @property
    def is_end_alone(self) -> bool:
        """Whether nothing but the end is waited for."""
        return self._goal is Goal.ENDED

    def met(self, item: Item, state: int | None) -> bool:
        """Take the next item, and the session's state after it; return whether to stop."""
        if self._goal is Goal.ENDED:  # the reading ends by itself
            return False
        from compass_agent.view.words import state_word  # noqa: PLC0415 - dear to import
        from compass_agent.wire import CaughtUp  # noqa: PLC0415 - dear to import

        self._live = self._live or isinstance(item, CaughtUp)
        if not self._live:
            return False
        word = "" if state is None else state_word(state)
        if self._goal is Goal.ERROR:
            return word == "ERRORED"
        if word in _BUSY:
            self._worked = True
        return word in _AT_REST and (self._worked or self._goal is Goal.IDLE)
