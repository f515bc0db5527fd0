"""A list of many sessions takes few questions, and says of each what was written last."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import pytest

from compass_agent.errors.codes import ErrorCode, OperationError
from compass_agent.log.jetstream.faults import EngineError
from compass_agent.log.memory import MemoryLog
from compass_agent.log.retention import Retention
from nats_logs import fresh_log
from writing_logs import E1, E2, Clock, batch

if TYPE_CHECKING:
    from compass_agent.log import SessionLog
    from nats_servers import NatsServer

SESSIONS = 150
BLOCKS = 9
"""So many subjects that the engine does not answer for all of a request's sessions at once."""


async def lived(log: SessionLog, number: int) -> None:
    """Write a session that ends in one of six ways."""
    session = f"s{number}"
    await log.open(session, E1)
    if number % 6 == 0:
        return
    for block in range(BLOCKS):
        seq = block * 4096 + 1
        await log.append(batch(seq, priority=[seq], through=seq, session=session))
    if number % 6 == 1:
        await log.renew([(session, E1)])
    elif number % 6 == 2:
        await log.open(session, E2)
    elif number % 6 == 3:
        await log.open(session, E2)
        await log.append(batch(1, trace=[1, 2], through=2, session=session, epoch=E2))
    elif number % 6 == 4:
        await log.delete(session)


@pytest.mark.requirement("G-NATS-1")
async def test_a_list_of_many_sessions_says_of_each_what_was_written_last(
    nats_server: NatsServer,
) -> None:
    clock = Clock()
    here, there = MemoryLog(now_ms=clock), await fresh_log(nats_server, clock)
    limit = anyio.Semaphore(32)

    async def one(number: int) -> None:
        async with limit:
            await lived(there, number)

    async with anyio.create_task_group() as tasks:
        for number in range(SESSIONS):
            tasks.start_soon(one, number)
            await lived(here, number)
    assert await there.sessions() == await here.sessions()
    await there.aclose()


async def test_a_list_of_an_engine_that_is_away_is_an_error(nats_server: NatsServer) -> None:
    log = await fresh_log(nats_server)
    await log.aclose()
    with pytest.raises(OperationError, match="reached"):
        await log.sessions()


async def test_a_list_whose_middle_the_engine_does_not_answer_is_one_error(
    nats_server: NatsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = await fresh_log(nats_server)
    await log.open("s1", E1)
    engine = log._store.engine  # pyright: ignore[reportPrivateUsage] - where answers come in

    async def silent(filters: list[str]) -> None:
        raise EngineError(ErrorCode.UNAVAILABLE, f"no answer about {len(filters)}")

    monkeypatch.setattr(engine, "lasts", silent)
    with pytest.raises(EngineError):
        await log.sessions()
    await log.aclose()


async def test_looking_after_all_sessions_rests_longer_than_it_took(
    nats_server: NatsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    log = await fresh_log(nats_server, clock)
    keeper = log._keeper  # pyright: ignore[reportPrivateUsage] - it works by itself
    now = iter([0.0, 0.0, 10.0, 200.0, 211.0])
    monkeypatch.setattr(keeper, "clock", lambda: next(now))
    assert keeper.appended(batch(1))  # the first append, at 0
    await log._thread.run(lambda: keeper.tend("s1"))  # pyright: ignore[reportPrivateUsage] - from 0 to 10
    clock.pass_s(61)
    assert not keeper.appended(batch(2))  # at 200
    clock.pass_s(61)
    assert keeper.appended(batch(3))  # at 211
    await log.aclose()


async def test_where_all_is_kept_nobody_looks_after_it(nats_server: NatsServer) -> None:
    everything = Retention(ended_age_s=None, total_bytes=None)
    log = await fresh_log(nats_server, retention=everything)
    assert not log._keeper.appended(batch(1))  # pyright: ignore[reportPrivateUsage] - it works by itself
    await log.aclose()
