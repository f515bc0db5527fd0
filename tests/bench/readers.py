"""What one more reader of the same session costs a hub."""

from __future__ import annotations

__all__ = ("reader_rows",)

import asyncio
import time
from typing import TYPE_CHECKING

from frames import encoded_frames
from measure import PAIRS, Row, compared

from compass_agent.log.memory import MemoryLog
from compass_agent.log.retention import Retention
from compass_agent.wire import Batch
from compass_agent.wire.relay import Encoded, Relay, Subscription

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compass_agent.wire import Item

_EPOCH = "0" * 16
_BATCH = 256
_READERS = 64


def reader_rows(frames: int = 51_200) -> list[Row]:
    """Readers that come to each page of a session one after the other, as live ones do.

    Encoding alone, and the hub's look into its log for them; what all of it costs a hub for one
    reader is the row "writing to a reader, each".
    """
    first, second, later, looks = asyncio.run(_measure(frames))
    return [
        compared("encoding, 2nd reader", "us", [*zip(first, second, strict=True)], limit=0.1),
        compared("encoding, 3rd to 64th", "us", [*zip(first, later, strict=True)], limit=0.1),
        compared("a look at the log, each", "us", [*zip(first, looks, strict=True)], limit=1.0),
    ]


async def _measure(frames: int) -> tuple[list[float], ...]:
    """Return microseconds a frame: of the first, second, and each later reader, and of the log."""
    log = await _stored(frames)
    looks: list[float] = []
    first: list[float] = []
    second: list[float] = []
    later: list[float] = []
    for _ in range(PAIRS):
        pages, look_s = await _looked(log)
        looks.append(look_s / frames * 1e6)
        encoded = Encoded()
        relays = [Relay(_all_of("s"), encoded) for _ in range(_READERS)]
        spent = [0.0] * _READERS
        for page in pages:
            for place, relay in enumerate(relays):
                before = time.process_time()
                for _message in relay.messages(page):
                    pass
                spent[place] += time.process_time() - before
        first.append(spent[0] / frames * 1e6)
        second.append(spent[1] / frames * 1e6)
        later.append(sum(spent[2:]) / (_READERS - 2) / frames * 1e6)
    await log.aclose()
    return first, second, later, looks


def _all_of(session: str) -> Subscription:
    return Subscription(session, after=None, follow=True, kinds=frozenset(), max_batch=_BATCH)


async def _stored(frames: int) -> MemoryLog:
    """Return a log with a session."""
    log = MemoryLog(retention=Retention(trace_frames=frames, trace_bytes=None))
    await log.open("s", _EPOCH)
    ready = encoded_frames(_BATCH)
    for first in range(0, frames, _BATCH):
        trace = [*enumerate(ready, first + 1)]
        await log.append(Batch("s", _EPOCH, first // _BATCH + 1, [], trace, trace[-1][0]))
    return log


async def _looked(log: MemoryLog) -> tuple[list[Sequence[Item]], float]:
    """Return the session's pages, and the CPU time that reading them took."""
    before = time.process_time()
    pages = [page.items async for page in log.read("s", follow=False, page_frames=4_096)]
    return pages, time.process_time() - before
