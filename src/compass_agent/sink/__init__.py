"""The sink: two lanes between the agent and whoever publishes."""

from __future__ import annotations

__all__ = ("FrameSink", "LaneStatistics", "Publisher", "SinkStatistics")

from compass_agent.sink.publisher import Publisher
from compass_agent.sink.sink import FrameSink
from compass_agent.sink.statistics import LaneStatistics, SinkStatistics
