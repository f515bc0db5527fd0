"""A reader that never reads costs agent and hub a bounded room, and other readers no time."""

from __future__ import annotations

import os
from statistics import median
from typing import TYPE_CHECKING

import anyio
import pytest

from beside_still_reader import MIB, PER_SECOND, Size, both
from hubs import short_folder

if TYPE_CHECKING:
    from collections.abc import Callable

LANE = 8 * MIB
WINDOW = 6 * MIB
ROOM = LANE + WINDOW + 8 * MIB
LONGEST_EMIT_US = 1_000
SHORTEST_S = 0.01
"""A way shorter than this says more about the machine than about the hub."""


def p99(values: list[float]) -> float:
    return sorted(values)[len(values) * 99 // 100]


def usual_p99(values: list[float]) -> float:
    """The median of the p99 of half a second each, whatever else the machine did meanwhile."""
    some = PER_SECOND // 2
    return median(p99(values[at : at + some]) for at in range(0, len(values), some))


def check_still_reader(size: Size) -> None:
    with short_folder() as folder:
        alone, beside, growth = anyio.run(both, folder, size)
    ways = [way for run in alone for way in run.ways]
    emits = max(run.small["p999"] for run in alone)
    large_emits = max(run.large["p50"] for run in alone)
    print(
        f"memory grew by { ({name: f'{grown / MIB:.1f} MiB' for name, grown in growth.items()}) }"
    )
    print(f"p99 of the way to the other reader: {told(p99, ways, beside.ways)} ms")
    print(f"likewise, in most half seconds: {told(usual_p99, ways, beside.ways)} ms")
    print(f"p99.9 of emit: {emits:.0f}, beside {beside.small['p999']:.0f} us")
    print(f"median emit of a large frame: {large_emits:.0f}, beside {beside.large['p50']:.0f} us")
    assert max(growth.values()) < ROOM
    # What another process delays, it delays in both runs.
    assert beside.small["p999"] < max(LONGEST_EMIT_US, 3 * emits)
    assert beside.large["p50"] < max(LONGEST_EMIT_US, 3 * large_emits)
    assert usual_p99(beside.ways) < 2 * max(usual_p99(ways), SHORTEST_S)


def told(measure: Callable[[list[float]], float], alone: list[float], beside: list[float]) -> str:
    return f"{measure(alone) * 1e3:.1f}, beside one that never reads {measure(beside) * 1e3:.1f}"


@pytest.mark.slow
@pytest.mark.requirement("G-HUB-4", "G-READ-4")
def test_a_reader_that_never_reads_costs_a_window_and_delays_nobody() -> None:
    check_still_reader(Size(8_000, 40))


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.requirement("G-HUB-4", "G-READ-4")
def test_a_reader_that_reads_none_of_many_frames_costs_a_window_and_delays_nobody() -> None:
    small = int(os.environ.get("COMPASS_TEST_UNREAD", "100000"))
    check_still_reader(Size(small, max(1, small // 500)))
