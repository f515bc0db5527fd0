"""What a sink counts, apart from the sink: it can still be read once the sink is gone."""

from __future__ import annotations

__all__ = ("Counts",)

from typing import TYPE_CHECKING

from compass_agent.sink.statistics import SinkStatistics

if TYPE_CHECKING:
    from pathlib import Path

    from compass_agent.sink.journal import Journal
    from compass_agent.sink.lane import Lane
    from compass_agent.sink.outbox import Outbox


class Counts:
    """The counters of one sink. The sink's lock guards every call for as long as there is a sink.

    It never refers to the sink, so whoever holds it keeps no session alive.

    Attributes:
        rejected: As in `SinkStatistics`.
        shortened: Likewise.
        after_end: Likewise.
        retries: Likewise.
        journal: What counts errors of the journal; None: there is none.
    """

    __slots__ = (
        "_outbox",
        "_priority",
        "_trace",
        "after_end",
        "journal",
        "rejected",
        "retries",
        "shortened",
    )

    def __init__(self, priority: Lane, trace: Lane, outbox: Outbox) -> None:
        self._priority = priority
        self._trace = trace
        self._outbox = outbox
        self.rejected = 0
        self.shortened = 0
        self.after_end = 0
        self.retries = 0
        self.journal: Journal | None = None

    @property
    def ended(self) -> bool:
        """Whether the epoch ended."""
        return self._outbox.ended

    @property
    def left_in(self) -> Path | None:
        """The journal that was given up and holds all that is not delivered; None: nothing is."""
        lane = self._priority
        if self.journal is None or not (lane.waiting or lane.in_doubt):
            return None
        return self.journal.given_up

    def statistics(self) -> SinkStatistics:
        """Return the counters as of now."""
        return SinkStatistics(
            priority=self._priority.statistics(),
            trace=self._trace.statistics(),
            rejected=self.rejected,
            shortened=self.shortened,
            after_end=self.after_end,
            journal_errors=self.journal.errors if self.journal else 0,
            fenced=self._outbox.fenced,
            retries=self.retries,
        )
