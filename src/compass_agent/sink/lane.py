"""One lane: frames that wait, and its counters. The sink's lock guards every call."""

from __future__ import annotations

__all__ = ("Entry", "Lane")

import sys
from collections import deque
from typing import TypeAlias

from compass_agent.sink.statistics import LaneStatistics

Entry: TypeAlias = tuple[int, bytes]


class Lane:
    """Frames in `seq` order. Without bounds nothing is ever dropped.

    Args:
        capacity: The most frames that wait; None: no bound.
        max_bytes: The most bytes that wait; None: no bound.
    """

    __slots__ = (
        "_capacity",
        "_max_bytes",
        "delivered",
        "emitted",
        "in_doubt",
        "lost",
        "peak",
        "size",
        "waiting",
    )

    def __init__(self, capacity: int | None = None, max_bytes: int | None = None) -> None:
        self._capacity = sys.maxsize if capacity is None else capacity
        self._max_bytes = sys.maxsize if max_bytes is None else max_bytes
        self.waiting: deque[Entry] = deque()
        self.size = 0
        self.emitted = 0
        self.delivered = 0
        self.lost = 0
        self.in_doubt = 0
        self.peak = 0

    def append(self, seq: int, data: bytes) -> None:
        """Add a frame; of a bounded lane that is full the oldest go first."""
        waiting = self.waiting
        size = len(data)
        # An interrupt that raises comes after a call: with one call, the last, it finds a whole.
        self.emitted += 1
        self.size += size
        waiting.append((seq, data))
        count = len(waiting)
        while count > self._capacity or (self.size > self._max_bytes and count > 1):
            size = len(waiting[0][1])
            # As above: the one call that changes something comes last.
            self.size -= size
            self.lost += 1
            waiting.popleft()
            count -= 1
        if count > self.peak:  # noqa: PLR1730 - a call of max is dear on the hot path
            self.peak = count

    def take(self, frames: int, size: int, *, at_least_one: bool) -> list[Entry]:
        """Take up to `frames` frames of together `size` bytes from the front; they are in doubt.

        Args:
            frames: At most so many.
            size: At most so many bytes.
            at_least_one: Take the first even when it is larger than `size`.
        """
        taken: list[Entry] = []
        while self.waiting and len(taken) < frames:
            length = len(self.waiting[0][1])
            if length > size and (taken or not at_least_one):
                break
            taken.append(self.waiting.popleft())
            size -= length
            self.size -= length
        self.in_doubt += len(taken)
        return taken

    def put_back(self, entries: list[Entry]) -> None:
        """Let frames that were taken wait again, in front."""
        self.waiting.extendleft(reversed(entries))
        self.size += sum(len(data) for _, data in entries)
        self.in_doubt -= len(entries)
        self.peak = max(self.peak, len(self.waiting))

    def settle(self, count: int, lost: int = 0) -> None:
        """Note that `count` frames in doubt were answered, `lost` of them as lost."""
        self.in_doubt -= count
        self.delivered += count - lost
        self.lost += lost

    def deliver_rest(self) -> None:
        """Note that every frame that waits or is in doubt was stored, by another way."""
        self.delivered += len(self.waiting) + self.in_doubt
        self.in_doubt = self.size = 0
        self.waiting.clear()

    def lose_waiting(self) -> None:
        """Lose every frame that waits."""
        self.lost += len(self.waiting)
        self.waiting.clear()
        self.size = 0

    def first_seq(self) -> int | None:
        """The lowest `seq` that waits."""
        return self.waiting[0][0] if self.waiting else None

    def statistics(self) -> LaneStatistics:
        """The counters as of now."""
        return LaneStatistics(
            emitted=self.emitted,
            delivered=self.delivered,
            lost=self.lost,
            waiting=len(self.waiting),
            in_doubt=self.in_doubt,
            peak=self.peak,
        )
