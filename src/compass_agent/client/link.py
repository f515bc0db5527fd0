"""How the way to a hub fares: who wants to know is told, and how long to try is kept here."""

from __future__ import annotations

__all__ = ("Link", "LinkStatus", "Patience")

import random
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import anyio

from compass_agent.errors.codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable

    from compass_agent.errors.codes import OperationError
    from compass_agent.frames import Cursor

_FIRST_DELAY_S = 0.1
_LONGEST_DELAY_S = 2.0
_STOOD_S = 5.0


class LinkStatus(StrEnum):
    """AWAY: the hub cannot be reached, or left. BACK: it is there again, itself or restarted."""

    AWAY = "away"
    BACK = "back"


@dataclass(frozen=True, slots=True)
class Link:
    """A change of the way to the hub. What follows in the tail has neither hole nor repeat.

    Attributes:
        status: What changed.
        cursor: Where the tail stands; None: nothing was read yet.
        error: What the hub, or the way to it, failed with; None when it is back.
    """

    status: LinkStatus
    cursor: Cursor | None
    error: OperationError | None = None


class Patience:
    """Waits between two tries, in doubled steps with jitter, and knows when to give up.

    Args:
        patience_s: For how long to try, in seconds, from the first failure on.
        on_link: Is told of each change.
    """

    def __init__(self, patience_s: float, on_link: Callable[[Link], None] | None) -> None:
        self._patience_s = patience_s
        self._on_link = on_link
        self._delay_s = _FIRST_DELAY_S
        self._away = False
        self._broken_at: float | None = None
        self._back_at = 0.0

    def answered(self, cursor: Cursor | None) -> None:
        """Note that the hub sent something."""
        if self._away:
            self._away, self._back_at = False, anyio.current_time()
            self._tell(Link(LinkStatus.BACK, cursor))

    def moved(self) -> None:
        """Note that the reading got on: the next failure is another one."""
        if not self._away:
            self._reset()

    async def endure(self, error: OperationError, cursor: Cursor | None) -> None:
        """Wait until it is time for the next try.

        Raises:
            OperationError: `error`: it is not for waiting, or the patience is over.
        """
        if error.code is not ErrorCode.UNAVAILABLE:
            raise error
        now = anyio.current_time()
        # A hub that answers and leaves at once, again and again, does not begin it anew.
        if not self._away and now - self._back_at >= _STOOD_S:
            self._reset()
        if self._broken_at is None:
            self._broken_at = now
        if not self._away:
            self._away = True
            self._tell(Link(LinkStatus.AWAY, cursor, error))
        left = self._broken_at + self._patience_s - now
        if left <= 0:
            self._reset()
            raise error
        # Many readers of one hub do not come back at the same moment.
        delay = self._delay_s * random.uniform(0.5, 1.0)  # noqa: S311 - no secret
        await anyio.sleep(min(max(delay, error.retry_after_s or 0.0), left))
        self._delay_s = min(self._delay_s * 2, _LONGEST_DELAY_S)

    def _reset(self) -> None:
        self._broken_at, self._delay_s = None, _FIRST_DELAY_S

    def _tell(self, link: Link) -> None:
        if self._on_link is not None:
            self._on_link(link)
