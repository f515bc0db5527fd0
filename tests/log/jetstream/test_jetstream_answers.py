"""Trace that is stored is never answered as late, whatever it took to store it."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from compass_agent.errors.codes import ErrorCode, OperationError
from nats_logs import fresh_log
from nats_servers import NatsServer
from writing_logs import E1, S, batch, read_all

if TYPE_CHECKING:
    from pathlib import Path

    from compass_agent.log.jetstream import JetStreamLog
    from compass_agent.wire import Batch

ACROSS = batch(1, trace=range(4000, 4200), through=4199)
MANY = batch(1, trace=range(1, 400), through=399)
BOTH = batch(1, priority=[10], trace=[*range(1, 10), *range(11, 20)], through=19)
BATCHES = [ACROSS, MANY, BOTH]


def break_off(log: JetStreamLog, monkeypatch: pytest.MonkeyPatch, call: int, *, done: bool) -> None:
    """Let the connection fail at one publication, before or behind it was done."""
    engine = log._store.engine  # pyright: ignore[reportPrivateUsage] - where the connection breaks
    publish, calls = engine.publish, 0

    async def publishing(*arguments: Any) -> int:
        nonlocal calls
        calls += 1
        if calls == call and not done:
            raise OperationError(ErrorCode.UNAVAILABLE)
        pos = await publish(*arguments)
        if calls == call:
            raise OperationError(ErrorCode.UNAVAILABLE)
        return pos

    monkeypatch.setattr(engine, "publish", publishing)


@pytest.mark.parametrize("sent", BATCHES)
async def test_a_lane_that_takes_two_records_is_stored_without_loss(
    nats_server: NatsServer, sent: Batch
) -> None:
    log = await fresh_log(nats_server)
    await log.open(S, E1)
    answer = await log.append(sent)
    assert (answer.late_trace, answer.through) == (0, sent.through)
    assert await log.append(sent) == answer
    await log.aclose()


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("done", [False, True])
@pytest.mark.parametrize("call", [1, 2])
@pytest.mark.parametrize("sent", BATCHES)
async def test_what_was_stored_before_the_connection_broke_is_not_late(
    nats_server: NatsServer, monkeypatch: pytest.MonkeyPatch, sent: Batch, call: int, done: bool
) -> None:
    log = await fresh_log(nats_server)
    await log.open(S, E1)
    break_off(log, monkeypatch, call, done=done)
    with pytest.raises(OperationError, match="reached"):
        await log.append(sent)
    answer = await log.append(sent)
    assert (answer.late_trace, answer.through) == (0, sent.through)
    read = await read_all(log)
    assert [word for word in read if word.startswith("t")] == [f"t{seq}" for seq, _ in sent.trace]
    await log.aclose()


async def test_trace_that_came_too_late_is_counted_although_more_of_it_is_stored(
    nats_server: NatsServer,
) -> None:
    log = await fresh_log(nats_server)
    await log.open(S, E1)
    await log.append(batch(1, trace=[3, 4], through=4))
    answer = await log.append(batch(2, trace=range(1, 400), through=399))
    assert answer.late_trace == 2
    assert (await read_all(log))[:2] == ["gap 1-2 dropped", "t3"]
    await log.aclose()


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_one_message_is_not_waited_for_as_long_as_a_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("compass_agent.log.jetstream.engine._ONE_MESSAGE_S", 0.1)
    server = NatsServer(tmp_path)
    server.start()
    log = await fresh_log(server)
    await log.open(S, E1)
    os.kill(server.pid, signal.SIGSTOP)
    try:
        for _ in ("stored", "looked up"):
            with anyio.fail_after(3), pytest.raises(OperationError, match="reached"):
                await log.append(batch(1, trace=[1], through=1))
    finally:
        os.kill(server.pid, signal.SIGCONT)
    with anyio.fail_after(5):
        while True:
            try:
                assert (await log.append(batch(1, trace=[1], through=1))).through == 1
            except OperationError:
                continue
            break
    await log.aclose()
    server.stop()
