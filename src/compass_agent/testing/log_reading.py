"""What a log promises to those who read: order, gaps, resuming, following, ends."""

from __future__ import annotations

__all__ = ("PROMISES",)

from typing import TYPE_CHECKING

import anyio

from compass_agent.errors.codes import ErrorCode
from compass_agent.frames import Cursor
from compass_agent.testing.scenes import (
    FIRST,
    SECOND,
    SESSION,
    Live,
    batch,
    end,
    expect,
    expect_error,
    read,
    trace,
    urgent,
)
from compass_agent.wire import Batch, FrameItem

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from compass_agent.log import SessionLog


async def _emission_order(log: SessionLog) -> None:
    await log.open(SESSION, FIRST)
    await log.append(batch(1, priority=[4, 6], words=[1, 2], through=2))
    expect("what is read below the watermark", await read(log), ["trace 1", "trace 2"])
    await log.append(batch(2, words=[3, 5], through=6, prev=6))
    told = ["trace 1", "trace 2", "trace 3", "priority 4", "trace 5", "priority 6"]
    expect("what is read", await read(log), told)


async def _bytes_are_kept(log: SessionLog) -> None:
    odd = b"\xff\x00 no frame"
    await log.open(SESSION, FIRST)
    await log.append(Batch(SESSION, FIRST, 1, [(2, urgent())], [(1, odd), (3, trace(3))], 3))
    items = [item async for page in log.read(SESSION, follow=False) for item in page.items]
    kept = [
        FrameItem(FIRST, 1, odd),
        FrameItem(FIRST, 2, urgent(), priority=True),
        FrameItem(FIRST, 3, trace(3)),
    ]
    expect("the frames", items, kept)


async def _gaps_at_their_place(log: SessionLog) -> None:
    await log.open(SESSION, FIRST)
    await log.append(batch(1, priority=[9], words=[3, 4, 7], through=10))
    told = ["gap 1-2 DROPPED", "trace 3", "trace 4", "gap 5-6 DROPPED", "trace 7"]
    told += ["gap 8-8 DROPPED", "priority 9", "gap 10-10 DROPPED"]
    for page_frames in (1, 2, 100):
        expect("what is read", await read(log, page_frames=page_frames), told)


async def _resuming(log: SessionLog) -> None:
    await log.open(SESSION, FIRST)
    places = [seq for seq in range(1, 20) if seq % 5]
    await log.append(batch(1, priority=places[::4], words=places, through=21))
    whole = await read(log)
    for page_frames in (1, 3):
        before = 0
        async for page in log.read(SESSION, follow=False, page_frames=page_frames):
            before += len(page.items)
            rest = await read(log, page.cursor)
            expect(f"what follows {page.cursor}", rest, whole[before:])


async def _cursors(log: SessionLog) -> None:
    await log.open(SESSION, FIRST)
    await log.append(batch(1, words=[1], through=1))
    await log.append(end(2, 1))
    await log.open(SESSION, SECOND)
    await log.append(batch(1, words=[1], through=1, epoch=SECOND))
    whole = ["trace 1", "end 1 done", "reset second NEW_EPOCH", "trace 1"]
    expect("without a cursor", await read(log), whole)
    expect("after the first epoch", await read(log, Cursor(FIRST, 1)), whole[1:])
    expect("after the last frame", await read(log, Cursor(SECOND, 1)), [])
    unknown = await read(log, Cursor("0" * 16, 7))
    expect("after an unknown epoch", unknown, ["reset first UNKNOWN_EPOCH", *whole])
    ahead = read(log, Cursor(SECOND, 2))
    await expect_error("a cursor above what is stored", ahead, ErrorCode.CONFLICT)
    for gone in (anext(log.read("nobody")), anext(log.read("nobody", follow=False))):
        await expect_error("no such session", gone, ErrorCode.NOT_FOUND)


async def _live(log: SessionLog) -> None:
    await log.open(SESSION, FIRST)
    await log.append(batch(1, words=[1, 2], through=2))
    reader = Live(log, page_frames=1)
    await reader.gets("what is kept", "trace 1", "trace 2", "caught up")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_write, log, range(3, 20))
        await reader.gets("what comes", *(f"trace {seq}" for seq in range(3, 20)))


async def _write(log: SessionLog, places: range) -> None:
    for seq in places:
        await log.append(batch(seq, words=[seq], through=seq))


async def _a_waiting_reader_is_woken(log: SessionLog) -> None:
    await log.open(SESSION, FIRST)
    reader = Live(log)
    await reader.gets("an empty session", "caught up")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_when_waited_for, log)
        await reader.gets("what wakes it", "priority 1")


async def _when_waited_for(log: SessionLog) -> None:
    await anyio.wait_all_tasks_blocked()
    await log.append(batch(1, priority=[1], through=1))


async def _two_readers(log: SessionLog) -> None:
    await log.open(SESSION, FIRST)
    await log.append(batch(1, words=range(1, 11), through=10))
    near, far = Live(log, Cursor(FIRST, 2), page_frames=2), Live(log, Cursor(FIRST, 8))
    await far.gets("the reader that is ahead", "trace 9", "trace 10", "caught up")
    await near.gets("the other", *(f"trace {seq}" for seq in range(3, 11)), "caught up")


async def _a_cancelled_wait(log: SessionLog) -> None:
    await log.open(SESSION, FIRST)
    pages = log.read(SESSION)
    await anext(pages)
    for seq in range(1, 6):
        with anyio.move_on_after(0.001):
            await anext(pages)
        await log.append(batch(seq, words=[seq], through=seq))
        with anyio.fail_after(5):
            page = await anext(pages)
        expect("after a wait that was cancelled", page.cursor, Cursor(FIRST, seq))


async def _ends(log: SessionLog) -> None:
    await log.open(SESSION, FIRST)
    reader = Live(log)
    await reader.gets("an empty session", "caught up")
    await log.append(batch(1, words=[1], through=1))
    await log.append(end(2, 2))
    await reader.gets("the end", "trace 1", "gap 2-2 DROPPED", "end 2 done")
    await reader.stops("a reader that has read the end")
    again = Live(log, reader.cursor)
    await again.gets("from the end of an ended session", "end 2 done")
    await again.stops("a reader that begins at the end")


async def _late_frames(log: SessionLog) -> None:
    await log.open(SESSION, FIRST)
    await log.append(batch(1, words=[1], through=1))
    reader = Live(log)
    await reader.gets("what is kept", "trace 1", "caught up")
    await log.open(SESSION, SECOND)
    await reader.gets("a newer epoch", "reset second NEW_EPOCH")
    await log.append(batch(2, priority=[3], through=3))
    await reader.gets("a reader that has passed the place", "priority 3 late")
    expect("its cursor", reader.cursor, Cursor(SECOND, 0))
    told = ["trace 1", "gap 2-2 WRITER_GONE", "priority 3", "reset second NEW_EPOCH"]
    expect("a later reading", await read(log), told)
    expect("from the newer epoch on", await read(log, Cursor(SECOND, 0)), [])


async def _away_and_back(log: SessionLog) -> None:
    await log.open(SESSION, FIRST)
    await log.append(batch(1, priority=[1], words=[3], through=1))
    reader = Live(log)
    await reader.gets("what is kept", "priority 1", "caught up")
    await log.renew([(SESSION, FIRST)], seconds=0)
    told = ["gap 2-2 WRITER_GONE", "trace 3", "signal DISCONNECTED"]
    await reader.gets("when the lease runs out", *told)
    expect("a reader that comes then", (await read(log, reader.cursor)), told[-1:])
    await log.renew([(SESSION, FIRST)])
    await reader.gets("when the writer is back", "signal WORKING")


async def _deleted_under_a_reader(log: SessionLog) -> None:
    await log.open(SESSION, FIRST)
    pages = log.read(SESSION)
    await anext(pages)
    await log.delete(SESSION)
    await expect_error("reading on", anext(pages), ErrorCode.NOT_FOUND)


PROMISES: tuple[tuple[str, Callable[[SessionLog], Awaitable[None]]], ...] = (
    ("Readers get emission order, never beyond the watermark", _emission_order),
    ("Frames come out byte for byte, with their lane", _bytes_are_kept),
    ("Gaps are told at their place, whatever the size of pages", _gaps_at_their_place),
    ("A reading resumes without hole or repeat", _resuming),
    ("Every cursor has its answer", _cursors),
    ("Between replay and live there is neither hole nor repeat", _live),
    ("A reader that waits is woken", _a_waiting_reader_is_woken),
    ("Each of two readers gets its own rest", _two_readers),
    ("A cancelled wait loses nothing", _a_cancelled_wait),
    ("An end is told, and the reader stops", _ends),
    ("Late frames are told to those who passed their place", _late_frames),
    ("Readers learn that a writer is away, and that it is back", _away_and_back),
    ("A session that is deleted under its reader is not found", _deleted_under_a_reader),
)
"""A sentence, and what holds a fresh log to it."""
