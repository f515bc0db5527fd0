"""An error is told as fast as the far side answers, whatever else the agent has to say."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bench.flooded import measure_ways

if TYPE_CHECKING:
    from pathlib import Path

BATCH_S = 0.04


@pytest.mark.requirement("G-PUMP-1", "G-LOG-4")
def test_an_error_waits_for_one_batch_at_most_when_the_trace_lane_is_flooded(
    tmp_path: Path,
) -> None:
    ways = measure_ways(tmp_path / "log.db", errors=8, batch_s=BATCH_S)
    # What a busy machine adds: one batch's time. `make bench` measures without.
    bound = 2 * max(ways.idle_status) + BATCH_S
    assert ways.lost > 10 * 1_024  # it was a flood
    # One of them may meet a pause of the machine.
    assert sorted(ways.status)[-2] < bound
    assert sorted(ways.tail)[-2] < bound + ways.lane
