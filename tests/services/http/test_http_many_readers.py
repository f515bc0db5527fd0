"""Many readers at once, and what a write of many frames is worth."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import pytest

from asgi import opened
from compass_agent.log.memory import MemoryLog
from compass_agent.runtime.web import running_http
from compass_agent.services.http import http_app
from hubs import short_folder
from writing_logs import E1, S, batch, end

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterable

READERS = 50
FRAMES = 10_000
EVENTS = f"/v1/sessions/{S}/events"
PLACE = re.compile(rb"^id: ([0-9a-f]{16})-([0-9]+)$", re.MULTILINE)
BENCH = Path(__file__).parents[2] / "bench"


class Readers:
    """What all readers got, and who has begun."""

    def __init__(self) -> None:
        self.places: list[list[int]] = [[] for _ in range(READERS)]
        self.begun = 0
        self.all_begun = anyio.Event()

    async def read(self, number: int, pieces: AsyncIterable[bytes]) -> None:
        """Take the places out of a stream, up to its end."""
        tail = b""
        async for piece in pieces:
            if not self.places[number]:
                self.begun += 1
                if self.begun == READERS:
                    self.all_begun.set()
            whole, _, tail = (tail + piece).rpartition(b"\n\n")
            self.places[number] += [int(seq) for _, seq in PLACE.findall(whole)]
            if b"event: end" in whole:
                return

    def check(self) -> None:
        """Everybody read every frame, in order, and then the end, whose place is the last one's."""
        expected = [*range(1, FRAMES + 1), FRAMES]
        assert [number for number, one in enumerate(self.places) if one != expected] == []


async def write(log: MemoryLog, readers: Readers) -> None:
    """Half of the frames are there when the readers come; the others come live."""
    await readers.all_begun.wait()
    written = FRAMES // 2
    number = 2
    while written < FRAMES:
        trace = range(written + 1, written + 26)
        written += 25
        await log.append(batch(number, trace=trace, through=written))
        number += 1
    await log.append(end(number, FRAMES))


async def half_a_log() -> MemoryLog:
    log = MemoryLog()
    await log.open(S, E1)
    await log.append(batch(1, trace=range(1, FRAMES // 2 + 1), through=FRAMES // 2))
    return log


@pytest.mark.slow
@pytest.mark.requirement("G-READ-4")
async def test_fifty_readers_of_ten_thousand_frames_miss_none() -> None:
    log, readers = await half_a_log(), Readers()
    app = http_app(log)

    async def reader(number: int) -> None:
        async with opened(app, EVENTS, patience_s=300) as answer:
            await readers.read(number, answer.body)

    with anyio.fail_after(300):
        async with anyio.create_task_group() as tasks:
            for number in range(READERS):
                tasks.start_soon(reader, number)
            tasks.start_soon(write, log, readers)
    readers.check()


async def pieces_of(path: Path) -> AsyncGenerator[bytes]:
    """A stream over a real socket; chunk sizes stand on lines of their own and do no harm."""
    async with await anyio.connect_unix(path) as connection:
        await connection.send(f"GET {EVENTS} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        async for piece in connection:
            yield piece


@pytest.mark.slow
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_fifty_readers_over_real_sockets_miss_none() -> None:
    log, readers = await half_a_log(), Readers()
    with short_folder() as folder, anyio.fail_after(300):
        async with running_http(log, unix=folder / "http.sock"), anyio.create_task_group() as tasks:
            for number in range(READERS):
                tasks.start_soon(readers.read, number, pieces_of(folder / "http.sock"))
            tasks.start_soon(write, log, readers)
    readers.check()


@pytest.mark.slow
def test_64_frames_a_write_are_ten_times_as_fast_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(BENCH), *sys.path])
    bench = importlib.import_module("sse")  # the bench is a folder of programs, no package
    row = bench.event_stream_row(frames=5_000, pairs=3)
    print(row)
    assert row.met, row
