"""Counters of all sessions and hubs of this process, those that are over included.

Nothing is asked of a session for it: a sink that goes leaves its counters here. No sum ever falls
back, and none keeps a session alive.
"""

from __future__ import annotations

__all__ = ("HUBS", "SESSIONS", "HubTotals", "SessionTotals")

import os
import sys
import threading
from collections import Counter, deque
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple
from weakref import ref

from compass_agent.sink.journal import was_delivered
from compass_agent.sink.statistics import LaneStatistics, SinkStatistics

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from pathlib import Path

    from compass_agent.sink import FrameSink
    from compass_agent.sink.counts import Counts
    from compass_agent.transport.counts import BatchCounts

_NO_FRAMES = LaneStatistics(emitted=0, delivered=0, lost=0, waiting=0, in_doubt=0, peak=0)
_NOTHING = SinkStatistics(
    priority=_NO_FRAMES,
    trace=_NO_FRAMES,
    rejected=0,
    shortened=0,
    after_end=0,
    journal_errors=0,
    fenced=False,
)


class _Left(NamedTuple):
    """What a session that is gone left in a journal."""

    path: Path
    waiting: int
    in_doubt: int


class SessionTotals:
    """Sums over every sink that is or was followed."""

    def __init__(self) -> None:
        # A finalizer may come while this thread holds the lock, so none ever waits for it.
        self._lock = threading.Lock()
        self._followed: dict[Counts, ref[FrameSink]] = {}
        self._gone: deque[Counts] = deque()
        self._over = _NOTHING
        self._left: list[_Left] = []

    def follow(self, sink: FrameSink) -> None:
        """Count `sink` in, from its first frame on. Never waits."""
        counts = sink.counts

        def gone(_: ref[FrameSink], is_over: Callable[[], bool] = sys.is_finalizing) -> None:
            # What a process forgets as it ends may need what is forgotten already.
            if not is_over():
                self._gone.append(counts)
                self._fold_if_free()

        self._followed[counts] = ref(sink, gone)
        self._fold_if_free()

    def statistics(self) -> tuple[SinkStatistics, int]:
        """Return the sums as of now, and how many of the sessions are open.

        `peak` is the highest of all, `fenced` tells whether any sink is. Each sink is looked at in
        one step, so `emitted == delivered + lost + waiting + in_doubt` holds in the sums as well.
        """
        with self._lock:
            self._fold()
            self._settle()
            total, still_open = self._over, 0
            for counts, sink in self._followed.copy().items():
                alive = sink()
                if alive is None:
                    total = _sum(total, counts.statistics())
                else:
                    if (path := counts.left_in) is not None and was_delivered(path):
                        alive.note_delivered()
                    total = _sum(total, alive.statistics())
                    still_open += not counts.ended
            return total, still_open

    def forget(self) -> None:
        """Start from zero, in the child of a fork: what was counted is the parent's."""
        self._lock = threading.Lock()
        self._followed = {}
        self._gone = deque()
        self._over = _NOTHING
        self._left = []

    def _fold_if_free(self) -> None:
        if self._lock.acquire(blocking=False):
            try:
                self._fold()
            finally:
                self._lock.release()

    def _fold(self) -> None:
        """Put what has gone into one sum. The lock is held."""
        while self._gone:
            counts = self._gone.popleft()
            if self._followed.pop(counts, None) is not None:
                told, path = counts.statistics(), counts.left_in
                self._over = _sum(self._over, told)
                if path is not None:
                    self._left.append(_Left(path, told.priority.waiting, told.priority.in_doubt))

    def _settle(self) -> None:
        """Count as delivered what somebody handed to the log out of a journal. The lock is held."""
        for left in self._left.copy():
            if was_delivered(left.path):
                self._left.remove(left)
                lane = self._over.priority
                lane = replace(
                    lane,
                    delivered=lane.delivered + left.waiting + left.in_doubt,
                    waiting=lane.waiting - left.waiting,
                    in_doubt=lane.in_doubt - left.in_doubt,
                )
                self._over = replace(self._over, priority=lane)


class HubTotals:
    """Sums over every hub that runs or ran here. A process has one, seldom two."""

    def __init__(self) -> None:
        self._ends: list[BatchCounts] = []
        self._readers: dict[object, tuple[str, Callable[[], int]]] = {}

    def count(self, end: BatchCounts) -> None:
        """Count in what a hub takes, for good."""
        self._ends.append(end)

    @contextmanager
    def reading(self, protocol: str, count: Callable[[], int]) -> Generator[None]:
        """Count in the readers that `count` tells, until the block is left."""
        key = object()
        self._readers[key] = (protocol, count)
        try:
            yield
        finally:
            self._readers.pop(key, None)

    def batches(self) -> Counter[str]:
        """Return how many batches were answered, by code; "": taken. Empty: there was no hub."""
        found: Counter[str] = Counter()
        for end in self._ends.copy():
            found.update(end.batches.copy())
        return found

    def lost_trace(self) -> int | None:
        """Return how many trace frames came too late, or from a replaced writer; None: no hub."""
        ends = self._ends.copy()
        return sum(end.lost_trace for end in ends) if ends else None

    def readers(self) -> Counter[str]:
        """Return how many readers there are now, by the protocol that they speak."""
        found: Counter[str] = Counter()
        for protocol, count in self._readers.copy().values():
            found[protocol] += count()
        return found

    def forget(self) -> None:
        """Start from zero, in the child of a fork: hubs are the parent's."""
        self._ends = []
        self._readers = {}


def _sum(one: SinkStatistics, other: SinkStatistics) -> SinkStatistics:
    return SinkStatistics(
        priority=_lanes(one.priority, other.priority),
        trace=_lanes(one.trace, other.trace),
        rejected=one.rejected + other.rejected,
        shortened=one.shortened + other.shortened,
        after_end=one.after_end + other.after_end,
        journal_errors=one.journal_errors + other.journal_errors,
        fenced=one.fenced or other.fenced,
        retries=one.retries + other.retries,
    )


def _lanes(one: LaneStatistics, other: LaneStatistics) -> LaneStatistics:
    return LaneStatistics(
        emitted=one.emitted + other.emitted,
        delivered=one.delivered + other.delivered,
        lost=one.lost + other.lost,
        waiting=one.waiting + other.waiting,
        in_doubt=one.in_doubt + other.in_doubt,
        peak=max(one.peak, other.peak),
    )


SESSIONS = SessionTotals()
HUBS = HubTotals()

os.register_at_fork(after_in_child=SESSIONS.forget)
os.register_at_fork(after_in_child=HUBS.forget)
