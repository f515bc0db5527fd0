"""A tail in plain Python goes on over any interruption: no hole, no repeat, no end of its own."""

from __future__ import annotations

import asyncio
import random
import socket
from dataclasses import replace
from typing import TYPE_CHECKING

import anyio
import pytest

from compass_agent.client import (
    Link,
    LinkStatus,
    Reset,
    ResetReason,
    TailError,
    TailItem,
    call,
    tail,
)
from compass_agent.errors.codes import ErrorCode
from compass_agent.frames import Cursor
from compass_agent.log.memory import MemoryLog
from compass_agent.runtime.hub import running_hub
from compass_agent.view import fold
from plain_hub import plain_hub
from tail_reading import rest, stored, until
from writing_logs import E1, E2, Clock, S, batch, end, failed, state, told

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.requirement("G-CLIENT-2")
async def test_a_tail_goes_on_where_it_was_when_the_hub_is_back_and_says_so(place: Path) -> None:
    log = MemoryLog()
    links: list[Link] = []
    await stored(log, batch(1, trace=[1, 2], through=2))
    reading = tail(f"unix:{place}", S, on_link=links.append)
    async with running_hub(log, unix=place):
        assert await until(reading, "caught up") == ["t1", "t2", "caught up"]
    await stored(log, batch(2, trace=[3, 5], through=5))
    async with running_hub(log, unix=place):
        assert await until(reading, "t5") == ["t3", "gap 4-4 dropped", "t5"]
    await stored(log, end(3, 6))
    async with running_hub(log, unix=place):
        assert told(await rest(reading)) == ["gap 6-6 dropped", "end 6 4"]
    statuses = [(link.status, link.cursor) for link in links]
    assert statuses == [
        (LinkStatus.AWAY, Cursor(E1, 2)),
        (LinkStatus.BACK, Cursor(E1, 2)),
        (LinkStatus.AWAY, Cursor(E1, 5)),
        (LinkStatus.BACK, Cursor(E1, 5)),
    ]
    assert links[0].error is not None
    assert links[0].error.code is ErrorCode.UNAVAILABLE
    assert links[1].error is None


@pytest.mark.requirement("G-CLIENT-2")
@pytest.mark.parametrize("bad", [LinkStatus.AWAY, LinkStatus.BACK])
async def test_what_on_link_raises_loses_nothing(place: Path, bad: LinkStatus) -> None:
    log = MemoryLog()
    raised: list[LinkStatus] = []

    def on_link(link: Link) -> None:
        if link.status is bad:
            raised.append(link.status)
            raise ValueError(bad)

    async def words(last: str) -> list[str]:
        read: list[str] = []
        with anyio.fail_after(20):
            while last not in read:
                try:
                    read += told([await anext(reading)])
                except ValueError:
                    continue
        return read

    await stored(log, batch(1, trace=[1], through=1))
    reading = tail(f"unix:{place}", S, on_link=on_link)
    async with running_hub(log, unix=place):
        assert await words("caught up") == ["t1", "caught up"]
    await stored(log, batch(2, trace=[2, 3, 5], through=5), end(3, 6))
    async with running_hub(log, unix=place):
        rest_of_it = await words("end 6 4")
        await reading.aclose()
    assert rest_of_it == ["t2", "t3", "gap 4-4 dropped", "t5", "gap 6-6 dropped", "end 6 4"]
    assert raised == [bad]


@pytest.mark.requirement("G-CLIENT-2")
async def test_a_tail_that_begins_before_its_hub_waits_for_it(place: Path) -> None:
    log = MemoryLog()
    links: list[Link] = []
    await stored(log, batch(1, trace=[1], through=1), end(2, 1))
    away = anyio.Event()

    def on_link(link: Link) -> None:
        links.append(link)
        away.set()

    words: list[str] = []

    async def read() -> None:
        words.extend(told(await rest(tail(f"unix:{place}", S, on_link=on_link))))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(read)
        with anyio.fail_after(10):
            await away.wait()
        async with running_hub(log, unix=place):
            with anyio.fail_after(20):
                while not words:
                    await anyio.lowlevel.checkpoint()
    assert words == ["t1", "end 1 4"]
    assert [link.status for link in links] == [LinkStatus.AWAY, LinkStatus.BACK]


@pytest.mark.requirement("G-CLIENT-1")
async def test_a_tail_whose_hub_stays_away_gives_up_with_its_cursor(place: Path) -> None:
    log = MemoryLog()
    await stored(log, batch(1, trace=[1], through=1))
    reading = tail(f"unix:{place}", S, patience_s=0.3)
    async with running_hub(log, unix=place):
        await until(reading, "caught up")
    cursors: list[Cursor | None] = []
    for _ in range(2):  # asked again, it tries again; it never just ends
        with anyio.fail_after(20), pytest.raises(TailError) as caught:
            await anext(reading)
        assert caught.value.code is ErrorCode.UNAVAILABLE
        assert caught.value.retryable
        cursors.append(caught.value.cursor)
    assert cursors == [Cursor(E1, 1), Cursor(E1, 1)]
    await stored(log, batch(2, trace=[2], through=2), end(3, 2))
    async with running_hub(log, unix=place):
        again = tail(f"unix:{place}", S, cursors[0])
        assert told(await rest(again)) == ["t2", "end 2 4"]
        assert told(await rest(reading)) == ["t2", "end 2 4"]


async def test_a_session_that_is_gone_after_a_restart_is_an_error_with_the_cursor(
    place: Path,
) -> None:
    log = MemoryLog()
    await stored(log, batch(1, trace=[1], through=1))
    reading = tail(f"unix:{place}", S)
    async with running_hub(log, unix=place):
        await until(reading, "caught up")
    async with running_hub(MemoryLog(), unix=place):
        with anyio.fail_after(20), pytest.raises(TailError) as caught:
            await anext(reading)
    assert (caught.value.code, caught.value.cursor) == (ErrorCode.NOT_FOUND, Cursor(E1, 1))


@pytest.mark.requirement("G-CLIENT-2")
async def test_a_hub_that_comes_back_with_another_epoch_says_so(place: Path) -> None:
    log, other = MemoryLog(), MemoryLog()
    await stored(log, batch(1, trace=[1], through=1))
    await stored(other, batch(1, trace=[1], through=1, epoch=E2))
    reading = tail(f"unix:{place}", S)
    async with running_hub(log, unix=place):
        await until(reading, "caught up")
    async with running_hub(other, unix=place):
        with anyio.fail_after(20):
            assert await anext(reading) == Reset(E2, ResetReason.UNKNOWN_EPOCH)
        assert await until(reading, "t1") == ["t1"]
    assert reading.cursor == Cursor(E2, 1)


@pytest.mark.requirement("G-CLIENT-2")
async def test_a_filter_survives_a_restart(place: Path) -> None:
    log = MemoryLog()
    first = batch(1, priority={2: failed("one"), 4: state(5)}, trace=[1, 3, 5], through=5)
    second = batch(2, priority={7: failed("two")}, trace=[6, 8], through=8, prev_priority=4)
    await stored(log, first)
    reading = tail(f"unix:{place}", S, kinds=["session_error"])
    async with running_hub(log, unix=place):
        assert await until(reading, "caught up") == ["t2", "t4", "caught up"]
        assert reading.cursor == Cursor(E1, 5)  # what was held back is behind it
    await stored(log, second, end(3, 8, 7))
    async with running_hub(log, unix=place):
        items = await rest(reading)
    assert told(items) == ["t7", "end 8 4"]
    assert fold(items)[0].seq == 7


@pytest.mark.requirement("G-CLIENT-2")
async def test_a_wait_that_was_cancelled_loses_and_repeats_nothing(place: Path) -> None:
    log = MemoryLog()
    links: list[Link] = []
    await stored(log, batch(1, trace=[1], through=1))
    async with (
        running_hub(log, unix=place),
        tail(f"unix:{place}", S, on_link=links.append) as reading,
    ):
        assert await until(reading, "caught up") == ["t1", "caught up"]
        for number in range(2, 6):
            with anyio.move_on_after(0.02):
                await anext(reading)
                pytest.fail("nothing was stored")
            await stored(log, batch(number, trace=[number], through=number))
            assert await until(reading, f"t{number}") == [f"t{number}"]
    with pytest.raises(StopAsyncIteration):
        await anext(reading)
    assert links == []


@pytest.mark.requirement("G-CLIENT-2")
async def test_cut_at_random_a_tail_has_neither_hole_nor_repeat(place: Path) -> None:
    dice = random.Random()  # noqa: S311 - dice
    log = MemoryLog()
    kept = [seq for seq in range(1, 1500) if seq % 7]
    await stored(log, batch(1, trace=kept, through=1500), end(2, 1500))
    items: list[TailItem] = []
    async with running_hub(log, unix=place):
        reading = tail(f"unix:{place}", S)
        async for item in reading:
            items.append(item)
            if dice.random() < 0.02:
                reading._waiting.clear()  # pyright: ignore[reportPrivateUsage] - the cut
                reading._drop()  # pyright: ignore[reportPrivateUsage] - likewise
    assert told(items) == [word async for page in log.read(S) for word in told(page.items)]


@pytest.mark.requirement("G-CLIENT-2")
async def test_a_reader_is_told_once_that_a_writer_is_away_and_that_it_is_back(place: Path) -> None:
    clock = Clock()
    log = MemoryLog(now_ms=clock)
    await stored(log, batch(1, priority=[1], through=1))
    async with tail(f"unix:{place}", S) as reading:
        async with running_hub(log, unix=place):
            await until(reading, "caught up")
            clock.pass_s(60)
            assert await until(reading, "state 6") == ["state 6"]
        async with running_hub(log, unix=place):
            # Away as before: nothing new.
            with anyio.move_on_after(0.5):
                await anext(reading)
                pytest.fail("something was told")
        await log.renew([(S, E1)])
        async with running_hub(log, unix=place):
            assert await until(reading, "state 3") == ["state 3"]


@pytest.mark.requirement("G-CLIENT-1")
@pytest.mark.parametrize("again", [False, True])
async def test_an_end_is_told_once_although_the_call_breaks_behind_it(
    place: Path, again: bool
) -> None:
    log = MemoryLog()
    await stored(log, batch(1, trace=[1], through=1), end(2, 1))
    async with running_hub(log, unix=place), tail(f"unix:{place}", S) as reading:
        assert await until(reading, "end 1 4") == ["t1", "end 1 4"]
        reading._drop()  # pyright: ignore[reportPrivateUsage] - the cut
        if again:
            await stored(log, batch(1, trace=[1], through=1, epoch=E2))
            assert await until(reading, "caught up") == ["reset 2 new_epoch", "t1", "caught up"]
        else:
            assert await rest(reading) == []


@pytest.mark.requirement("G-CLIENT-1")
async def test_a_stream_that_ends_without_the_end_is_no_end(place: Path) -> None:
    """Something between that closes streams well: not a hub of ours."""
    async with plain_hub(place):
        reading = tail(f"unix:{place}", S, patience_s=0.5)
        words = await until(reading, "caught up")
        with anyio.fail_after(20), pytest.raises(TailError) as caught:
            await anext(reading)
    assert words == ["t1", "caught up"]
    assert (caught.value.code, caught.value.cursor) == (ErrorCode.UNAVAILABLE, Cursor(E1, 1))


@pytest.mark.requirement("G-CLIENT-1")
async def test_a_hub_that_hangs_is_noticed(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody accepts connections and never says a word."""
    quick = replace(
        call._CONFIG,  # pyright: ignore[reportPrivateUsage] - the real one takes 30 seconds
        _keepalive_time=0.1,
        _keepalive_timeout=0.1,
    )
    monkeypatch.setattr(call, "_CONFIG", quick)
    links: list[Link] = []
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(place))
        listener.listen()
        with anyio.fail_after(20), pytest.raises(TailError) as caught:
            await anext(tail(f"unix:{place}", S, on_link=links.append, patience_s=0.1))
    assert caught.value.code is ErrorCode.UNAVAILABLE
    assert [link.status for link in links] == [LinkStatus.AWAY]


async def test_what_is_no_hub_but_http_is_a_hub_that_is_away(place: Path) -> None:
    async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await writer.drain()
        writer.close()

    server = await asyncio.start_unix_server(answer, place)
    async with server:
        with anyio.fail_after(20), pytest.raises(TailError) as caught:
            await anext(tail(f"unix:{place}", S, patience_s=0.0))
    assert caught.value.code is ErrorCode.UNAVAILABLE
