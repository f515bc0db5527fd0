"""Counters of a sink, as frozen snapshots."""

from __future__ import annotations

__all__ = ("LaneStatistics", "SinkStatistics")

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LaneStatistics:
    """One lane. `emitted == delivered + lost + waiting + in_doubt` holds in every snapshot.

    Attributes:
        emitted: Frames that entered the lane.
        delivered: Frames that the log has stored.
        lost: Frames that were dropped, refused, came too late, or were not answered by the end.
        waiting: Frames that wait to be sent.
        in_doubt: Frames of the batch in flight, not answered yet.
        peak: The most frames that ever waited at once.
    """

    emitted: int
    delivered: int
    lost: int
    waiting: int
    in_doubt: int
    peak: int


@dataclass(frozen=True, slots=True)
class SinkStatistics:
    """A sink at one moment.

    Attributes:
        priority: The lane that never drops.
        trace: The bounded lane.
        rejected: What was emitted but is no frame; it entered no lane.
        shortened: Frames that were too large and were cut.
        after_end: Frames that were emitted after the end; they entered no lane.
        journal_errors: Priority frames and end marks that are in no journal: the disk is full, or
            somebody removed the file.
        fenced: A newer epoch of the session is open: trace is not taken any more.
        retries: Attempts to publish that failed, so that the same was tried again.
    """

    priority: LaneStatistics
    trace: LaneStatistics
    rejected: int
    shortened: int
    after_end: int
    journal_errors: int
    fenced: bool
    retries: int = 0
