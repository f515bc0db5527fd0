"""What one hub carries: readers of one session, each on a connection of its own, all live.

    PYTHONPATH=tests python tests/bench/hub_readers.py [--log sqlite|nats] [--of-each] [READERS …]

The hub, its readers and the writer are three processes. The writer publishes batches of 64 frames
through the hub, each when the one before is answered, while all readers wait for them: the figures
are of that. With `--of-each` every reader follows a session of its own.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import os
import tempfile
import threading
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import anyio
from frames import encoded_frames
from grpc import aio

from compass.v1.compass_pb2 import AgentSessionFrame, SubscribeAgentSessionRequest
from compass_agent.log import open_log
from compass_agent.log.jetstream.setup import init_engine, stream_settings
from compass_agent.runtime.hub import running_hub
from compass_agent.transport.grpc import GrpcTransport
from compass_agent.wire import Batch
from compass_agent.wire.relay import SUBSCRIBE
from nats_servers import NatsServer

if TYPE_CHECKING:
    from collections.abc import Generator
    from multiprocessing.connection import Connection
    from multiprocessing.synchronize import Event

_EPOCH = "0" * 16
_BATCH = 64
_DELIVERIES = 256_000
_AT_ONCE = 50
_SETTLE_S = 6.0
_TICK_S = 1 / os.sysconf("SC_CLK_TCK")
_spawn = multiprocessing.get_context("spawn")


class _Figures(NamedTuple):
    frames_s: float
    frames: int
    hub_s: float
    server_s: float
    readers_s: float
    kb_each: float
    idle_share: float


def main() -> None:
    """Measure, print a row for each number of readers."""
    parser = argparse.ArgumentParser(description="Measure one hub with many live readers.")
    parser.add_argument("--log", choices=("sqlite", "nats"), default="sqlite")
    parser.add_argument("--of-each", action="store_true", help="a session for each reader")
    parser.add_argument("readers", nargs="*", type=int, metavar="READERS")
    options = parser.parse_args()
    print("readers  frames/s in all  of each  us a frame: hub  engine  readers  kB each  idle %CPU")
    for readers in options.readers or (10, 100, 400, 1_000):
        got = _measure(options.log, readers, readers if options.of_each else 1)
        per_frame = [1e6 * s / got.frames for s in (got.hub_s, got.server_s, got.readers_s)]
        print(
            f"{readers:>7,} {got.frames_s:>16,.0f} {got.frames_s / readers:>8,.0f}"
            f" {per_frame[0]:>16.1f} {per_frame[1]:>7.1f} {per_frame[2]:>8.1f}"
            f" {got.kb_each:>8.0f} {100 * got.idle_share:>10.1f}",
            flush=True,
        )


def _measure(kind: str, readers: int, sessions: int) -> _Figures:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(dir="/tmp")))
        url, server_pid = f"sqlite:{folder / 'log.db'}", 0
        if kind == "nats":
            server = NatsServer(folder, sync='"2m"')
            server.start()
            stack.callback(server.stop)
            anyio.run(init_engine, [server.url], stream_settings("bench"))
            url, server_pid = f"{server.url}/bench", server.pid
        hub = str(folder / "hub.sock")
        ready = _spawn.Event()
        hub_pid = stack.enter_context(_running(_serve, url, hub, ready))
        ready.wait()
        batches = max(1, _DELIVERIES // (readers * _BATCH))
        asyncio.run(_write(hub, sessions, 0, 1))  # so that there is something to follow
        empty_kb = _resident_kb(hub_pid)
        ours, theirs = _spawn.Pipe()
        last = (batches + 1) * _BATCH
        reader_pid = stack.enter_context(_running(_read, hub, readers, sessions, last, theirs))
        assert ours.recv() == "following"
        kb_each = (_resident_kb(hub_pid) - empty_kb) / readers
        idle_s = _idle(hub_pid)
        pids = (hub_pid, server_pid, reader_pid)
        before_cpu, before = [_cpu_s(pid) for pid in pids], time.perf_counter()
        asyncio.run(_write(hub, sessions, 1, batches))
        assert ours.recv() == "done"
        spent = time.perf_counter() - before
        cpu = [_cpu_s(pid) - was for pid, was in zip(pids, before_cpu, strict=True)]
    frames = readers * batches * _BATCH
    return _Figures(frames / spent, frames, cpu[0], cpu[1], cpu[2], kb_each, idle_s)


def _idle(pid: int, seconds: float = 3.0) -> float:
    """Return which part of a processor a process takes once nothing was written for a while."""
    threading.Event().wait(_SETTLE_S)
    before = _cpu_s(pid)
    threading.Event().wait(seconds)
    return (_cpu_s(pid) - before) / seconds


def _serve(url: str, path: str, ready: Event) -> None:
    async def serve() -> None:
        log = open_log(url)
        async with running_hub(log, unix=Path(path)):
            ready.set()
            await anyio.sleep_forever()

    asyncio.run(serve())


async def _write(hub: str, sessions: int, begin: int, batches: int) -> None:
    """Publish so many batches of each session, the sessions beside one another."""
    ready = encoded_frames(_BATCH)
    transport = GrpcTransport(f"unix:{hub}")
    limit = anyio.Semaphore(_AT_ONCE)

    async def write(session: str) -> None:
        async with limit:
            await transport.open(session, _EPOCH)
            for number in range(begin, begin + batches):
                trace = [*enumerate(ready, number * _BATCH + 1)]
                batch = Batch(session, _EPOCH, number + 1, [], trace, trace[-1][0])
                assert (await transport.publish(batch)).code is None
            transport.forget(session, _EPOCH)

    async with anyio.create_task_group() as tasks:
        for number in range(sessions):
            tasks.start_soon(write, f"s{number}")
    await transport.aclose()


def _read(hub: str, readers: int, sessions: int, last: int, pipe: Connection) -> None:
    service, method = SUBSCRIBE
    waiting = readers

    async def follow(number: int, limit: anyio.Semaphore, all_follow: anyio.Event) -> None:
        nonlocal waiting
        async with aio.insecure_channel(
            f"unix:{hub}", options=[("grpc.use_local_subchannel_pool", 1)]
        ) as channel:
            subscribe = channel.unary_stream(
                f"/{service}/{method}",
                request_serializer=SubscribeAgentSessionRequest.SerializeToString,
                response_deserializer=AgentSessionFrame.FromString,
            )
            request = SubscribeAgentSessionRequest(
                session_id=f"s{number % sessions}", max_batch=_BATCH
            )
            call = subscribe(request)
            seq = 0
            async with limit:
                while seq < _BATCH:
                    seq = _last(await call.read())
            waiting -= 1
            if not waiting:
                all_follow.set()
            while seq < last:
                seq = _last(await call.read())
            call.cancel()

    async def read() -> None:
        limit, all_follow = anyio.Semaphore(_AT_ONCE), anyio.Event()
        async with anyio.create_task_group() as tasks:
            for number in range(readers):
                tasks.start_soon(follow, number, limit, all_follow)
            await all_follow.wait()
            pipe.send("following")
        pipe.send("done")
        await anyio.sleep_forever()

    asyncio.run(read())


def _last(message: object) -> int:
    assert isinstance(message, AgentSessionFrame), message
    return (message.more[-1] if message.more else message).seq


def _cpu_s(pid: int) -> float:
    """Return the processor time that a process took until now; 0: there is none."""
    if not pid:
        return 0.0
    fields = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * _TICK_S


def _resident_kb(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text("ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:"))


@contextmanager
def _running(job: object, *arguments: object) -> Generator[int]:
    process = _spawn.Process(target=job, args=arguments, daemon=True)  # pyright: ignore[reportArgumentType] - any function
    process.start()
    try:
        assert process.pid is not None
        yield process.pid
    finally:
        process.kill()
        process.join()


if __name__ == "__main__":
    main()
