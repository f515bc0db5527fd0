"""Counters of all sessions of the process, as an OpenTelemetry SDK reads them."""

from __future__ import annotations

import gc
import multiprocessing
import subprocess
import sys
import threading
import weakref
from typing import TYPE_CHECKING, Any

import pytest
from opentelemetry.metrics import Meter, NoOpMeterProvider

from compass_agent import FrameSink, Pump, open_session
from compass_agent.errors.codes import ErrorCode
from compass_agent.log import open_log
from compass_agent.runtime.journals import deliver_journals
from compass_agent.runtime.totals import SESSIONS
from compass_agent.telemetry import ExtraMissingError, carry_traces, context_of, export_metrics
from compass_agent.testing import capture_frames
from compass_agent.transport import LocalTransport
from sinks import error, stored, text
from telemetry_reading import PARTS, Metrics, assert_lanes_add_up

if TYPE_CHECKING:
    from pathlib import Path

    from opentelemetry.util.types import Attributes

    from compass_agent import SinkStatistics
    from compass_agent.wire import Answer, Batch
    from telemetry_reading import Points

LOG = "memory:"


def of_lanes(statistics: list[SinkStatistics]) -> Points:
    """What the metrics of the lanes are to be, from what the sessions say."""
    return {
        (f"compass.frames.{part}", lane): sum(
            getattr(getattr(one, lane), part) for one in statistics
        )
        for part in ("emitted", *PARTS)
        for lane in ("priority", "trace")
    }


def lanes_of(points: Points) -> Points:
    return {key: value for key, value in points.items() if key[1] in ("priority", "trace")}


@pytest.mark.requirement("G-OTEL-1")
def test_the_metrics_are_what_the_sessions_say(metrics: Metrics) -> None:
    crowded = FrameSink("s9", trace_capacity=2)
    SESSIONS.follow(crowded)
    for _ in range(5):
        crowded.emit(text())
    batch = crowded.take()
    crowded.emit(error())
    counted = [crowded.statistics()]
    with capture_frames():
        for number in range(3):
            with open_session(f"s{number}") as session:
                for _ in range(number + 1):
                    session.notice("a line")
                points = metrics.collect()
                assert points["compass.sessions.open", ""] == 2
                assert lanes_of(points) == of_lanes([*counted, session.statistics()])
                assert_lanes_add_up(points)
            counted.append(session.statistics())
    assert batch is not None
    crowded.settle(batch, stored(batch))
    crowded.end(4)
    points = metrics.collect()
    assert points["compass.sessions.open", ""] == 0
    assert lanes_of(points) == of_lanes([crowded.statistics(), *counted[1:]])
    assert points["compass.frames.lost", "trace"] == 3
    assert points["compass.frames.waiting", "priority"] > 0


@pytest.mark.requirement("G-OTEL-1")
def test_what_sessions_counted_outlives_them_and_none_is_kept_alive(metrics: Metrics) -> None:
    with open_session("s1", log=LOG) as session:
        session.notice("a line")
        sink = weakref.ref(session._sink)  # pyright: ignore[reportPrivateUsage] - nothing else may hold it
    counted = of_lanes([session.statistics()])
    del session
    gc.collect()
    assert sink() is None
    for _ in range(2):
        assert lanes_of(metrics.collect()) == counted
    with open_session("s2", log=LOG):
        pass
    points = metrics.collect()
    assert points["compass.frames.delivered", "priority"] == 4
    assert points["compass.frames.delivered", "trace"] == 1


@pytest.mark.requirement("G-OTEL-1")
@pytest.mark.requirement("G-PUMP-5", "G-OTEL-1")
@pytest.mark.parametrize("kept", [True, False])
async def test_what_a_session_left_settles_once_somebody_delivers_it(
    metrics: Metrics, tmp_path: Path, kept: bool
) -> None:
    url, before = f"unix:{tmp_path}/hub.sock", metrics.collect()

    def changes() -> Points:
        points = metrics.collect()
        assert_lanes_add_up(points)
        changed = {key: points[key] - before[key] for key in lanes_of(points)}
        return {key: value for key, value in changed.items() if value}

    session = open_session("s1", log=url, close_timeout=0.3)
    with session:
        session.feed({"type": "agent_start"})
        for number in range(40):
            session.notice(f"line {number}")
    emitted = {lane: changes()["compass.frames.emitted", lane] for lane in ("priority", "trace")}
    left = session.statistics().priority
    # Nobody answered: trace is lost, also what was sent, and the rest waits in the journal.
    assert left.waiting + left.in_doubt == emitted["priority"] > 0
    assert changes()["compass.frames.lost", "trace"] == emitted["trace"] >= 40
    if not kept:
        del session
        gc.collect()
    assert ("compass.frames.delivered", "priority") not in changes()
    log = open_log("memory:")
    assert await deliver_journals(url, LocalTransport(log)) == 1
    assert changes() == {
        ("compass.frames.emitted", "priority"): emitted["priority"],
        ("compass.frames.delivered", "priority"): emitted["priority"],
        ("compass.frames.emitted", "trace"): emitted["trace"],
        ("compass.frames.lost", "trace"): emitted["trace"],
    }
    await log.aclose()


def test_lanes_add_up_in_each_collection_while_threads_emit_and_sessions_go(
    metrics: Metrics,
) -> None:
    stop = threading.Event()

    def work(name: str) -> None:
        number = 0
        while not stop.is_set():
            number += 1
            with open_session(f"{name}-{number}", log=LOG, trace_capacity=4) as session:
                for _ in range(20):
                    session.notice("a line")

    threads = [threading.Thread(target=work, args=(name,)) for name in ("a", "b")]
    for thread in threads:
        thread.start()
    before = metrics.collect()
    try:
        for _ in range(100):
            points = metrics.collect()
            assert_lanes_add_up(points)
            for key, value in before.items():
                assert key[0] in metrics.falling or points[key] >= value, key
            before = points
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert metrics.collect()["compass.frames.emitted", "trace"] > 0


def test_what_may_fall_is_known_to_readers_and_what_is_counted(metrics: Metrics) -> None:
    metrics.collect()
    assert metrics.falling == {
        "compass.frames.waiting",
        "compass.frames.in_doubt",
        "compass.sessions.open",
    }
    assert metrics.units["compass.frames.emitted"] == "{frame}"


def test_what_entered_no_lane_is_counted(metrics: Metrics) -> None:
    with capture_frames(), open_session("s1") as session:
        nothing: Any = "no frame"
        session._sink.emit(nothing)  # pyright: ignore[reportPrivateUsage] - a session emits none
        session.notice("x" * 600_000)
    session.notice("too late")
    points = metrics.collect()
    for name in ("rejected", "shortened", "after_end"):
        assert points[f"compass.frames.{name}", ""] == 1, name
    assert points["compass.journal.errors", ""] == 0


class Failing:
    """Takes a batch the third time that it is offered."""

    def __init__(self) -> None:
        self.tries = 0

    async def publish(self, batch: Batch) -> Answer:
        self.tries += 1
        if self.tries < 3:
            raise OSError
        return stored(batch)


async def test_attempts_that_are_made_again_are_counted(metrics: Metrics) -> None:
    sink = FrameSink("s1")
    SESSIONS.follow(sink)
    async with Pump(sink, Failing()):
        sink.emit(text())
        sink.emit(error())
    assert sink.statistics().retries == 2
    assert metrics.collect()["compass.publish.retries", ""] == 2


class Asked(NoOpMeterProvider):
    """Notes who asks for a meter."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def get_meter(
        self,
        name: str,
        version: str | None = None,
        schema_url: str | None = None,
        attributes: Attributes | None = None,
    ) -> Meter:
        self.names.append(name)
        return super().get_meter(name, version, schema_url, attributes)


def test_registering_again_changes_nothing() -> None:
    provider = Asked()
    for _ in range(2):
        export_metrics(provider)
    assert provider.names == ["compass_agent"]


# The provider of a process can be set once, so this process is not the place for it.
SET_LATER = """
from opentelemetry.metrics import set_meter_provider
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from compass_agent.telemetry import export_metrics
assert not export_metrics()
reader = InMemoryMetricReader()
provider = MeterProvider([reader])
set_meter_provider(provider)
meters = []
make = provider.get_meter
provider.get_meter = lambda *args: meters.append(args) or make(*args)
assert export_metrics() and export_metrics(provider)
assert meters == []
(scope,) = reader.get_metrics_data().resource_metrics[0].scope_metrics
assert "compass.frames.emitted" in [one.name for one in scope.metrics]
"""


def test_a_provider_that_the_process_sets_later_takes_the_metrics() -> None:
    subprocess.run([sys.executable, "-W", "error", "-c", SET_LATER], check=True, timeout=45)


def test_without_an_sdk_nothing_takes_the_metrics() -> None:
    assert not export_metrics()
    assert not export_metrics()


def test_a_host_without_the_extra_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.metrics", None)
    for call in (export_metrics, carry_traces, lambda: context_of(None)):  # pyright: ignore[reportArgumentType] - it gets no further
        with pytest.raises(ExtraMissingError, match=r"pip install 'compass-agent\[otel\]'") as told:
            call()
        assert told.value.code is ErrorCode.UNSUPPORTED_INPUT


def _emitted() -> None:
    """Exit with what the child of a fork has counted."""
    sys.exit(SESSIONS.statistics()[0].priority.emitted)


def test_the_child_of_a_fork_counts_from_zero(metrics: Metrics) -> None:
    with capture_frames(), open_session("s1"):
        assert metrics.collect()["compass.frames.emitted", "priority"] == 1
        child = multiprocessing.get_context("fork").Process(target=_emitted)
        child.start()
        child.join(20)
        assert child.exitcode == 0
