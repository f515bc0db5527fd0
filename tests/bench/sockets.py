"""The floors of the hub's rows: frames over plain sockets, 256 length-prefixed ones a write."""

from __future__ import annotations

__all__ = ("A_WRITE", "produce", "read_frames", "relay", "serve_frames")

import asyncio
import struct
from pathlib import Path
from typing import TYPE_CHECKING

from floors import PlainTable
from frames import encoded_frames

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from multiprocessing.synchronize import Event

A_WRITE = 256
A_BATCH = 256


async def connection(place: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Connect to a unix socket's path, or to HOST:PORT."""
    if place.startswith("/"):
        return await asyncio.open_unix_connection(place)
    host, _, port = place.rpartition(":")
    return await asyncio.open_connection(host, int(port))


async def server(
    serve: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]], place: str
) -> asyncio.Server:
    """Serve at a unix socket's path, or at HOST:PORT."""
    if place.startswith("/"):
        return await asyncio.start_unix_server(serve, place)
    host, _, port = place.rpartition(":")
    return await asyncio.start_server(serve, host, int(port))


async def _send(writer: asyncio.StreamWriter, frames: Sequence[bytes]) -> None:
    for first in range(0, len(frames), A_WRITE):
        some = frames[first : first + A_WRITE]
        writer.write(
            b"".join([part for data in some for part in (struct.pack(">I", len(data)), data)])
        )
        await writer.drain()


async def _receive(reader: asyncio.StreamReader) -> bytes | None:
    try:
        (size,) = struct.unpack(">I", await reader.readexactly(4))
        return await reader.readexactly(size)
    except asyncio.IncompleteReadError:
        return None


async def read_frames(path: str) -> int:
    """Ask for frames at the socket and return how many came until its end."""
    reader, writer = await connection(path)
    writer.write(b"?")
    count = 0
    while await _receive(reader) is not None:
        count += 1
    writer.close()
    return count


def serve_frames(path: str, count: int, ready: Event) -> None:
    """Send `count` frames to whoever connects and asks; runs until it is killed."""
    frames = encoded_frames(count)

    async def give(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(1)
        await _send(writer, frames)
        writer.close()

    async def main() -> None:
        serving = await server(give, path)
        ready.set()
        await serving.serve_forever()

    asyncio.run(main())


def produce(path: str, count: int, go: Event) -> None:
    """Send `count` frames to the relay at `path` each time that `go` is set."""
    frames = encoded_frames(count)

    async def send() -> None:
        _, writer = await connection(path)
        await _send(writer, frames)
        writer.close()
        await writer.wait_closed()

    while True:
        go.wait()
        go.clear()
        asyncio.run(send())


class _Relay:
    """Passes what one producer sends on to one reader, who asked before."""

    def __init__(self, table: PlainTable) -> None:
        self._table = table
        self._asked: asyncio.Future[asyncio.StreamWriter] | None = None

    async def give(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(1)
        self._reader().set_result(writer)

    async def take(self, reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        target = await self._reader()
        batch: list[bytes] = []
        seq = 1
        while (data := await _receive(reader)) is not None:
            batch.append(data)
            if len(batch) == A_BATCH:
                self._table.insert(seq, batch)
                await _send(target, batch)
                seq += len(batch)
                batch = []
        self._asked = None
        target.close()
        await target.wait_closed()
        self._table.clear()

    def _reader(self) -> asyncio.Future[asyncio.StreamWriter]:
        if self._asked is None:
            self._asked = asyncio.get_running_loop().create_future()
        return self._asked


def relay(source: str, target: str, table: str, ready: Event) -> None:
    """Insert what comes from `source` into a table, 256 a transaction, and send it to `target`.

    Runs until it is killed; what is sent has to be whole batches.
    """

    async def main(rows: PlainTable) -> None:
        passing = _Relay(rows)
        taking = await server(passing.take, source)
        giving = await server(passing.give, target)
        ready.set()
        await asyncio.gather(taking.serve_forever(), giving.serve_forever())

    with PlainTable(Path(table)) as rows:
        asyncio.run(main(rows))
