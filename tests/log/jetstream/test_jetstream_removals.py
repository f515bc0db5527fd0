"""Removing a session can be cut off anywhere: what was begun is seen, and finished later."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import nats
import pytest

from compass_agent.errors.codes import ErrorCode, OperationError
from compass_agent.log import open_log
from compass_agent.log.jetstream import JetStreamLog
from compass_agent.log.retention import Retention
from nats_logs import fresh_log, server_with_rights
from nats_servers import NatsServer
from writing_logs import E1, E2, S, batch, read_all

if TYPE_CHECKING:
    from pathlib import Path

ALL = Retention(ended_age_s=None, total_bytes=None)


def again(log: JetStreamLog, server: NatsServer) -> JetStreamLog:
    """Another process on the same stream."""
    stream = log._engine.stream  # pyright: ignore[reportPrivateUsage] - the same one
    return JetStreamLog([server.url], stream, retention=ALL)


async def fill(log: JetStreamLog, session: str = S) -> None:
    await log.open(session, E1)
    await log.append(batch(1, priority=[1], trace=[2], through=2, session=session))


async def stored(server: NatsServer, log: JetStreamLog) -> int:
    """How many messages there are."""
    client = await nats.connect(server.url)  # pyright: ignore[reportUnknownMemberType] - of options that are not used
    stream = log._engine.stream  # pyright: ignore[reportPrivateUsage] - to look into it
    info = await client.jetstream().stream_info(stream)  # pyright: ignore[reportUnknownMemberType] - of options that are not used
    await client.close()
    return info.state.messages


def cut_off(log: JetStreamLog, monkeypatch: pytest.MonkeyPatch, purges: int) -> None:
    """Have the engine out of reach after it purged something so many times."""
    engine = log._engine  # pyright: ignore[reportPrivateUsage] - what it asks of the server
    purge, done = engine.purge, [0]

    async def purging(subject: str, below: int) -> int:
        done[0] += subject.count(S)
        if done[0] > purges:
            raise OperationError(ErrorCode.UNAVAILABLE)
        return await purge(subject, below)

    monkeypatch.setattr(engine, "purge", purging)


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("how", ["same", "another", "prune"])
@pytest.mark.parametrize("purges", [0, 1])
async def test_a_removal_that_was_cut_off_is_finished_by_the_next_one(
    nats_server: NatsServer, monkeypatch: pytest.MonkeyPatch, purges: int, how: str
) -> None:
    log = await fresh_log(nats_server, retention=ALL)
    other = again(log, nats_server)
    await fill(log)
    await fill(log, "stays")
    cut_off(log, monkeypatch, purges)
    with pytest.raises(OperationError) as caught:
        await log.delete(S)
    assert caught.value.code is ErrorCode.UNAVAILABLE
    monkeypatch.undo()
    with pytest.raises(OperationError) as caught:
        await read_all(other)
    assert caught.value.code is ErrorCode.NOT_FOUND
    listed = {one.session: one for one in await other.sessions()}
    assert set(listed) == {S, "stays"}
    assert (listed[S].ended, "half removed" in listed[S].title) == (True, True)
    if how == "prune":
        assert (await other.prune()).removed == (S,)
    else:
        await (log if how == "same" else other).delete(S)
    assert await stored(nats_server, log) == 3
    for one in (log, other):
        with pytest.raises(OperationError) as caught:
            await one.delete(S)
        assert caught.value.code is ErrorCode.NOT_FOUND
        assert [two.session for two in await one.sessions()] == ["stays"]
    for one in (log, other):
        await one.aclose()


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_session_that_is_opened_again_behind_a_removal_that_was_cut_off_is_kept(
    nats_server: NatsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = await fresh_log(nats_server, retention=ALL)
    other = again(log, nats_server)
    await fill(log)
    cut_off(log, monkeypatch, 0)
    with pytest.raises(OperationError):
        await log.delete(S)
    monkeypatch.undo()
    await other.open(S, E2)
    await other.append(batch(1, trace=[1], through=1, epoch=E2))
    assert (await log.prune()).removed == ()
    for one in (log, other):
        assert await read_all(one) == ["t1"]
        await one.aclose()


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_removing_what_cannot_be_read_can_be_cut_off_as_well(
    nats_server: NatsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = await fresh_log(nats_server, retention=ALL)
    await fill(log)
    client = await nats.connect(nats_server.url)  # pyright: ignore[reportUnknownMemberType] - of options that are not used
    stream = log._engine.stream  # pyright: ignore[reportPrivateUsage] - to harm it
    await client.jetstream().delete_msg(stream, 1)  # pyright: ignore[reportUnknownMemberType] - of options that are not used
    await client.close()
    other = again(log, nats_server)
    cut_off(other, monkeypatch, 0)
    with pytest.raises(OperationError), anyio.fail_after(10):
        await other.delete(S)
    monkeypatch.undo()
    assert await stored(nats_server, log) == 3
    await other.prune()
    assert await stored(nats_server, log) == 1
    assert await other.sessions() == []
    await other.open(S, E2)
    assert await read_all(other) == []
    for one in (log, other):
        await one.aclose()


@pytest.mark.requirement("G-NATS-5")
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_user_that_may_not_remove_hides_nothing_when_it_tries(tmp_path: Path) -> None:
    server, mine, everything = await server_with_rights(tmp_path)
    owner = open_log(everything)
    writer = open_log(mine)
    await writer.open(S, E1)
    await writer.append(batch(1, priority=[1], trace=[2], through=2))
    with pytest.raises(OperationError) as caught:
        await writer.delete(S)
    assert caught.value.code is ErrorCode.PERMISSION_DENIED
    assert await read_all(owner) == ["p1", "t2"]
    assert (await writer.append(batch(2, trace=[3], through=3, prev_priority=1))).through == 3
    await owner.delete(S)
    assert await owner.sessions() == []
    for log in (owner, writer):
        await log.aclose()
    server.stop()
