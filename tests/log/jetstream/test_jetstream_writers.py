"""Several processes on one stream, answers that are lost, and an engine that is full."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from anyio.lowlevel import checkpoint

from compass_agent.errors.codes import ErrorCode, OperationError
from compass_agent.log.jetstream import JetStreamLog
from compass_agent.log.jetstream.faults import FullError
from compass_agent.log.retention import Retention
from compass_agent.wire import Batch
from nats_logs import fresh_log
from writing_logs import E1, E2, S, batch, end, read_all, state, told

if TYPE_CHECKING:
    from compass_agent.log import Pages
    from compass_agent.log.jetstream.waiting import Stored
    from nats_servers import NatsServer

ALL = Retention(ended_age_s=None, total_bytes=None)


async def take(pages: Pages, words: int) -> list[str]:
    found: list[str] = []
    with anyio.fail_after(10):
        while len(found) < words:
            found += told((await anext(pages)).items)
    return found


@pytest.mark.requirement("G-NATS-2")
async def test_a_reader_at_another_hub_gets_live_what_any_hub_stores(
    two: tuple[JetStreamLog, JetStreamLog],
) -> None:
    here, there = two
    await here.open(S, E1)
    pages = there.read(S)
    assert await take(pages, 1) == ["caught up"]
    for number in range(1, 11):
        writer = two[number % 2]
        await writer.append(batch(number, trace=[number], through=number))
        assert await take(pages, 1) == [f"t{number}"]
    await here.open(S, E2)
    assert await take(pages, 1) == ["reset 2 new_epoch"]
    await there.append(batch(11, priority=[11], through=11))
    assert await take(pages, 1) == ["p11 late"]
    await here.delete(S)
    with pytest.raises(OperationError) as caught:
        await take(pages, 1)
    assert caught.value.code is ErrorCode.NOT_FOUND


@pytest.mark.requirement("G-NATS-2")
async def test_two_hubs_that_get_the_same_batches_store_each_frame_once(
    two: tuple[JetStreamLog, JetStreamLog],
) -> None:
    await two[0].open(S, E1)
    batches = [
        replace(
            batch(n, priority=[n * 4], trace=[n * 4 - 2, n * 4 - 1], through=n * 4),
            prev_priority=(n - 1) * 4,
        )
        for n in range(1, 31)
    ]

    async def send(log: JetStreamLog) -> None:
        for one in batches:
            answer = await log.append(one)
            assert answer.missing_from == 0
            assert answer.code is None

    async with anyio.create_task_group() as tasks:
        for log in two:
            tasks.start_soon(send, log)
    expected = [
        word
        for n in range(1, 121, 4)
        for word in (f"gap {n}-{n} dropped", f"t{n + 1}", f"t{n + 2}", f"p{n + 3}")
    ]
    for log in two:
        assert await read_all(log) == expected
    assert (await two[0].sessions())[0].frames == 90


@pytest.mark.requirement("G-NATS-2")
async def test_a_hub_that_looked_long_ago_neither_overwrites_nor_denies_what_another_did(
    two: tuple[JetStreamLog, JetStreamLog],
) -> None:
    here, there = two
    with pytest.raises(OperationError):
        await there.append(batch(1, priority=[1], through=1))
    await here.open(S, E1)
    await there.append(batch(1, priority=[1], through=1))
    await here.append(batch(2, trace=[2], through=2, prev_priority=1))
    await there.renew([(S, E1)], seconds=0)
    await here.close_below(S, E1)
    await there.append(replace(end(3, 2, 1)))
    await here.delete(S)
    with pytest.raises(OperationError) as caught:
        await there.append(batch(4, trace=[3], through=3))
    assert caught.value.code is ErrorCode.NOT_FOUND
    await there.open(S, E2)
    await here.append(batch(1, trace=[1], through=1, epoch=E2))
    assert await read_all(there) == ["t1"]


@pytest.mark.requirement("G-NATS-2")
@pytest.mark.parametrize("answered", [0, 1])
async def test_a_batch_whose_answer_was_lost_is_stored_once(
    two: tuple[JetStreamLog, JetStreamLog], monkeypatch: pytest.MonkeyPatch, answered: int
) -> None:
    log, _ = two
    await log.open(S, E1)
    engine = log._engine  # pyright: ignore[reportPrivateUsage] - where the answer is lost
    publish = engine.publish
    left = [answered]

    async def loses(subject: str, payload: bytes, fence: tuple[str, int]) -> int:
        pos = await publish(subject, payload, fence)
        if left[0] == 0:
            left[0] -= 1
            raise OperationError(ErrorCode.UNAVAILABLE)
        left[0] -= 1
        return pos

    monkeypatch.setattr(engine, "publish", loses)
    one = batch(1, priority=[3], trace=[1, 2, 4], through=4)
    with pytest.raises(OperationError):
        await log.append(one)
    answer = await log.append(one)
    assert (answer.last_priority, answer.through, answer.late_trace) == (3, 4, 0)
    assert await log.append(one) == answer
    assert await read_all(log) == ["t1", "t2", "p3", "t4"]
    assert (await log.sessions())[0].frames == 4


@pytest.mark.requirement("G-NATS-3")
async def test_a_full_engine_rolls_trace_and_refuses_priority_until_there_is_room(
    nats_server: NatsServer,
) -> None:
    log = await fresh_log(nats_server, retention=ALL, settings={"max_bytes": 600_000})
    await log.open(S, E1)
    for number in range(1, 41):
        large = batch(number, through=number)
        large.trace.append((number, b"x" * 50_000))
        await log.append(large)
    found = await read_all(log, page_frames=100)
    first = int(found[1][1:])
    assert found == [f"gap 1-{first - 1} retention", *(f"t{n}" for n in range(first, 41))]
    assert 20 < first < 40
    refused: Batch | None = None
    for number in range(41, 80):
        urgent = batch(number, priority={number: state(3) + b"\x3a\x00" * 15_000}, through=number)
        urgent = replace(urgent, prev_priority=0 if number == 41 else number - 1)
        try:
            await log.append(urgent)
        except FullError:
            refused = urgent
            break
    assert refused is not None
    kept = [word for word in await read_all(log, page_frames=100) if word[0] == "p"]
    assert kept == [f"p{number}" for number in range(41, refused.number)]
    assert not [word for word in await read_all(log) if word[0] == "t"]
    await log.aclose()


async def test_frames_of_many_blocks_and_large_batches_are_read_in_pages(
    nats_server: NatsServer,
) -> None:
    log = await fresh_log(nats_server, retention=ALL)
    await log.open(S, E1)
    places = [*range(1, 9_000), 4_096 * 5 - 1, 4_096 * 5, 2**62]
    urgent = places[::1000]
    rest = [place for place in places if place not in urgent]
    await log.append(batch(1, priority=urgent, trace=rest, through=2**62 + 1))
    for page_frames in (700, 4096):
        found = await read_all(log, page_frames=page_frames)
        frames = [word for word in found if word[0] != "g"]
        assert [int(word[1:]) for word in frames] == places
        assert found[-1] == f"gap {2**62 + 1}-{2**62 + 1} dropped"
    await log.aclose()


@pytest.mark.requirement("G-NATS-2")
async def test_a_live_message_that_is_lost_is_noticed_with_the_next_one(
    two: tuple[JetStreamLog, JetStreamLog], monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = two
    await here.open(S, E1)
    pages = there.read(S)
    await here.append(batch(1, trace=[1], through=1))
    assert await take(pages, 2) == ["t1", "caught up"]
    store = there._store  # pyright: ignore[reportPrivateUsage] - where live messages come in
    hear = store._hear  # pyright: ignore[reportPrivateUsage] - likewise
    lost: list[object] = []

    def loses_the_first(cached: Any, message: Any) -> None:
        if lost:
            hear(cached, message)
        lost.append(message)

    monkeypatch.setattr(store, "_hear", loses_the_first)
    for number in (2, 3):
        await here.append(batch(number, trace=[number], through=number))
    assert await take(pages, 2) == ["t2", "t3"]
    assert len(lost) == 2


@pytest.mark.requirement("G-NATS-2")
async def test_what_is_stored_while_a_replica_that_lags_is_read_is_no_hole(
    two: tuple[JetStreamLog, JetStreamLog], monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = two
    await here.open(S, E1)
    await here.append(batch(1, trace=[1], through=1))
    store = there._store  # pyright: ignore[reportPrivateUsage] - where answers come in
    engine = store.engine
    subjects, fetch = engine.subjects, engine.fetch
    places: list[int] = []

    def newest() -> int:
        known = store.session(S).known
        return 0 if known is None else known.pos

    async def tells_then_more_is_stored(subject: str) -> dict[str, int]:
        found = await subjects(subject)
        places.append(newest())
        seq = 1 + len(places)
        await here.append(batch(seq, priority=[seq], through=seq))
        with anyio.fail_after(5):
            while newest() <= places[-1]:
                await checkpoint()
        return found

    async def lags(subject: str, start: int) -> list[Stored]:
        monkeypatch.setattr(engine, "subjects", subjects)
        return [one for one in await fetch(subject, start) if one.pos <= places[-1]]

    monkeypatch.setattr(engine, "subjects", tells_then_more_is_stored)
    monkeypatch.setattr(engine, "fetch", lags)
    pages = there.read(S)
    found = await take(pages, 1)
    monkeypatch.undo()
    last = 2 + len(places)
    await here.append(batch(last, trace=[last], through=last))
    while f"t{last}" not in found:
        found += await take(pages, 1)
    urgent = [f"p{seq}" for seq in range(2, last)]
    assert [word for word in found if word != "caught up"] == ["t1", *urgent, f"t{last}"]


async def test_late_frames_that_a_replica_lacks_for_now_are_asked_for_again(
    two: tuple[JetStreamLog, JetStreamLog], monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = two
    await here.open(S, E1)
    await here.append(batch(1, trace=[1], through=3))
    pages = there.read(S)
    assert await take(pages, 3) == ["t1", "gap 2-3 dropped", "caught up"]
    store = there._store  # pyright: ignore[reportPrivateUsage] - where answers come in
    fetch = store.engine.fetch
    asked: list[str] = []

    async def lags_once(subject: str, start: int) -> list[Stored]:
        asked.append(subject)
        return [] if len(asked) == 1 else await fetch(subject, start)

    monkeypatch.setattr(store.engine, "fetch", lags_once)
    await here.append(batch(2, priority=[2], through=3))
    store.session(S).forget()  # what passed is not known any more
    assert await take(pages, 1) == ["p2 late"]
    assert len(asked) == 2
