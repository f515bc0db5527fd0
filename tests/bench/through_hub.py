"""Frames through a hub, each end in a process of its own, against plain sockets."""

from __future__ import annotations

__all__ = ("end_to_end_row", "hub_to_reader_row", "still_reader_row", "writing_row")

import asyncio
import multiprocessing
import os
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import sockets
from anyio.lowlevel import checkpoint
from frames import encoded_frames
from grpc import aio
from measure import PAIRS, Row, compare, compared

from beside_still_reader import MIB, Size, both
from compass.v1.compass_pb2 import AgentSessionFrame, SubscribeAgentSessionRequest
from compass_agent.frames import SessionFrame
from compass_agent.log.sqlite import SqliteLog
from compass_agent.publish import Pump
from compass_agent.runtime.hub import running_hub
from compass_agent.sink import FrameSink
from compass_agent.transport.grpc import GrpcTransport
from compass_agent.wire import Batch
from compass_agent.wire.items import FrameRun
from compass_agent.wire.relay import SUBSCRIBE, Relay, Subscription
from nats_servers import free_port

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from multiprocessing.synchronize import Event

_EPOCH = "0" * 16
_BATCH = 256
_TOKEN = "0123456789abcdef" * 2
_ROOM_MIB = 22.0
_spawn = multiprocessing.get_context("spawn")


def hub_to_reader_row(frames: int = 102_400, *, tcp: bool = False) -> Row:
    """Replay a session to one reader, in messages as large as the subscriber's library asks for."""
    with _folder() as folder:
        hub, plain = str(folder / "hub.sock"), str(folder / "plain.sock")
        if tcp:
            hub, plain = (f"127.0.0.1:{free_port()}" for _ in range(2))
        ready = _spawn.Event(), _spawn.Event()
        with (
            _running(_serve_hub, hub, str(folder / "log.db"), frames, ready[0]),
            _running(sockets.serve_frames, plain, frames, ready[1]),
        ):
            for one in ready:
                one.wait()

            def floor() -> float:
                before = time.perf_counter()
                assert asyncio.run(sockets.read_frames(plain)) == frames
                return frames / (time.perf_counter() - before)

            def ours() -> float:
                before = time.perf_counter()
                asyncio.run(_subscribe(hub, "s", frames))
                return frames / (time.perf_counter() - before)

            name = f"hub to reader, {'TCP' if tcp else 'unix'}"
            return compare(name, floor, ours, limit=0.5)


def end_to_end_row(frames: int = 51_200, *, tcp: bool = False) -> Row:
    """From `emit` through hub and SQLite to a reader, against a relay between two sockets."""
    with _folder() as folder:
        hub, source, target = (str(folder / name) for name in ("hub.sock", "in.sock", "out.sock"))
        if tcp:
            hub, source, target = (f"127.0.0.1:{free_port()}" for _ in range(3))
        ready = [_spawn.Event() for _ in range(2)]
        go = [_spawn.Event() for _ in range(2)]
        opened = _spawn.Event()
        with (
            _running(_serve_hub, hub, str(folder / "log.db"), 0, ready[0]),
            _running(sockets.relay, source, target, str(folder / "plain.db"), ready[1]),
            _running(_publish, hub, frames, go[0], opened),
            _running(sockets.produce, source, frames, go[1]),
        ):
            for one in ready:
                one.wait()
            run = 0

            def floor() -> float:
                before = time.perf_counter()
                go[1].set()
                assert asyncio.run(sockets.read_frames(target)) == frames
                return frames / (time.perf_counter() - before)

            def ours() -> float:
                nonlocal run
                run += 1
                before = time.perf_counter()
                go[0].set()
                opened.wait()
                opened.clear()
                asyncio.run(_subscribe(hub, f"s{run}", frames))
                return frames / (time.perf_counter() - before)

            name = f"emit to reader, {'TCP' if tcp else 'unix'}"
            return compare(name, floor, ours, limit=0.3)


def writing_row(frames: int = 102_400) -> Row:
    """The hub's CPU for each frame that one reader of a stored session gets, all of it.

    Against encoding it for the first reader, which the rows beside it are ratios of, too.
    """
    encoded = encoded_frames(frames)
    run = FrameRun(_EPOCH, range(1, frames + 1), encoded)
    pairs: list[tuple[float, float]] = []
    with _folder() as folder:
        hub, ready = str(folder / "hub.sock"), _spawn.Event()
        with _running(_serve_hub, hub, str(folder / "log.db"), frames, ready) as pid:
            ready.wait()
            for _ in range(PAIRS):
                relay = Relay(Subscription("s", None, True, frozenset(), sockets.A_WRITE))
                before = time.process_time()
                for _message in relay.messages(run):
                    pass
                floor = time.process_time() - before
                before = _processor_s(pid)
                asyncio.run(_subscribe(hub, "s", frames))
                pairs.append((floor / frames * 1e6, (_processor_s(pid) - before) / frames * 1e6))
    return compared("writing to a reader, each", "us", pairs, limit=None)


def still_reader_row() -> Row:
    """How the hub's memory grows beside a reader that never reads, against what it may grow by.

    The bound is one full trace lane of an agent, the transport's window and 8 MiB.
    """
    with _folder() as folder:
        _, _, growth = anyio.run(both, folder, Size(20_000, 40))
    pairs = [(_ROOM_MIB, growth["hub"] / MIB)]
    return compared("memory, a still reader", "MiB", pairs, limit=1.0)


async def _subscribe(path: str, session: str, frames: int) -> None:
    """Read until the last frame came."""
    service, method = SUBSCRIBE
    target = path if _is_port(path) else f"unix:{path}"
    token = (("authorization", f"Bearer {_TOKEN}"),)
    async with aio.insecure_channel(target) as channel:
        subscribe = channel.unary_stream(
            f"/{service}/{method}",
            request_serializer=SubscribeAgentSessionRequest.SerializeToString,
            response_deserializer=AgentSessionFrame.FromString,
        )
        request = SubscribeAgentSessionRequest(session_id=session, max_batch=sockets.A_WRITE)
        call = subscribe(request, metadata=token)
        count = 0
        try:
            async for message in call:
                last = message.more[-1] if message.more else message
                count += 1 + len(message.more)
                if last.seq >= frames:
                    break
        finally:
            call.cancel()
        assert count >= frames


def _serve_hub(path: str, database: str, frames: int, ready: Event) -> None:
    async def main() -> None:
        log = SqliteLog(database)
        if frames:
            await log.open("s", _EPOCH)
            encoded = encoded_frames(frames)
            for first in range(0, frames, _BATCH):
                some = encoded[first : first + _BATCH]
                trace = [(first + place + 1, data) for place, data in enumerate(some)]
                await log.append(Batch("s", _EPOCH, first // _BATCH + 1, [], trace, trace[-1][0]))
        listen, unix = (path, None) if _is_port(path) else (None, Path(path))
        async with running_hub(log, unix=unix, listen=listen, token=_TOKEN):
            ready.set()
            await anyio.sleep_forever()

    asyncio.run(main())


def _publish(path: str, frames: int, go: Event, opened: Event) -> None:
    """Publish a session of `frames` frames each time that `go` is set."""
    ready = [SessionFrame.FromString(data) for data in encoded_frames(frames)]

    async def publish(session: str) -> None:
        sink = FrameSink(session, trace_capacity=frames, trace_bytes=1 << 30)
        transport = GrpcTransport(path if _is_port(path) else f"unix:{path}", _TOKEN)
        await transport.open(session, sink.epoch)
        opened.set()
        async with Pump(sink, transport):
            for place, frame in enumerate(ready):
                sink.emit(frame)
                if place % _BATCH == 0:
                    await checkpoint()
        await transport.aclose()

    run = 0
    while True:
        go.wait()
        go.clear()
        run += 1
        asyncio.run(publish(f"s{run}"))


def _processor_s(pid: int) -> float:
    """Return the seconds of processor time that a process has taken, its threads' included."""
    fields = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _is_port(place: str) -> bool:
    return not place.startswith("/")


@contextmanager
def _folder() -> Generator[Path]:
    with tempfile.TemporaryDirectory(prefix="bench", dir="/tmp") as folder:
        yield Path(folder)


@contextmanager
def _running(job: Callable[..., None], *arguments: object) -> Generator[int]:
    """Run the job in a process of its own, whose number this gives, until the block is left."""
    process = _spawn.Process(target=job, args=arguments, daemon=True)
    process.start()
    assert process.pid is not None
    try:
        yield process.pid
    finally:
        process.kill()
        process.join()
