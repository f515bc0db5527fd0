"""What cannot be read of one session concerns that session alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import nats
import pytest

from compass_agent.errors.codes import ErrorCode, OperationError
from compass_agent.log.jetstream import JetStreamLog
from compass_agent.log.jetstream.faults import ConflictError, DamagedError
from compass_agent.log.retention import Retention
from nats_logs import fresh_stream
from writing_logs import E1, E2, batch, read_all

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from nats.aio.client import Client

    from nats_servers import NatsServer

    Harm = Callable[[Client, str], Awaitable[None]]


async def put(client: Client, subject: str, payload: bytes) -> None:
    answer = await client.request(subject, payload, timeout=5)
    assert b'"error"' not in answer.data


async def junk_as_sheet(client: Client, root: str) -> None:
    await put(client, f"{root}.s.bad.h", b"junk")


async def nothing_as_sheet(client: Client, root: str) -> None:
    await put(client, f"{root}.s.bad.h", b"")


async def junk_as_last(client: Client, root: str) -> None:
    await put(client, f"{root}.s.bad.x", b"junk")


async def sheet_of_a_later_version(client: Client, root: str) -> None:
    message = await client.jetstream().get_last_msg(root, f"{root}.s.bad.h")  # pyright: ignore[reportUnknownMemberType] - of options that are not used
    await put(client, f"{root}.s.bad.h", b"\x02" + (message.data or b"")[1:])


async def record_cut_short(client: Client, root: str) -> None:
    subject = f"{root}.s.bad.{E1}.t.0"
    message = await client.jetstream().get_last_msg(root, subject)  # pyright: ignore[reportUnknownMemberType] - of options that are not used
    await put(client, subject, (message.data or b"")[:-20])


async def record_of_an_unknown_epoch(client: Client, root: str) -> None:
    message = await client.jetstream().get_last_msg(root, f"{root}.s.good.{E1}.t.0")  # pyright: ignore[reportUnknownMemberType] - of options that are not used
    data = (message.data or b"").replace(E1.encode(), E2.encode())
    await put(client, f"{root}.s.bad.{E2}.t.0", data)


async def no_sheet(client: Client, root: str) -> None:
    await client.jetstream().purge_stream(root, subject=f"{root}.s.bad.h")  # pyright: ignore[reportUnknownMemberType] - of options that are not used


async def no_session_at_all(client: Client, root: str) -> None:
    await put(client, f"{root}.s.x$y.h", b"junk")
    await put(client, f"{root}.s.bad.h", b"junk")


HARMS: list[Harm] = [
    junk_as_sheet,
    nothing_as_sheet,
    junk_as_last,
    sheet_of_a_later_version,
    record_cut_short,
    record_of_an_unknown_epoch,
    no_session_at_all,
    no_sheet,
]


async def harmed(server: NatsServer, harm: Harm) -> JetStreamLog:
    """A log with the sessions good and bad, one of them harmed by somebody else."""
    stream = await fresh_stream(server)
    before = JetStreamLog([server.url], stream)
    for session in ("good", "bad"):
        await before.open(session, E1)
        await before.append(batch(1, priority=[1], trace=[2, 3], through=3, session=session))
    await before.aclose()
    client = await nats.connect(server.url)  # pyright: ignore[reportUnknownMemberType] - of options that are not used
    await harm(client, stream)
    await client.close()
    return JetStreamLog([server.url], stream)


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("harm", HARMS)
async def test_a_session_that_cannot_be_read_says_so_and_holds_up_no_other(
    nats_server: NatsServer, harm: Harm
) -> None:
    log = await harmed(nats_server, harm)
    with anyio.fail_after(10):
        for asked in (
            lambda: read_all(log, session="bad"),
            lambda: log.append(batch(2, trace=[4], through=4, session="bad")),
        ):
            with pytest.raises(DamagedError, match="refused") as caught:
                await asked()
            assert caught.value.code is ErrorCode.STORAGE_FAILED
            assert " bad " in caught.value.reason
        assert await read_all(log, session="good") == ["p1", "t2", "t3"]
        next_one = batch(2, trace=[4], through=4, prev_priority=1, session="good")
        assert (await log.append(next_one)).code is None
        pruned = await log.prune(Retention(trace_frames=1))
        assert pruned.trimmed == {"good": 2}
    await log.aclose()


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("harm", HARMS)
async def test_a_session_that_cannot_be_read_is_listed_as_such_and_can_be_removed(
    nats_server: NatsServer, harm: Harm
) -> None:
    log = await harmed(nats_server, harm)
    with anyio.fail_after(10):
        good, bad = await log.sessions()
        assert (good.session, bad.session, bad.ended) == ("good", "bad", False)
        assert bad.last_error is not None
        assert "cannot be read" in bad.last_error.message
        await log.delete("bad")
        assert [one.session for one in await log.sessions()] == ["good"]
        with pytest.raises(OperationError) as caught:
            await read_all(log, session="bad")
        assert caught.value.code is ErrorCode.NOT_FOUND
        await log.open("bad", E2)
        assert await read_all(log, session="bad") == []
    await log.aclose()


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_writer_for_whom_others_are_always_quicker_gives_up(
    nats_server: NatsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = JetStreamLog([nats_server.url], await fresh_stream(nats_server))
    await log.open("good", E1)
    engine = log._store.engine  # pyright: ignore[reportPrivateUsage] - where others are quicker
    monkeypatch.setattr("compass_agent.log.jetstream.turns._PAUSE_S", 0.0)

    async def late(*_arguments: object) -> int:
        raise ConflictError(ErrorCode.CONFLICT, "wrong last sequence")

    monkeypatch.setattr(engine, "publish", late)
    with anyio.fail_after(10):
        for asked in (
            lambda: log.append(batch(1, trace=[1], through=1, session="good")),
            lambda: log.open("good", E2),
        ):
            with pytest.raises(OperationError) as caught:
                await asked()
            assert caught.value.code is ErrorCode.UNAVAILABLE
    await log.aclose()
