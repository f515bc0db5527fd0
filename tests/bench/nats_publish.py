"""The log on JetStream against a bare publisher that waits for each answer, records of one size."""

from __future__ import annotations

__all__ = ("publish_rows",)

import tempfile
import time
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
from frames import encoded_frames
from measure import Row, compare
from nats.aio.client import Client
from nats.js import JetStreamContext

from compass_agent.log.jetstream import JetStreamLog
from compass_agent.log.jetstream.setup import init_engine, stream_settings
from compass_agent.wire import Batch
from nats_servers import NatsServer

if TYPE_CHECKING:
    from collections.abc import Sequence

_EPOCH = "0" * 16
_SESSIONS = count(1)


def publish_rows(records: int = 500) -> list[Row]:
    """Append batches of 64 and of 256 frames, against messages of the same bytes.

    The server writes to the disk every two minutes here, so that the disk hides nothing of ours.
    """
    with tempfile.TemporaryDirectory() as folder:
        server = NatsServer(Path(folder), sync='"2m"')
        server.start()
        try:
            return [_row(server, size, records) for size in (64, 256)]
        finally:
            server.stop()


def _row(server: NatsServer, size: int, records: int) -> Row:
    ready = encoded_frames(size)
    stream = f"bench{size}"
    anyio.run(init_engine, [server.url], stream_settings(stream))

    def bare() -> float:
        return anyio.run(_bare, server.url, stream, b"".join(ready), records) * size

    def ours() -> float:
        return anyio.run(_ours, server.url, stream, ready, records) * size

    return compare(f"NATS, {size} a record", bare, ours, limit=0.5)


async def _bare(url: str, stream: str, payload: bytes, records: int) -> float:
    client = Client()
    await client.connect(url)
    jetstream = JetStreamContext(client)
    subject = f"{stream}.s.bare{next(_SESSIONS)}.x.y"
    before = time.perf_counter()
    for _ in range(records):
        await jetstream.publish(subject, payload)
    spent = time.perf_counter() - before
    await client.close()
    return records / spent


async def _ours(url: str, stream: str, ready: Sequence[bytes], records: int) -> float:
    log = JetStreamLog([url], stream, one_loop=True)  # as hubs and agents open it
    session = f"s{next(_SESSIONS)}"
    await log.open(session, _EPOCH)
    size = len(ready)
    before = time.perf_counter()
    for number in range(records):
        first = number * size + 1
        trace = [*enumerate(ready, first)]
        await log.append(Batch(session, _EPOCH, number + 1, [], trace, first + size - 1))
    spent = time.perf_counter() - before
    await log.aclose()
    return records / spent
