"""A writer's credentials write its own session, and read no other one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from compass_agent import open_session
from compass_agent.errors.codes import ErrorCode, OperationError
from compass_agent.log import SessionLog, open_log
from compass_agent.log.jetstream.engine import Engine
from compass_agent.log.jetstream.faults import EngineError
from compass_agent.log.jetstream.rights import inbox_of, writer_rights
from compass_agent.log.jetstream.setup import init_engine, stream_settings
from left_behind import files
from nats_servers import NatsServer
from writing_logs import E1, batch, read_all

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

STREAM = "owned"
SMALL = 512 * 1024


class Owned:
    """A server with a user for everything, and one for the session `mine`."""

    def __init__(self, server: NatsServer) -> None:
        self.place = server.url.removeprefix("nats://")
        self.all = f"nats://all:all@{self.place}"
        self.owner = f"{self.all}/{STREAM}"
        self.mine = f"nats://mine:secret@{self.place}/{STREAM}"

    async def init(self, max_bytes: int = -1) -> None:
        await init_engine([self.all], stream_settings(STREAM, max_bytes=max_bytes))


@pytest.fixture
def owned(tmp_path: Path) -> Generator[Owned]:
    mine = f"{{ user: mine, password: secret, permissions: {writer_rights(STREAM, 'mine')} }}"
    extra = [f"authorization {{ users: [{{ user: all, password: all }}, {mine}] }}"]
    server = NatsServer(tmp_path / "server", extra=extra)
    server.start()
    yield Owned(server)
    server.stop()


@pytest.mark.requirement("G-NATS-5")
async def test_a_writer_that_may_write_its_session_is_denied_another_at_once(owned: Owned) -> None:
    await owned.init()
    owner = open_log(owned.owner)
    await owner.open("other", E1)
    writer = open_log(owned.mine)
    await writer.open("mine", E1)
    first = batch(1, priority=[1], trace=[2], through=2, session="mine")
    assert (await writer.append(first)).through == 2
    assert (await writer.append(first)).through == 2
    await writer.renew([("mine", E1)])
    began = anyio.current_time()
    for asked in (
        writer.append(batch(1, priority=[1], through=1, session="other")),
        writer.open("other", "2" * 16),
        writer.delete("other"),
        writer.sessions(),
        read_all(writer, session="other"),
    ):
        with pytest.raises(OperationError) as caught:
            await asked
        assert caught.value.code is ErrorCode.PERMISSION_DENIED
    assert anyio.current_time() - began < 2
    assert {one.session for one in await owner.sessions()} == {"mine", "other"}
    stranger = open_log(f"nats://{owned.place}/{STREAM}")
    with pytest.raises(OperationError) as caught:
        await stranger.open("mine", E1)
    assert caught.value.code is ErrorCode.PERMISSION_DENIED
    for log in (owner, writer, stranger):
        await log.aclose()


async def test_a_writer_that_may_not_read_is_not_told_late_of_what_it_stored(
    owned: Owned, monkeypatch: pytest.MonkeyPatch
) -> None:
    await owned.init()
    many = batch(1, trace=range(1, 400), through=399, session="mine")
    log = open_log(owned.mine)
    await log.open("mine", E1)
    publish, left = Engine.publish, [None]

    async def publishing(engine: Engine, *arguments: Any) -> int:
        if not left:
            monkeypatch.setattr(Engine, "publish", publish)
            raise OperationError(ErrorCode.UNAVAILABLE)
        left.pop()
        return await publish(engine, *arguments)

    monkeypatch.setattr(Engine, "publish", publishing)
    with pytest.raises(OperationError, match="reached"):
        await log.append(many)
    answer = await log.append(many)
    assert (answer.late_trace, answer.through) == (0, 399)
    await log.aclose()


@pytest.mark.requirement("G-NATS-5")
def test_a_writer_may_ask_for_its_own_messages_alone() -> None:
    rights = json.loads(writer_rights(STREAM, "mine"))
    assert rights == {
        "publish": {"allow": ["owned.s.mine.>", "$JS.API.DIRECT.GET.owned.owned.s.mine.>"]},
        "subscribe": {"allow": ["_INBOX_mine.>"]},
    }
    elsewhere = json.loads(writer_rights(STREAM, "mine", inbox="_INBOX_u1"))
    assert elsewhere["subscribe"]["allow"] == ["_INBOX_u1.>"]
    assert inbox_of("a.>") == ""


@pytest.mark.requirement("G-NATS-5")
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_nobody_hears_the_answers_of_another(owned: Owned) -> None:
    await owned.init()
    engine = Engine([owned.mine], STREAM, lambda: None)  # At the inbox that clients share.
    began = anyio.current_time()
    with pytest.raises(EngineError) as caught:
        await engine.last("owned.s.mine.>")
    assert caught.value.code is ErrorCode.PERMISSION_DENIED
    assert "COMPASS_NATS_INBOX" in caught.value.reason
    assert anyio.current_time() - began < 2
    await engine.aclose()


@pytest.mark.requirement("G-NATS-3")
async def test_a_writer_that_may_not_make_room_is_told_that_there_is_none(owned: Owned) -> None:
    await owned.init(SMALL)
    writer = open_log(owned.mine)
    await writer.open("mine", E1)
    with pytest.raises(OperationError) as caught:
        await _fill(writer)
    assert caught.value.code is ErrorCode.UNAVAILABLE
    await writer.aclose()


async def _fill(writer: SessionLog) -> None:
    for number in range(1, 20):
        one = batch(number, through=number, session="mine")
        one.trace.append((number, b"x" * 60_000))
        await writer.append(one)


async def test_a_writer_that_may_not_read_stores_trace_once_that_was_stored_in_part(
    owned: Owned,
) -> None:
    await owned.init()
    writer, owner = open_log(owned.mine), open_log(owned.owner)
    await writer.open("mine", E1)
    await writer.append(batch(1, trace=[1, 2], session="mine"))
    await writer.append(batch(2, trace=[1, 2, 3], through=3, session="mine"))
    assert (await read_all(owner, session="mine"))[:3] == ["t1", "t2", "t3"]
    await writer.aclose()
    await owner.aclose()


@pytest.mark.requirement("G-PUMP-6", "G-PUMP-7")
async def test_a_session_that_was_denied_keeps_no_other_from_the_log(owned: Owned) -> None:
    await owned.init()
    async with open_session("typo", log=owned.mine, close_timeout=0.5) as session:
        session.fail("Overloaded")
    assert len(await anyio.to_thread.run_sync(files)) == 1
    async with open_session("mine", log=owned.mine) as session:
        session.fail("Overloaded")
    owner = open_log(owned.owner)
    assert [one.session for one in await owner.sessions()] == ["mine"]
    await owner.aclose()
    assert len(await anyio.to_thread.run_sync(files)) == 1
