"""What a NATS server keeps in memory for sessions at which nothing happens, and for tails.

    PYTHONPATH=tests python tests/bench/nats_memory.py [--sessions N] [--tails N]

As the row `nats-memory` of bench.py, of any size.
"""

from __future__ import annotations

__all__ = ("memory_rows",)

import argparse
import tempfile
import time
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
from frames import encoded_frames
from measure import Row, compared

from compass_agent.log.jetstream import JetStreamLog
from compass_agent.log.jetstream.setup import init_engine, stream_settings
from compass_agent.log.retention import Retention
from compass_agent.wire import Batch
from nats_servers import NatsServer

if TYPE_CHECKING:
    from compass_agent.log import Pages

_EPOCH = "0" * 16
_AT_ONCE = 64
_SESSION_KB, _TAIL_KB = 1.5, 40.0
_KEEP_ALL = Retention(ended_age_s=None, total_bytes=None)


def memory_rows(sessions: int = 100_000, tails: int = 2_000) -> list[Row]:
    """Fill a stream, then tail some of it; kB of the server's resident memory, against the bounds.

    The server runs with `GOGC=30`, as docs/scaling.md says: else its garbage collector lets
    memory that nobody needs grow to as much again.
    """
    with tempfile.TemporaryDirectory() as folder:
        server = NatsServer(Path(folder), sync='"2m"', variables={"GOGC": "30"})
        server.start()
        try:
            return anyio.run(_measure, server, sessions, tails)
        finally:
            server.stop()


async def _measure(server: NatsServer, sessions: int, tails: int) -> list[Row]:
    await init_engine([server.url], stream_settings("bench"))
    log = JetStreamLog([server.url], "bench", retention=_KEEP_ALL)
    one, two, three = encoded_frames(3)
    limit = anyio.Semaphore(_AT_ONCE)

    async def write(session: str) -> None:
        async with limit:
            await log.open(session, _EPOCH)
            await log.append(Batch(session, _EPOCH, 1, [(1, one)], [(2, two), (3, three)], 3))

    async def begin(pages: Pages) -> None:
        async with limit:
            await anext(pages)

    empty = _resident_kb(server.pid)
    for first in range(0, sessions, 1_000):
        async with anyio.create_task_group() as tasks:
            for number in range(first, min(first + 1_000, sessions)):
                tasks.start_soon(write, f"s{number}")
    filled = _resident_kb(server.pid)
    opened = [log.read(f"s{number}") for number in range(tails)]
    async with anyio.create_task_group() as tasks:
        for pages in opened:
            tasks.start_soon(begin, pages)
    tailed = _resident_kb(server.pid)
    for pages in opened:
        async with aclosing(pages):
            pass
    await log.aclose()
    idle = [(_SESSION_KB, max(filled - empty, 1) / sessions)]
    tail = [(_TAIL_KB, max(tailed - filled, 1) / tails)]
    return [
        compared(f"NATS, {sessions:,} idle, each", "kB", idle, limit=1.0),
        compared(f"NATS, {tails:,} tails, each", "kB", tail, limit=1.0),
    ]


def _resident_kb(pid: int) -> int:
    """Return the memory of a process that is in use."""
    lines = Path(f"/proc/{pid}/status").read_text("ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:"))


def main() -> int:
    """Measure, print; return the exit status."""
    parser = argparse.ArgumentParser(description="Measure what sessions and tails cost a server.")
    parser.add_argument("--sessions", type=int, default=100_000, metavar="N")
    parser.add_argument("--tails", type=int, default=2_000, metavar="N")
    options = parser.parse_args()
    before = time.monotonic()
    rows = memory_rows(options.sessions, min(options.tails, options.sessions))
    for row in rows:
        print(f"{row.name}: {row.ours:.2f} {row.unit}, at most {row.floor:.2f}")
    print(f"{time.monotonic() - before:.0f} s")
    return int(not all(row.met for row in rows))


if __name__ == "__main__":
    raise SystemExit(main())
