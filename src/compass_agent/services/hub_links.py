"""How the way to a hub fares, for whoever reads through it."""

from __future__ import annotations

__all__ = ("HubAway", "HubBack")

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from compass_agent.frames import Cursor


@dataclass(frozen=True, slots=True)
class HubAway:
    """The hub cannot be reached, or left; it is tried again.

    Attributes:
        attempt: Which try comes next, from 1.
        wait_s: When: in so many seconds.
        patience_s: For how long it is tried in all, in seconds.
    """

    attempt: int
    wait_s: float
    patience_s: float


@dataclass(frozen=True, slots=True)
class HubBack:
    """The hub is there again, and all was read that came meanwhile.

    Attributes:
        cursor: Behind what the reading went on; None: nothing was read yet.
        missing: How many frames are missing behind it.
    """

    cursor: Cursor | None
    missing: int
