"""Alternating measurements of a job and its floor in one process."""

from __future__ import annotations

__all__ = ("Row", "alternate")

import gc
import statistics
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

PAIRS = 5


@dataclass(frozen=True, slots=True)
class Row:
    """One figure: the median over pairs, and how far they spread.

    Attributes:
        name: What was measured.
        unit: Of `floor` and `ours`.
        floor: The floor's median.
        ours: Our median.
        ratios: Ours divided by the floor's, a pair each.
        limit: What the median ratio must not pass.
    """

    name: str
    unit: str
    floor: float
    ours: float
    ratios: tuple[float, ...]
    limit: float

    @property
    def ratio(self) -> float:
        """The median ratio."""
        return statistics.median(self.ratios)


def alternate(
    name: str, floor: Callable[[], None], ours: Callable[[], None], *, calls: int, limit: float
) -> Row:
    """Measure both, in turn, five times; return microseconds a call."""
    for job in (floor, ours):
        _time(job, calls // 10)
    pairs = [(_time(floor, calls), _time(ours, calls)) for _ in range(PAIRS)]
    return Row(
        name=name,
        unit="us",
        floor=statistics.median(least for least, _ in pairs),
        ours=statistics.median(spent for _, spent in pairs),
        ratios=tuple(spent / least for least, spent in pairs),
        limit=limit,
    )


def _time(job: Callable[[], None], calls: int) -> float:
    gc.collect()
    before = time.perf_counter()
    for _ in range(calls):
        job()
    return (time.perf_counter() - before) / calls * 1e6
