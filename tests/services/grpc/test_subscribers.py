"""A hub gives readers what is kept, then what comes; who leaves it leaves nothing behind."""

from __future__ import annotations

import asyncio
import gc
import random
import resource
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import grpc
import pytest
from grpc import aio
from grpclib.client import Channel

import compass_subscriber.v1 as subscriber
from compass_agent.errors.codes import ErrorCode, OperationError
from compass_agent.log.memory import MemoryLog
from compass_agent.runtime.hub import running_hub
from compass_agent.services.grpc import subscribers
from compass_agent.wire import Batch
from compass_agent.wire.relay import Relay
from hubs import subscribed
from writing_logs import E1, E2, Clock, S, batch, end, failed, text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from compass.v1.compass_pb2 import AgentSessionFrame
    from compass_agent.log.reading import Place, View
    from compass_agent.wire import Item


def words(frame: AgentSessionFrame) -> list[str]:
    """One word for each thing that a message tells."""
    out = [f"gap {frame.gap.first_seq}-{frame.gap.last_seq}"] if frame.HasField("gap") else []
    if frame.HasField("event") or (frame.state and frame.seq):
        out.append(f"{'late ' if frame.late else ''}{frame.seq}")
    elif frame.state:
        out.append(f"state {frame.state}")
    if frame.HasField("reset"):
        out.append(f"reset {frame.epoch[0]} {frame.reset.reason}")
    if frame.HasField("end"):
        out.append(f"end {frame.end.last_seq}")
    if frame.caught_up:
        out.append("caught up")
    return out + [word for more in frame.more for word in words(more)]


async def filled(*batches: Batch) -> MemoryLog:
    log = MemoryLog()
    for one in batches:
        await log.open(S, one.epoch)
        answer = await log.append(one)
        assert answer.code is None
    return log


async def heard(target: str, **request: Any) -> list[str]:
    async with subscribed(target, session_id=S, **request) as reader:
        with anyio.fail_after(10):
            return [word for frame in await reader.rest() for word in words(frame)]


@pytest.mark.parametrize("max_batch", [0, 1, 3, 64])
async def test_a_reader_gets_everything_in_order_and_status_ok_is_the_end(
    place: Path, max_batch: int
) -> None:
    log = await filled(batch(1, priority={1: failed("no")}, trace=[3, 4], through=4), end(2, 6, 1))
    async with running_hub(log, unix=place) as hub:
        told = await heard(hub.targets[0], max_batch=max_batch)
    assert told == ["1", "gap 2-2", "3", "4", "gap 5-6", "end 6"]


async def test_a_reader_goes_on_after_its_cursor_or_is_told_that_it_cannot(place: Path) -> None:
    log = await filled(batch(1, trace=[1, 2], through=2), batch(1, trace=[1], through=1, epoch=E2))
    async with running_hub(log, unix=place) as hub:
        target = hub.targets[0]
        after = await heard(target, after_epoch=E1, after_seq=1, follow=False)
        assert after == ["2", "reset 2 2", "1"]
        unknown = await heard(target, after_epoch="f" * 16, after_seq=7, follow=False)
        assert unknown == ["reset 1 1", "1", "2", "reset 2 2", "1"]


async def test_a_reader_follows_what_comes(place: Path) -> None:
    clock = Clock()
    log = MemoryLog(now_ms=clock)
    await log.open(S, E1)
    await log.append(batch(1, trace=[1], through=1))
    async with (
        running_hub(log, unix=place) as hub,
        subscribed(hub.targets[0], session_id=S) as reader,
    ):
        with anyio.fail_after(10):
            frames = [await reader.next() for _ in range(2)]
            assert [words(frame) for frame in frames if frame] == [["1"], ["caught up"]]
            await log.append(batch(2, trace=[2], through=2))
            assert (frame := await reader.next())
            assert words(frame) == ["2"]
            clock.pass_s(60)
            await log.append(end(3, 2))
            assert [words(frame) for frame in await reader.rest()][-1] == ["end 2"]


async def test_kinds_that_were_not_asked_for_are_held_back(place: Path) -> None:
    log = await filled(batch(1, priority={2: failed("no")}, trace=[1, 3], through=3), end(2, 3, 2))
    async with running_hub(log, unix=place) as hub:
        assert await heard(hub.targets[0], kinds=["session_error"]) == ["2", "end 3"]


async def filtered(target: str, after: int, stop_after: int) -> tuple[list[str], int]:
    """What a reader of errors is told from there on, at most so many messages, and its cursor."""
    found: list[str] = []
    request: dict[str, Any] = {"session_id": S, "kinds": ["session_error"], "follow": False}
    if after:
        request |= {"after_epoch": E1, "after_seq": after}
    async with subscribed(target, **request) as reader:
        for _ in range(stop_after):
            frame = await reader.next()
            if frame is None:
                return found, 0
            found += words(frame)
            after = max(after, frame.seq)
    return found, after


@pytest.mark.requirement("G-READ-6")
async def test_a_filtered_reader_that_comes_again_gets_neither_hole_nor_repeat(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subscribers, "_PAGE_FRAMES", 8)
    dice = random.Random()  # noqa: S311 - dice
    errors: dict[int, bytes] = dict.fromkeys((17, 18, 60, 171, 399), failed("no"))
    kept = [seq for seq in range(1, 400) if seq not in errors and not 90 <= seq <= 95]
    log = await filled(batch(1, priority=errors, trace=kept, through=400))
    async with running_hub(log, unix=place) as hub:
        whole, _ = await filtered(hub.targets[0], 0, 1_000)
        assert whole == ["17", "18", "60", "gap 90-95", "171", "399", "gap 400-400"]
        for _ in range(5):
            told: list[str] = []
            after, cuts = 0, 0
            with anyio.fail_after(20):
                while cuts == 0 or after:
                    part, after = await filtered(hub.targets[0], after, dice.randint(1, 3))
                    told += part
                    cuts += 1
            assert told == whole
            # Places alone move the cursor, too: hardly a page is looked through twice.
            assert cuts > 10


class Counting(MemoryLog):
    """Counts the frames that its readers were given."""

    given = 0

    async def look(self, session: str, place: Place, page_frames: int) -> View | None:
        view = await super().look(session, place, page_frames)
        self.given += 0 if view is None else len(view.rows)
        return view


@pytest.mark.slow
@pytest.mark.requirement("G-READ-4")
async def test_a_replay_goes_no_further_than_its_reader(place: Path) -> None:
    log, frames, size = Counting(), 100_000, 1_024
    await log.open(S, E1)
    data = text("x" * size)
    for first in range(1, frames, 1_000):
        seqs = range(first, first + 1_000)
        one = Batch(S, E1, first, [], [(seq, data) for seq in seqs], seqs[-1])
        assert (await log.append(one)).code is None
    async with (
        running_hub(log, unix=place) as hub,
        subscribed(hub.targets[0], session_id=S, max_batch=64, follow=False) as still,
    ):
        first = await still.next()
        assert first is not None
        # By the time another has read all of it, the one that stands still has long been stopped.
        async with subscribed(hub.targets[0], session_id=S, max_batch=64, follow=False) as other:
            with anyio.fail_after(60):
                while await other.next():
                    pass
        stopped_at = log.given - frames
        print(f"a reader that stands still was given {stopped_at} frames of {size} bytes")
        assert stopped_at <= 1_024 + 6 * 1024 * 1024 // size
        with anyio.fail_after(60):
            given = 1 + len(first.more)
            while (frame := await still.next()) is not None:
                given += 1 + len(frame.more)
        assert given == frames


class BrokenLog(MemoryLog):
    """Cannot be read."""

    async def look(self, session: str, place: Place, page_frames: int) -> View | None:
        raise RuntimeError(f"a secret path {session} {place} {page_frames}")


@pytest.mark.requirement("G-HUB-6")
@pytest.mark.parametrize(
    ("log", "request_", "status", "code"),
    [
        (MemoryLog(), {"session_id": S}, "NOT_FOUND", ErrorCode.NOT_FOUND),
        (MemoryLog(), {"session_id": "a/b"}, "INVALID_ARGUMENT", ErrorCode.UNSUPPORTED_INPUT),
        (MemoryLog(), {}, "INVALID_ARGUMENT", ErrorCode.UNSUPPORTED_INPUT),
        (BrokenLog(), {"session_id": S}, "INTERNAL", ErrorCode.INTERNAL),
    ],
)
async def test_a_failure_is_told_by_its_status_and_in_our_own_words(
    place: Path, log: MemoryLog, request_: dict[str, Any], status: str, code: ErrorCode
) -> None:
    async with (
        running_hub(log, unix=place) as hub,
        subscribed(hub.targets[0], **request_) as reader,
    ):
        with pytest.raises(aio.AioRpcError) as caught:
            await reader.next()
    assert caught.value.code() is grpc.StatusCode[status]
    assert caught.value.details() == OperationError(code).message


async def test_a_cursor_above_what_is_stored_is_a_conflict(place: Path) -> None:
    log = MemoryLog(ahead_s=0.0)
    await log.open(S, E1)
    async with running_hub(log, unix=place) as hub:
        ahead = subscribed(hub.targets[0], session_id=S, after_epoch=E1, after_seq=9)
        async with ahead as reader:
            with anyio.fail_after(10), pytest.raises(aio.AioRpcError) as caught:
                await reader.next()
    assert caught.value.code() is grpc.StatusCode.ABORTED


async def test_a_method_that_is_not_there_is_unimplemented(place: Path) -> None:
    async with (
        running_hub(MemoryLog(), unix=place) as hub,
        aio.insecure_channel(hub.targets[0]) as channel,
    ):
        ask: aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary("/a.B/C")
        with pytest.raises(aio.AioRpcError) as caught:
            await ask(b"")
    assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED


async def test_a_hub_that_stops_ends_a_reading_as_unavailable(place: Path) -> None:
    log = await filled(batch(1, trace=[1], through=1))
    async with AsyncExitStack() as stack:
        async with running_hub(log, unix=place) as hub:
            reader = await stack.enter_async_context(subscribed(hub.targets[0], session_id=S))
            assert await reader.next()
        with anyio.fail_after(10), pytest.raises(aio.AioRpcError) as caught:
            await reader.rest()
    assert caught.value.code() is grpc.StatusCode.UNAVAILABLE


async def subscribe_and_cancel(place: Path, cycles: int) -> None:
    log = await filled(batch(1, trace=[1], through=1))
    async with running_hub(log, unix=place) as hub:
        tasks = len(asyncio.all_tasks())
        for _ in range(cycles):
            async with subscribed(hub.targets[0], session_id=S) as reader:
                assert await reader.next()
                assert hub.subscribers.count
        with anyio.fail_after(1):
            while hub.subscribers.count or len(asyncio.all_tasks()) > tasks:
                await anyio.lowlevel.checkpoint()


@pytest.mark.requirement("G-HUB-4")
async def test_fifty_readers_that_leave_leave_nothing_behind(place: Path) -> None:
    await subscribe_and_cancel(place, 50)


@pytest.mark.slow
async def test_a_thousand_readers_that_leave_leave_no_memory_behind(place: Path) -> None:
    await subscribe_and_cancel(place, 100)
    before = resident_kib()
    await subscribe_and_cancel(place, 1_000)
    assert resident_kib() - before < 5 * 1024


def resident_kib() -> int:
    """The memory of this process that is in use."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    return pages * resource.getpagesize() // 1024


@pytest.mark.requirement("G-HUB-4")
async def test_a_reader_that_never_reads_is_given_no_more_than_the_window(place: Path) -> None:
    log = MemoryLog()
    await log.open(S, E1)
    words_ = text("x" * 100_000)
    for number in range(1, 21):
        frames = [(seq, words_) for seq in range(number * 10 - 9, number * 10 + 1)]
        await log.append(Batch(S, E1, number, trace=frames, through=number * 10))
    sent = 0

    class Counting(Relay):
        def messages(self, items: Sequence[Item]) -> Iterator[bytes]:
            nonlocal sent
            for message in super().messages(items):
                sent += len(message)
                yield message

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(subscribers, "Relay", Counting)
        async with (
            running_hub(log, unix=place) as hub,
            subscribed(hub.targets[0], session_id=S) as idle,
        ):
            assert await idle.next()
            # Meanwhile another reader gets all of it.
            assert len(await heard(hub.targets[0], follow=False)) == 200
    assert sent - 200 * len(words_) < 8 * 1024 * 1024


async def test_a_plain_subscriber_of_the_generated_lane_is_served(place: Path) -> None:
    log = await filled(batch(1, priority={1: failed("no")}, through=1), end(2, 1, 1))
    async with running_hub(log, unix=place):
        channel = Channel(path=str(place))
        try:
            stub = subscriber.CompassServiceStub(channel)
            ask = subscriber.SubscribeAgentSessionRequest(session_id=S)
            frames = [frame async for frame in stub.subscribe_agent_session(ask)]
        finally:
            channel.close()
    assert frames[0].event is not None
    assert frames[0].event.session_error is not None
    assert frames[0].event.session_error.message == "no"
    assert frames[1].end is not None
