"""A hub's log read from afar is the log: same pages, same failures, over any interruption."""

from __future__ import annotations

import asyncio
import random
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

import anyio
import pytest
from grpclib.client import Channel

import compass_subscriber.v1 as subscriber
from compass_agent.errors.codes import ErrorCode, OperationError
from compass_agent.frames import Cursor
from compass_agent.log.memory import MemoryLog
from compass_agent.runtime.hub import running_hub
from compass_agent.services.grpc import HubReader
from compass_agent.services.hub_links import HubAway, HubBack
from compass_agent.services.sessions import list_sessions, resolve_session, tail
from compass_agent.wire import FrameItem, SessionMeta
from compass_agent.wire.sessions import (
    ListRequest,
    list_request_to_bytes,
    listed_from_bytes,
)
from writing_logs import E1, E2, Clock, S, batch, end, failed, state, told

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator
    from pathlib import Path

    from compass_agent.wire import Batch, Item, Page


@asynccontextmanager
async def reading(
    place: Path, patience_s: float = 20.0
) -> AsyncGenerator[tuple[HubReader, list[HubAway | HubBack]]]:
    """A reader of the hub at `place`, and what it tells people."""
    lines: list[HubAway | HubBack] = []
    reader = HubReader(f"unix:{place}", tell=lines.append, patience_s=patience_s)
    try:
        yield reader, lines
    finally:
        await reader.aclose()


async def stored(log: MemoryLog, *batches: Batch) -> None:
    for one in batches:
        await log.open(one.session, one.epoch, SessionMeta("Fix it", "pi", "1.0"))
        assert (await log.append(one)).code is None


async def until(pages: AsyncIterator[Page], word: str) -> list[str]:
    """What is read up to this word."""
    words: list[str] = []
    with anyio.fail_after(20):
        while word not in words:
            words += told((await anext(pages)).items)
    return [one.replace("p", "t", 1) if one[0] == "p" else one for one in words]


TWO_EPOCHS = (
    batch(1, priority={1: failed("no")}, trace=[2, 5], through=5),
    end(2, 7, 1),
    batch(1, trace=[1, 3], through=4, epoch=E2),
)


def bare(items: list[Item]) -> list[Item]:
    """Without the lane, which a hub does not tell."""
    return [one._replace(priority=False) if isinstance(one, FrameItem) else one for one in items]


@pytest.mark.requirement("G-HUB-8")
@pytest.mark.parametrize("page_frames", [1, 2, 4096])
@pytest.mark.parametrize("after", [None, Cursor(E1, 2), Cursor(E2, 0), Cursor("f" * 16, 4)])
async def test_a_hub_reads_as_its_log(place: Path, after: Cursor | None, page_frames: int) -> None:
    log = MemoryLog()
    await stored(log, *TWO_EPOCHS)
    async with running_hub(log, unix=place), reading(place) as (reader, _):
        far = reader.read(S, after, follow=False, page_frames=page_frames)
        pages = [page async for page in far]
        near = [page async for page in log.read(S, after, follow=False)]
    assert [item for page in pages for item in page.items] == bare(
        [item for page in near for item in page.items]
    )
    assert pages[-1].cursor == near[-1].cursor


class LateToHear:
    """Joins callers to the hub at `far`, as late as a busy machine does."""

    def __init__(self, far: Path, late_s: float) -> None:
        self._far = far
        self._late_s = late_s

    async def take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Take one caller."""
        with anyio.move_on_after(self._late_s):
            await anyio.Event().wait()
        far_reader, far_writer = await asyncio.open_unix_connection(self._far)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._carry, reader, far_writer)
            await self._carry(far_reader, writer)
            tasks.cancel_scope.cancel()

    @staticmethod
    async def _carry(source: asyncio.StreamReader, to: asyncio.StreamWriter) -> None:
        # Either end may be gone first.
        with suppress(ConnectionError):
            while data := await source.read(65_536):
                to.write(data)
        to.close()


@pytest.mark.requirement("G-HUB-8")
async def test_a_hub_that_is_slow_to_take_the_call_is_waited_for(place: Path) -> None:
    log = MemoryLog()
    await stored(log, *TWO_EPOCHS)
    slow, late = place.with_name("slow.sock"), LateToHear(place, 0.5)
    async with (
        running_hub(log, unix=place),
        await asyncio.start_unix_server(late.take, slow),
        reading(slow) as (reader, _),
    ):
        assert len(await reader.sessions()) == 1


@pytest.mark.requirement("G-HUB-8")
async def test_a_hub_lists_its_sessions_as_its_log_does(place: Path) -> None:
    clock = Clock()
    log = MemoryLog(now_ms=clock)
    await stored(log, *TWO_EPOCHS, batch(1, priority={1: failed("Overloaded")}, session="s2"))
    clock.pass_s(60)
    await stored(log, batch(1, trace=[1], through=1, session="s3"))
    async with running_hub(log, unix=place), reading(place) as (reader, _):
        assert await reader.sessions() == await log.sessions()
        assert await list_sessions(reader) == await list_sessions(log)
        found = await resolve_session(reader, "s3")
        assert found == await reader.session("s3")
        for unknown, code in (("s4", ErrorCode.NOT_FOUND), ("a/b", ErrorCode.UNSUPPORTED_INPUT)):
            with pytest.raises(OperationError) as caught:
                await reader.session(unknown)
            assert caught.value.code is code


async def test_a_list_comes_in_pages_and_takes_filters(place: Path) -> None:
    log = MemoryLog()
    for number in range(450):
        await stored(log, batch(1, trace=[1], through=1, session=f"s{number}"))
    await stored(log, batch(1, priority={1: failed("Overloaded"), 2: state(5)}, session="bad"))

    async with running_hub(log, unix=place), reading(place) as (reader, _):

        async def page(request: ListRequest) -> tuple[list[str], str]:
            data = await reader._ask(reader._list, list_request_to_bytes(request))  # pyright: ignore[reportPrivateUsage] - one page alone
            infos, token = listed_from_bytes(data)
            return [info.session for info in infos], token

        assert len(await reader.sessions()) == 451
        first, token = await page(ListRequest(limit=2))
        assert first[0] == "bad"
        second, _ = await page(ListRequest(limit=2, page_token=token))
        assert len({*first, *second}) == 4
        assert await page(ListRequest(states=frozenset({5}))) == (["bad"], "")
        assert await page(ListRequest(query="OVERLOAD")) == (["bad"], "")
        assert sorted((await page(ListRequest(query="s44")))[0]) == [
            "s44",
            *(f"s44{n}" for n in range(10)),
        ]


@pytest.mark.requirement("G-HUB-8")
async def test_a_reading_goes_on_behind_the_last_page_when_the_hub_is_back(place: Path) -> None:
    log = MemoryLog()
    await stored(log, batch(1, trace=[1, 2], through=2))
    async with reading(place) as (reader, lines):
        pages = tail(reader, S)
        async with running_hub(log, unix=place):
            assert await until(pages, "caught up") == ["t1", "t2", "caught up"]
        await stored(log, batch(2, trace=[3, 5], through=5), end(3, 6))
        async with running_hub(log, unix=place):
            assert await until(pages, "end 6 4") == [
                "t3",
                "gap 4-4 dropped",
                "t5",
                "gap 6-6 dropped",
                "end 6 4",
            ]
            with pytest.raises(StopAsyncIteration):
                await anext(pages)
    tries = lines[:-1]
    assert [one.attempt for one in tries if isinstance(one, HubAway)] == [*range(1, len(tries) + 1)]
    assert tries[:1] == [HubAway(1, 0.1, 20.0)]
    assert lines[-1:] == [HubBack(Cursor(E1, 2), 2)]


@pytest.mark.requirement("G-HUB-8")
async def test_a_reading_gives_up_as_unavailable_when_the_hub_stays_away(place: Path) -> None:
    log = MemoryLog()
    await stored(log, batch(1, trace=[1], through=1))
    async with reading(place, patience_s=0.3) as (reader, lines):
        pages = tail(reader, S)
        async with running_hub(log, unix=place):
            await until(pages, "caught up")
        with anyio.fail_after(20), pytest.raises(OperationError) as caught:
            await anext(pages)
        assert caught.value.code is ErrorCode.UNAVAILABLE
        # A reading that never began is refused at once.
        with anyio.fail_after(5), pytest.raises(OperationError) as caught:
            await anext(reader.read(S))
        assert caught.value.code is ErrorCode.UNAVAILABLE
    assert [type(one) for one in lines] == [HubAway] * len(lines)


async def test_a_hub_that_came_back_without_the_session_ends_the_reading(place: Path) -> None:
    log = MemoryLog()
    await stored(log, batch(1, trace=[1], through=1))
    async with reading(place) as (reader, _):
        pages = tail(reader, S)
        async with running_hub(log, unix=place):
            await until(pages, "caught up")
        async with running_hub(MemoryLog(), unix=place):
            with anyio.fail_after(20), pytest.raises(OperationError) as caught:
                await anext(pages)
    assert caught.value.code is ErrorCode.NOT_FOUND


async def test_a_reader_is_told_once_that_a_writer_is_away_and_that_it_is_back(place: Path) -> None:
    clock = Clock()
    log = MemoryLog(now_ms=clock)
    await stored(log, batch(1, priority=[1], through=1))
    async with reading(place) as (reader, _):
        pages = reader.read(S)
        async with running_hub(log, unix=place):
            await until(pages, "caught up")
            clock.pass_s(60)
            assert await until(pages, "state 6") == ["state 6"]
        async with running_hub(log, unix=place):
            # Away as before: nothing new.
            with anyio.move_on_after(0.5):
                await anext(pages)
                pytest.fail("something was told")
        await log.renew([(S, E1)])
        async with running_hub(log, unix=place):
            assert await until(pages, "state 3") == ["state 3"]
            clock.pass_s(60)
            assert await until(pages, "state 6") == ["state 6"]


async def test_a_wait_that_was_cancelled_loses_and_repeats_nothing(place: Path) -> None:
    log = MemoryLog()
    await stored(log, batch(1, trace=[1], through=1))
    async with running_hub(log, unix=place), reading(place) as (reader, lines):
        pages = reader.read(S)
        assert await until(pages, "caught up") == ["t1", "caught up"]
        for number in range(2, 6):
            with anyio.move_on_after(0.02):
                await anext(pages)
                pytest.fail("nothing was stored")
            await stored(log, batch(number, trace=[number], through=number))
            assert await until(pages, f"t{number}") == [f"t{number}"]
        await pages.aclose()
        with pytest.raises(StopAsyncIteration):
            await anext(pages)
    assert lines == []


@pytest.mark.requirement("G-HUB-1")
async def test_cut_at_random_a_reading_has_neither_hole_nor_repeat(place: Path) -> None:
    dice = random.Random()  # noqa: S311 - dice
    log = MemoryLog()
    kept = [seq for seq in range(1, 300) if seq % 7]
    await stored(log, batch(1, trace=kept, through=300), end(2, 300))
    words: list[str] = []
    async with reading(place) as (reader, _), running_hub(log, unix=place):
        pages = reader.read(S, page_frames=5)
        async for page in pages:
            words += told(page.items)
            if dice.random() < 0.3:
                pages._break()  # pyright: ignore[reportPrivateUsage] - the cut
    near = [w async for p in log.read(S) for w in told(p.items)]
    assert words == near


@pytest.mark.parametrize("again", [False, True])
async def test_an_end_is_told_once_although_the_call_breaks_behind_it(
    place: Path, again: bool
) -> None:
    log = MemoryLog()
    await stored(log, batch(1, trace=[1], through=1), end(2, 1))
    async with running_hub(log, unix=place), reading(place) as (reader, _):
        pages = reader.read(S)
        assert await until(pages, "end 1 4") == ["t1", "end 1 4"]
        pages._break()  # pyright: ignore[reportPrivateUsage] - the cut
        if again:
            await stored(log, batch(1, trace=[1], through=1, epoch=E2))
            assert await until(pages, "caught up") == ["reset 2 new_epoch", "t1", "caught up"]
        else:
            with anyio.fail_after(10), pytest.raises(StopAsyncIteration):
                await anext(pages)


async def test_a_client_of_the_subscriber_lane_lists_and_gets(place: Path) -> None:
    log = MemoryLog()
    await stored(log, batch(1, priority={1: failed("Overloaded")}, through=1))
    async with running_hub(log, unix=place), Channel(path=str(place)) as channel:
        stub = subscriber.CompassServiceStub(channel)
        listed = await stub.list_sessions(subscriber.ListSessionsRequest(limit=5))
        got = await stub.get_session(subscriber.GetSessionRequest(session_id=S))
        assert [one.session_id for one in listed.sessions] == [S]
        assert got.session is not None
        assert got.session.last_error is not None
        assert (got.session.last_error.message, got.session.seq) == ("Overloaded", 1)
        assert (got.session.title, got.session.agent) == ("Fix it", "pi")
        with pytest.raises(Exception, match="There is no such session"):
            await stub.get_session(subscriber.GetSessionRequest(session_id="nobody"))
