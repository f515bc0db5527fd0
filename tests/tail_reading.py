"""Reads tails of hubs that serve a log in memory."""

from __future__ import annotations

__all__ = ("rest", "stored", "until")

from typing import TYPE_CHECKING

import anyio

from compass_agent.wire import SessionMeta
from writing_logs import told

if TYPE_CHECKING:
    from compass_agent.client import Tail, TailItem
    from compass_agent.log.memory import MemoryLog
    from compass_agent.wire import Batch


async def stored(log: MemoryLog, *batches: Batch) -> None:
    """Store these, each in its session and epoch."""
    for one in batches:
        await log.open(one.session, one.epoch, SessionMeta("Fix it", "pi", "1.0"))
        assert (await log.append(one)).code is None


async def until(reading: Tail, word: str) -> list[str]:
    """What is read up to this word."""
    words: list[str] = []
    with anyio.fail_after(20):
        while word not in words:
            words += told([await anext(reading)])
    return words


async def rest(reading: Tail) -> list[TailItem]:
    """What is read up to the end."""
    with anyio.fail_after(20):
        return [item async for item in reading]
