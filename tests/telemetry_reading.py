"""Reads metrics as an OpenTelemetry SDK collects them."""

from __future__ import annotations

__all__ = ("Metrics", "Points", "assert_lanes_add_up")

from typing import TYPE_CHECKING, TypeAlias

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader, NumberDataPoint, Sum

from compass_agent.telemetry import export_metrics

if TYPE_CHECKING:
    from collections.abc import Mapping

Points: TypeAlias = "dict[tuple[str, str], int | float]"
"""A value by the metric's name and the value of its one attribute, or ""."""

PARTS = ("delivered", "lost", "waiting", "in_doubt")


class Metrics:
    """A provider of the SDK to which the metrics go.

    Attributes:
        provider: The provider.
        falling: The names of the metrics that may fall.
        units: The unit of each.
    """

    def __init__(self) -> None:
        self.reader = InMemoryMetricReader()
        self.provider = MeterProvider([self.reader])
        assert export_metrics(self.provider)
        self.falling: set[str] = set()
        self.units: dict[str, str | None] = {}

    def collect(self) -> Points:
        """One collection."""
        data = self.reader.get_metrics_data()
        assert data is not None
        found: Points = {}
        for metric in data.resource_metrics[0].scope_metrics[0].metrics:
            assert isinstance(metric.data, Sum)
            self.units[metric.name] = metric.unit
            if not metric.data.is_monotonic:
                self.falling.add(metric.name)
            for point in metric.data.data_points:
                assert isinstance(point, NumberDataPoint)
                key = (metric.name, "".join(map(str, (point.attributes or {}).values())))
                assert key not in found, "one value each, however often it was registered"
                found[key] = point.value
        return found

    def close(self) -> None:
        """Read no more."""
        self.provider.shutdown()


def assert_lanes_add_up(points: Mapping[tuple[str, str], int | float]) -> None:
    """Check what holds for each lane at any moment."""
    for lane in ("priority", "trace"):
        parts = sum(points[f"compass.frames.{part}", lane] for part in PARTS)
        assert points["compass.frames.emitted", lane] == parts
