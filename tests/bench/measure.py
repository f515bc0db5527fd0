"""Alternating measurements of a job and its floor in one process."""

from __future__ import annotations

__all__ = ("PAIRS", "Row", "alternate", "compare", "compared", "p99_ms")

import math
import statistics
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

PAIRS = 5
SLICES = 20


@dataclass(frozen=True, slots=True)
class Row:
    """One figure: the pair whose ratio is the median, and how far the ratios spread.

    Attributes:
        name: What was measured.
        unit: Of `floor` and `ours`.
        floor: The floor, in that pair.
        ours: Ours, in that pair.
        ratios: Ours divided by the floor's, a pair each.
        limit: What the median ratio must not pass; None: the row is for comparison alone.
        at_least: The limit is one from below: more is better.
        limit_words: How to write the limit, when it is no ratio.
    """

    name: str
    unit: str
    floor: float
    ours: float
    ratios: tuple[float, ...]
    limit: float | None
    at_least: bool = False
    limit_words: str = ""

    @property
    def bound(self) -> str:
        """The limit, in words."""
        if self.limit is None:
            return "none"
        return (
            f"at {'least' if self.at_least else 'most'} {self.limit_words or f'{self.limit:.3g}'}"
        )

    @property
    def met(self) -> bool:
        """Whether the median ratio keeps the limit."""
        if self.limit is None:
            return True
        return self.ratio >= self.limit if self.at_least else self.ratio <= self.limit

    @property
    def ratio(self) -> float:
        """The median ratio."""
        return statistics.median(self.ratios)


def alternate(
    name: str, floor: Callable[[], None], ours: Callable[[], None], *, calls: int, limit: float
) -> Row:
    """Measure both, in turn, five times; return microseconds a call.

    A pair is the medians of short slices that alternate too, so that what else the machine does
    meets both alike.
    """
    pairs = [_pair(floor, ours, calls // SLICES) for _ in range(PAIRS)]
    return compared(name, "us", pairs, limit=limit)


def compare(
    name: str, floor: Callable[[], float], ours: Callable[[], float], *, limit: float
) -> Row:
    """Run both, in turn, five times, once before that to warm up; each returns frames a second."""
    floor()
    ours()
    pairs = [(floor() / 1000, ours() / 1000) for _ in range(PAIRS)]
    return compared(name, "k/s", pairs, limit=limit, at_least=True)


def compared(
    name: str,
    unit: str,
    pairs: Sequence[tuple[float, float]],
    *,
    limit: float | None,
    at_least: bool = False,
    limit_words: str = "",
) -> Row:
    """Return the row of (floor, ours) pairs that were measured in turn, an odd number of them."""
    floor, ours = sorted(pairs, key=lambda pair: pair[1] / pair[0])[len(pairs) // 2]
    return Row(
        name=name,
        unit=unit,
        floor=floor,
        ours=ours,
        ratios=tuple(ours / floor for floor, ours in pairs),
        limit=limit,
        at_least=at_least,
        limit_words=limit_words,
    )


def p99_ms(seconds: Sequence[float]) -> float:
    """The milliseconds within which 99 of 100 came."""
    return sorted(seconds)[math.ceil(len(seconds) * 0.99) - 1] * 1e3


def _pair(floor: Callable[[], None], ours: Callable[[], None], calls: int) -> tuple[float, float]:
    slices = [(_time(floor, calls), _time(ours, calls)) for _ in range(SLICES)]
    return statistics.median(s[0] for s in slices), statistics.median(s[1] for s in slices)


def _time(job: Callable[[], None], calls: int) -> float:
    before = time.perf_counter()
    for _ in range(calls):
        job()
    return (time.perf_counter() - before) / calls * 1e6
