"""What removes trace comes through while others write, and says why what is missing is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import pytest

from compass_agent.errors.codes import ErrorCode, OperationError
from compass_agent.log.jetstream import JetStreamLog
from compass_agent.log.jetstream.faults import BusyError, FullError
from compass_agent.log.retention import Retention
from nats_logs import fresh_log
from writing_logs import E1, S, batch, read_all

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from nats_servers import NatsServer

ALL = Retention(ended_age_s=None, total_bytes=None)
LESS = Retention(ended_age_s=None, total_bytes=None, trace_frames=2)


async def fill(log: JetStreamLog, session: str, frames: int = 6) -> None:
    await log.open(session, E1)
    await log.append(batch(1, trace=range(1, frames + 1), through=frames, session=session))


def between(
    log: JetStreamLog,
    monkeypatch: pytest.MonkeyPatch,
    meanwhile: Callable[[int], Awaitable[None]],
    times: int,
) -> None:
    """Have `meanwhile` done so many times just before `log` writes something down."""
    engine = log._engine  # pyright: ignore[reportPrivateUsage] - what it asks of the server
    publish, done = engine.publish, [0]

    async def late(subject: str, payload: bytes, fence: tuple[str, int]) -> int:
        if done[0] < times and f".{S}." in subject:
            done[0] += 1
            await meanwhile(done[0])
        return await publish(subject, payload, fence)

    monkeypatch.setattr(engine, "publish", late)


async def test_trace_goes_while_another_process_writes_to_the_session(
    two: tuple[JetStreamLog, JetStreamLog], monkeypatch: pytest.MonkeyPatch
) -> None:
    keeps, writes = two
    await fill(writes, S)
    await fill(writes, "idle")

    async def more(time: int) -> None:
        await writes.append(batch(1 + time, trace=[6 + time], through=6 + time))

    between(keeps, monkeypatch, more, 8)
    pruned = await keeps.prune(LESS)
    assert pruned.trimmed == {S: 4, "idle": 4}
    assert await read_all(writes) == ["gap 1-4 retention", *(f"t{n}" for n in range(5, 15))]
    assert await read_all(writes, session="idle") == ["gap 1-4 retention", "t5", "t6"]
    assert {one.session: one.frames for one in await keeps.sessions()} == {S: 10, "idle": 2}


async def test_a_session_that_is_never_at_rest_is_left_and_the_others_are_not(
    two: tuple[JetStreamLog, JetStreamLog],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr("compass_agent.log.jetstream.turns._TURNS", 5)
    keeps, writes = two
    await fill(writes, S)
    await fill(writes, "idle")

    async def renewed(time: int) -> None:
        await writes.renew([(S, E1)], seconds=10 + time)

    between(keeps, monkeypatch, renewed, 1000)
    pruned = await keeps.prune(LESS)
    assert pruned.trimmed == {"idle": 4}
    assert f"nothing was removed of {S}" in caplog.text
    with pytest.raises(BusyError) as caught:
        await keeps.prune(LESS)
    assert caught.value.code is ErrorCode.UNAVAILABLE
    assert S in caught.value.reason
    assert await read_all(writes) == [f"t{n}" for n in range(1, 7)]


async def test_what_another_process_removed_meanwhile_is_not_removed_twice(
    two: tuple[JetStreamLog, JetStreamLog], monkeypatch: pytest.MonkeyPatch
) -> None:
    keeps, writes = two
    await fill(writes, S)

    async def trimmed(_time: int) -> None:
        await writes.prune(Retention(ended_age_s=None, total_bytes=None, trace_frames=3))

    between(keeps, monkeypatch, trimmed, 1)
    assert (await keeps.prune(LESS)).trimmed == {S: 1}
    assert await read_all(writes) == ["gap 1-4 retention", "t5", "t6"]
    assert (await writes.sessions())[0].frames == 2


@pytest.mark.parametrize("times", [3, 1000])
async def test_a_full_engine_never_calls_it_a_conflict_that_others_write(
    nats_server: NatsServer, monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    monkeypatch.setattr("compass_agent.log.jetstream.turns._TURNS", 5)
    log = await fresh_log(nats_server, retention=ALL, settings={"max_bytes": 600_000})
    stream = log._engine.stream  # pyright: ignore[reportPrivateUsage] - the same for another process
    other = JetStreamLog([nats_server.url], stream, retention=ALL)
    await log.open(S, E1)

    async def append(first: int, last: int) -> None:
        for number in range(first, last + 1):
            large = batch(number, through=number)
            large.trace.append((number, b"x" * 50_000))
            await log.append(large)

    await append(1, 10)
    engine = log._engine  # pyright: ignore[reportPrivateUsage] - what it asks of the server
    publish, done = engine.publish, [0]

    async def late(subject: str, payload: bytes, fence: tuple[str, int]) -> int:
        if subject.endswith(".h") and done[0] < times:
            done[0] += 1
            await other.renew([(S, E1)], seconds=10 + done[0])
        return await publish(subject, payload, fence)

    monkeypatch.setattr(engine, "publish", late)
    if times == 1000:
        with pytest.raises(BusyError):
            await append(11, 14)
    else:
        await append(11, 14)
    assert done[0] >= 3
    monkeypatch.undo()
    await append(11, 14)  # what was stored is answered again
    found = await read_all(other, page_frames=100)
    assert found[0].endswith(" retention")
    assert not [word for word in found if word.endswith("dropped")]
    for one in (log, other):
        await one.aclose()


async def test_trace_that_had_to_go_first_is_told_as_retention_later(
    nats_server: NatsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = await fresh_log(nats_server, retention=ALL)
    await fill(log, S)
    engine = log._engine  # pyright: ignore[reportPrivateUsage] - what it asks of the server
    publish, purge, purged = engine.publish, engine.purge, [0]

    async def is_full(subject: str, payload: bytes, fence: tuple[str, int]) -> int:
        if not purged[0]:
            raise FullError(ErrorCode.UNAVAILABLE, "full")
        if subject.endswith(".h"):
            raise OperationError(ErrorCode.UNAVAILABLE)
        return await publish(subject, payload, fence)

    async def purging(subject: str, below: int) -> None:
        purged[0] += 1
        await purge(subject, below)

    monkeypatch.setattr(engine, "publish", is_full)
    monkeypatch.setattr(engine, "purge", purging)
    with pytest.raises(OperationError):
        await log.append(batch(2, trace=[7], through=7))
    monkeypatch.undo()
    with anyio.fail_after(10):
        await log.append(batch(2, trace=[7], through=7))
        assert await read_all(log) == ["gap 1-6 retention", "t7"]
    await log.aclose()
