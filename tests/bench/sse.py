"""Frames a second over server-sent events: 64 frames a write, against one frame a write."""

from __future__ import annotations

__all__ = ("event_stream_row",)

import socket
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import anyio
from measure import PAIRS, Row, compared

from compass_agent.frames import FrameBuilder
from compass_agent.log.memory import MemoryLog
from compass_agent.runtime.web import running_http
from compass_agent.services.http import Pace
from compass_agent.wire import Batch, EndMark

if TYPE_CHECKING:
    from collections.abc import Generator

FRAMES = 20_000
SESSION, EPOCH = "bench", "1" * 16


def event_stream_row(frames: int = FRAMES, pairs: int = PAIRS) -> Row:
    """A stored session over a unix socket, read to its end; thousands of frames a second.

    Both servers read the same log; each has encoded its frames once before.
    """
    log = MemoryLog()
    anyio.run(_store, log, frames)
    with TemporaryDirectory(prefix="sse", dir="/tmp") as folder:
        one, many = Path(folder, "one.sock"), Path(folder, "many.sock")
        with _serving(log, one, Pace(batch=1, linger_s=0.0)), _serving(log, many, Pace()):
            _read(one)
            _read(many)
            times = [(_read(one), _read(many)) for _ in range(pairs)]
    rates = [(frames / alone / 1000, frames / together / 1000) for alone, together in times]
    return compared("SSE, 64 frames a write", "k/s", rates, limit=10.0, at_least=True)


async def _store(log: MemoryLog, frames: int) -> None:
    build = FrameBuilder(lambda: 1_700_000_000_000)
    data = build.assistant_text("a few words of an answer ", "m1").SerializeToString()
    await log.open(SESSION, EPOCH)
    trace = [(seq, data) for seq in range(1, frames + 1)]
    await log.append(Batch(SESSION, EPOCH, 1, [], trace, frames))
    await log.append(Batch(SESSION, EPOCH, 2, end=EndMark(4, "done", frames, 0)))


@contextmanager
def _serving(log: MemoryLog, path: Path, pace: Pace) -> Generator[None]:
    """Serve in a thread of its own, as a host that embeds it does."""
    ready, done = threading.Event(), threading.Event()

    async def serve() -> None:
        async with running_http(log, unix=path, pace=pace):
            ready.set()
            await anyio.to_thread.run_sync(done.wait)

    thread = threading.Thread(target=anyio.run, args=(serve,))
    thread.start()
    try:
        if not ready.wait(30):
            raise TimeoutError(path)
        yield
    finally:
        done.set()
        thread.join()


def _read(path: Path) -> float:
    """Read the session to its end; return the seconds that it took."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(60)
        connection.connect(str(path))
        before = time.perf_counter()
        connection.sendall(
            f"GET /v1/sessions/{SESSION}/events HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
        )
        tail = b""
        while b"event: end" not in tail:
            tail = tail[-16:] + connection.recv(1 << 18)
        return time.perf_counter() - before
