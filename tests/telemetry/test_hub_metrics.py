"""What a hub takes and who reads there, as an OpenTelemetry SDK reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import pytest

from asgi import EventReader
from compass_agent.errors.codes import ErrorCode
from compass_agent.log.memory import MemoryLog
from compass_agent.runtime.hub import running_hub
from compass_agent.runtime.web import running_http
from compass_agent.transport.counts import BatchCounts
from compass_agent.wire import Answer, SessionMeta
from hubs import published, publishing, short_folder, subscribed
from loops import ASYNCIO
from writing_logs import E1, S, batch, state

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from telemetry_reading import Metrics


@pytest.fixture
def anyio_backend() -> object:
    """Run each async test on asyncio, as gRPC does."""
    return ASYNCIO


@pytest.fixture
def folder() -> Generator[Path]:
    with short_folder() as made:
        yield made


@pytest.mark.requirement("G-OTEL-1")
async def test_a_hub_counts_batches_and_readers(metrics: Metrics, folder: Path) -> None:
    assert not any("hub" in name for name, _ in metrics.collect())
    async with running_hub(MemoryLog(), unix=folder / "hub.sock") as hub:
        target = hub.targets[0]
        with anyio.fail_after(20):
            async with publishing(target) as call:
                await published(call, batch(1, priority={1: state(2)}, through=1), SessionMeta())
                # What comes before this one never came.
                gap = batch(2, priority={9: state(3)}, prev_priority=8)
                assert (await published(call, gap)).missing_from
            async with subscribed(target, session_id=S, follow=True) as reader:
                assert await reader.next() is not None
                points = metrics.collect()
                assert points["compass.hub.readers", "grpc"] == 1
        assert points["compass.hub.batches", ""] == 1
        assert points["compass.hub.batches", "missing"] == 1
        assert points["compass.hub.frames.lost", ""] == 0
    points = metrics.collect()
    assert points["compass.hub.batches", ""] == 1
    assert points.get(("compass.hub.readers", "grpc"), 0) == 0


async def test_readers_by_http_are_counted(metrics: Metrics, folder: Path) -> None:
    log = MemoryLog()
    await log.open(S, E1, SessionMeta())
    await log.append(batch(1, priority={1: state(2)}, through=1))
    path = folder / "http.sock"
    async with running_http(log, unix=path):
        with anyio.fail_after(20):
            async with await anyio.connect_unix(path) as stream:
                await stream.send(
                    f"GET /v1/sessions/{S}/events HTTP/1.0\r\nHost: localhost\r\n\r\n".encode()
                )
                reader = EventReader()
                while not reader.feed(await stream.receive()):
                    pass
                assert metrics.collect()["compass.hub.readers", "sse"] == 1


def test_a_batch_is_counted_by_its_answer() -> None:
    counts = BatchCounts()
    three = batch(1, trace=[1, 2, 3])
    counts.add(three, Answer(1, 0, 3, late_trace=2))
    counts.add(three, Answer(1, 0, 3, sealed=True))
    counts.add(three, Answer(1, 0, 0, code=ErrorCode.UNAVAILABLE))
    counts.add(batch(0), Answer(0, 0, 0))
    assert dict(counts.batches) == {"": 2, "unavailable": 1}
    assert counts.lost_trace == 5
