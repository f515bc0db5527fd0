"""What the hub's end of a transport has taken. Kept apart from it, to be read when it is gone."""

from __future__ import annotations

__all__ = ("BatchCounts",)

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from compass_agent.wire import Answer, Batch


class BatchCounts:
    """Counts batches by how they were answered. A batch that comes again is counted again.

    Attributes:
        batches: How many there were; "" those that were taken, else by the code of the refusal, or
            `missing` when priority frames before it have to come first.
        lost_trace: Trace frames of those taken that were dropped: they came too late, or from a
            writer that was replaced.
    """

    def __init__(self) -> None:
        self.batches: Counter[str] = Counter({"": 0})
        self.lost_trace = 0

    def add(self, batch: Batch, answer: Answer) -> None:
        """Count `batch`; one with number 0 is none."""
        if batch.number == 0:
            return
        code = "missing" if answer.missing_from else str(answer.code or "")
        self.batches[code] += 1
        if not code:
            self.lost_trace += len(batch.trace) if answer.sealed else answer.late_trace
