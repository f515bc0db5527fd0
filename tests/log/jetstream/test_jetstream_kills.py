"""The server is killed again and again while eight writers publish and eight readers read."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import anyio
import pytest
from anyio.to_thread import run_sync

from compass_agent.errors.codes import ErrorCode, OperationError
from compass_agent.log.jetstream import JetStreamLog
from compass_agent.wire import FrameItem, Gap, GapReason, Item
from nats_clusters import NatsCluster
from nats_logs import fresh_stream
from nats_servers import NatsServer
from writing_logs import E1, batch, end

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from compass_agent.frames import Cursor
    from compass_agent.wire import Answer, Batch

WRITERS = 8
GROUP = 10
"""Places a batch moves on by: two are priority, one is never sent, the others are trace."""


@contextmanager
def passing() -> Generator[None]:
    """Swallow what passes by itself, and nothing else."""
    try:
        yield
    except OperationError as error:
        if error.code is not ErrorCode.UNAVAILABLE:
            raise


async def pause() -> None:
    with anyio.move_on_after(0.05):
        await anyio.Event().wait()


def made(session: str, number: int) -> Batch:
    base = (number - 1) * GROUP
    urgent = [base + 3, base + 7]
    rest = [place for place in range(base + 1, base + GROUP) if place not in urgent]
    one = batch(number, priority=urgent, trace=rest, through=base + GROUP, session=session)
    return replace(one, prev_priority=base - GROUP + 7 if number > 1 else 0)


class Run:
    def __init__(self, log: JetStreamLog, reading: JetStreamLog) -> None:
        self.log = log
        self.reading = reading
        self.stop = False
        self.longest = 0.0
        self.sent: dict[str, int] = {}
        self.progress = anyio.Event()
        self.items: dict[str, list[Item]] = {}

    async def until_answered(self, one: Batch) -> Answer:
        began = anyio.current_time()
        while True:
            with passing():
                answer = await self.log.append(one)
                self.longest = max(self.longest, anyio.current_time() - began)
                return answer
            await pause()

    async def write(self, session: str) -> None:
        number = 0
        while not self.stop:
            number += 1
            answer = await self.until_answered(made(session, number))
            # A writer that could not write for ten seconds is taken to be gone: trace may be late.
            assert (answer.missing_from, answer.code) == (0, None)
            self.sent[session] = number
            self.progress.set()
        last = replace(end(number + 1, number * GROUP, (number - 1) * GROUP + 7), session=session)
        await self.until_answered(last)

    async def read(self, session: str) -> None:
        found = self.items[session] = list[Item]()
        cursor: Cursor | None = None
        while True:
            with passing():
                async for page in self.reading.read(session, cursor):
                    found += page.items
                    cursor = page.cursor
                return
            await pause()

    async def stored(self, more: int) -> None:
        """Wait until so many more batches were answered."""
        want = sum(self.sent.values()) + more
        with anyio.fail_after(30):
            while sum(self.sent.values()) < want:
                self.progress = anyio.Event()
                await self.progress.wait()

    def check(self) -> None:
        for session, number in self.sent.items():
            frames = [item for item in self.items[session] if isinstance(item, FrameItem)]
            gaps = [item for item in self.items[session] if isinstance(item, Gap)]
            seqs = [item.seq for item in frames]
            assert seqs == sorted(set(seqs))
            assert [item.seq % GROUP for item in frames if item.priority] == [3, 7] * number
            assert len(frames) + sum(gap.count for gap in gaps) == number * GROUP
            reasons = {gap.reason for gap in gaps}
            assert reasons <= {GapReason.DROPPED, GapReason.WRITER_GONE}
            if GapReason.WRITER_GONE not in reasons:
                assert seqs == [n for n in range(1, number * GROUP + 1) if n % GROUP]


async def kill_again_and_again(folder: Path, kills: int) -> Run:
    server = NatsServer(folder)
    server.start()
    try:
        stream = await fresh_stream(server, {"storage": "file"})
        reading = JetStreamLog([server.url], stream, one_loop=True)
        run = Run(JetStreamLog([server.url], stream), reading)
        sessions = [f"w{number}" for number in range(WRITERS)]
        for session in sessions:
            await run.log.open(session, E1)
        async with anyio.create_task_group() as tasks:
            for session in sessions:
                tasks.start_soon(run.write, session)
                tasks.start_soon(run.read, session)
            for _ in range(kills):
                await run.stored(60)
                server.kill()
                server.launch()
            await run.stored(60)
            run.stop = True
        run.check()
        await run.log.aclose()
        await run.reading.aclose()
    finally:
        server.stop()
    return run


async def kill_leaders(cluster: NatsCluster, kills: int) -> Run:
    stream = "led"
    await run_sync(cluster.start, stream)
    run = Run(JetStreamLog(cluster.urls, stream), JetStreamLog(cluster.urls, stream))
    sessions = [f"w{number}" for number in range(WRITERS)]
    for session in sessions:
        await run.log.open(session, E1)
    async with anyio.create_task_group() as tasks:
        for session in sessions:
            tasks.start_soon(run.write, session)
            tasks.start_soon(run.read, session)
        for _ in range(kills):
            await run.stored(60)
            leader = await cluster.leader(stream)
            leader.kill()
            leader.launch()
        await run.stored(60)
        run.stop = True
    run.check()
    await run.log.aclose()
    await run.reading.aclose()
    return run


@pytest.mark.parametrize("anyio_backend", ["asyncio"])  # one cluster at a time: it is heavy
@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.requirement("G-NATS-4")
async def test_a_cluster_whose_leader_is_killed_five_times_loses_and_repeats_nothing(
    tmp_path: Path,
) -> None:
    cluster = NatsCluster(tmp_path)
    try:
        run = await kill_leaders(cluster, 5)
    finally:
        cluster.stop()
    assert run.longest < 30  # 10 where nothing else runs: three servers share these cores


@pytest.mark.requirement("G-NATS-4")
async def test_a_server_that_is_killed_twice_loses_and_repeats_nothing(tmp_path: Path) -> None:
    run = await kill_again_and_again(tmp_path, 2)
    assert run.longest < 10


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.requirement("G-NATS-4")
async def test_a_server_that_is_killed_twenty_times_loses_and_repeats_nothing(
    tmp_path: Path,
) -> None:
    run = await kill_again_and_again(tmp_path, 20)
    assert run.longest < 10
