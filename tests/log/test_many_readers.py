"""Readers that wait ask the less often, the more of them there are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import pytest

from compass_agent.log.memory import MemoryLog
from compass_agent.log.wake import Watch
from writing_logs import E1, S, batch, told

if TYPE_CHECKING:
    from compass_agent.log import Pages


@pytest.mark.parametrize(("others", "longest"), [(0, 0.05), (9, 0.05), (39, 0.2), (5000, 2.0)])
async def test_idle_readers_ask_two_hundred_times_a_second_together(
    monkeypatch: pytest.MonkeyPatch, others: int, longest: float
) -> None:
    pauses: list[float] = []
    log = MemoryLog()
    await log.open(S, E1)
    await log.append(batch(1, trace=[1], through=1))
    beside = [log.wake.watch(S) for _ in range(others)]

    async def wait(_watch: Watch, seconds: float) -> bool:
        pauses.append(seconds)
        if len(pauses) == 12:
            await log.append(batch(2, trace=[2], through=2))
        return len(pauses) == 12

    monkeypatch.setattr(Watch, "wait", wait)
    with anyio.fail_after(5):
        async for page in log.read(S):
            if "t2" in told(page.items):
                break
    assert longest / 2 <= max(pauses) <= longest
    assert pauses == sorted(pauses)
    assert len(beside) == others
    await log.aclose()


async def test_idle_readers_do_not_ask_in_step(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    log = MemoryLog()
    await log.open(S, E1)

    async def wait(_watch: Watch, seconds: float) -> bool:
        pauses.append(seconds)
        raise TimeoutError

    monkeypatch.setattr(Watch, "wait", wait)
    readers = [log.read(S) for _ in range(20)]
    for reader in readers:
        with pytest.raises(TimeoutError):
            await read_on(reader)
    assert len(set(pauses)) == len(pauses)
    await log.aclose()


async def read_on(pages: Pages) -> None:
    async for _ in pages:
        pass
