"""What a log promises of what it keeps: trace goes first, it is told, and sessions go when over."""

from __future__ import annotations

__all__ = ("PROMISES",)

from dataclasses import replace
from typing import TYPE_CHECKING

from compass_agent.errors.codes import ErrorCode
from compass_agent.frames import AgentSessionState, Cursor
from compass_agent.log.retention import Retention
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
)
from compass_agent.wire import Answer

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from compass_agent.log import SessionLog

_ALL = Retention(ended_age_s=None, total_bytes=None)
_LARGE = range(1, 1001)
_DISCONNECTED = AgentSessionState.AGENT_SESSION_STATE_DISCONNECTED


async def _trace_goes_oldest_first(log: SessionLog) -> None:
    await log.open(SESSION, FIRST)
    await log.append(batch(1, priority=[3, 8], words=[1, 2, 5, 6, 9], through=10))
    await log.open(SESSION, SECOND)
    await log.append(batch(1, priority=[2], words=[1, 3], through=3, epoch=SECOND))
    before = await log.sessions()
    pruned = await log.prune(replace(_ALL, trace_frames=3))
    expect("how many frames went", dict(pruned.trimmed), {SESSION: 4})
    told = ["gap 1-2 RETENTION", "priority 3", "gap 4-6 RETENTION", "gap 7-7 DROPPED"]
    told += ["priority 8", "trace 9", "gap 10-10 DROPPED", "reset second NEW_EPOCH"]
    told += ["trace 1", "priority 2", "trace 3"]
    for page_frames in (1, 100):
        expect("what is read", await read(log, page_frames=page_frames), told)
    expect("what is listed", await log.sessions(), [replace(before[0], frames=6)])
    expect("what more there is to do", dict((await log.prune(_ALL)).trimmed), {})


async def _trace_goes_by_bytes_and_by_age(log: SessionLog) -> None:
    await log.open(SESSION, FIRST)
    await log.append(batch(1, priority=[2], words=[1, 3, 4, 5], through=5))
    room = 2 * len(trace(5))
    await log.prune(replace(_ALL, trace_bytes=room))
    told = ["gap 1-1 RETENTION", "priority 2", "gap 3-3 RETENTION", "trace 4", "trace 5"]
    expect("what is read", await read(log), told)
    await log.prune(replace(_ALL, trace_age_s=3600))
    expect("trace that is young", await read(log), told)
    await log.prune(replace(_ALL, trace_age_s=0))
    told[2:] = ["gap 3-5 RETENTION"]
    expect("what is read", await read(log), told)


async def _above_the_watermark_nothing_goes(log: SessionLog) -> None:
    await log.open(SESSION, FIRST)
    await log.append(batch(1, words=[1, 2, 5, 6], through=3))
    await log.prune(replace(_ALL, trace_frames=0))
    await log.append(batch(2, priority=[4], words=[7], through=7))
    told = ["gap 1-2 RETENTION", "gap 3-3 DROPPED", "priority 4", "trace 5", "trace 6", "trace 7"]
    expect("what is read", await read(log), told)


async def _trimmed_frames_stay_away(log: SessionLog) -> None:
    await log.open(SESSION, FIRST)
    first = batch(1, priority=[2], words=[1, 3], through=3)
    await log.append(first)
    await log.append(batch(2, priority=[6], words=[7], through=7, prev=5, lost=5))
    await log.prune(replace(_ALL, trace_frames=0))
    expect("the answer to the same batch", await log.append(first), Answer(1, 2, 3))
    told = ["gap 1-1 RETENTION", "priority 2", "gap 3-3 RETENTION", "gap 4-5 LOG_LOSS"]
    expect("what is read", await read(log), [*told, "priority 6", "gap 7-7 RETENTION"])


async def _readers_of_trimmed_trace(log: SessionLog) -> None:
    await log.open(SESSION, FIRST)
    await log.append(batch(1, priority=[4], words=[1, 2, 3, 5, 6], through=6))
    reader = Live(log, page_frames=1)
    await reader.gets("what is kept", "trace 1")
    await log.prune(replace(_ALL, trace_frames=1))
    rest = ["gap 2-3 RETENTION", "priority 4", "gap 5-5 RETENTION", "trace 6"]
    expect("after a cursor that is trimmed", await read(log, Cursor(FIRST, 1)), rest)
    expect("after another", await read(log, Cursor(FIRST, 2)), ["gap 3-3 RETENTION", *rest[1:]])
    await reader.gets("a reader in the middle of it", *rest, "caught up")
    await log.append(batch(2, words=[7], through=7))
    await log.prune(replace(_ALL, trace_frames=0))
    await log.append(batch(3, words=[8], through=8))
    await reader.gets("a reader that waits", "gap 7-7 RETENTION", "trace 8")


async def _sessions_go_when_they_are_over(log: SessionLog) -> None:
    now = replace(_ALL, ended_age_s=0)
    await log.open(SESSION, FIRST)
    await log.append(batch(1, priority=[1], words=[2], through=2))
    expect("a session at work", (await log.prune(now)).removed, ())
    await log.renew([(SESSION, FIRST)], seconds=0)
    expect("one whose writer is just gone", (await log.prune(now)).removed, ())
    (summary,) = await log.sessions()
    expect("its state", summary.state, _DISCONNECTED)
    await log.append(end(2, 2, 1))
    kept = await log.prune(replace(_ALL, ended_age_s=3600))
    expect("one that has just ended", kept.removed, ())
    expect("what would go", (await log.prune(now, dry_run=True)).removed, (SESSION,))
    expect("what is read", await read(log), ["priority 1", "trace 2", "end 2 done"])
    expect("what goes", (await log.prune(now)).removed, (SESSION,))
    expect("what is listed", await log.sessions(), [])
    await expect_error("reading it", read(log), ErrorCode.NOT_FOUND)
    await log.open(SESSION, SECOND)
    told = ["reset second UNKNOWN_EPOCH"]
    expect("after a cursor of what is gone", await read(log, Cursor(FIRST, 1)), told)


async def _told_that_it_is_gone(log: SessionLog) -> None:
    await log.open(SESSION, FIRST)
    await log.append(batch(1, words=[1, 2], through=2))
    reader, waits = Live(log, page_frames=1), log.read(SESSION)
    await reader.gets("what is kept", "trace 1")
    await anext(waits)
    await log.append(end(2, 2))
    await log.prune(replace(_ALL, ended_age_s=0))
    await expect_error("reading on", anext(waits), ErrorCode.NOT_FOUND)
    await log.open(SESSION, SECOND)
    await reader.gets("a reader in the middle", "reset second UNKNOWN_EPOCH", "caught up")


async def _the_oldest_go_when_the_log_is_large(log: SessionLog) -> None:
    at_work, over = "a", ("b", "c", "d")
    for session in (at_work, *over):
        await log.open(session, FIRST)
        large = batch(1, priority=[1001], words=_LARGE, through=1001)
        await log.append(replace(large, session=session))
    for session in over:
        await log.append(replace(end(2, 1001, 1001), session=session))
    size = (await log.prune(_ALL, dry_run=True)).bytes_before
    pruned = await log.prune(replace(_ALL, total_bytes=size - 1), dry_run=True)
    expect("what would go", pruned.removed, over[:1])
    pruned = await log.prune(replace(_ALL, total_bytes=size - 1))
    expect("what goes", pruned.removed, over[:1])
    expect("the size before", pruned.bytes_before, size)
    if pruned.bytes_after > size - 1:
        expect("the size after", pruned.bytes_after, f"at most {size - 1}")
    expect("what goes at last", (await log.prune(replace(_ALL, total_bytes=0))).removed, over[1:])
    (summary,) = await log.sessions()
    expect("what stays", (summary.session, summary.frames), (at_work, 1001))


PROMISES: tuple[tuple[str, Callable[[SessionLog], Awaitable[None]]], ...] = (
    ("Trace is trimmed oldest first, and it is told", _trace_goes_oldest_first),
    ("Trace is trimmed by its bytes and by its age", _trace_goes_by_bytes_and_by_age),
    ("What readers have not been let to yet is not trimmed", _above_the_watermark_nothing_goes),
    ("What was trimmed does not come back, and hides no fault", _trimmed_frames_stay_away),
    ("Readers of trimmed trace are told, wherever they are", _readers_of_trimmed_trace),
    ("A session goes as a whole, and only when it is over", _sessions_go_when_they_are_over),
    ("Who reads a session that goes is told", _told_that_it_is_gone),
    ("The oldest go first when the log is large", _the_oldest_go_when_the_log_is_large),
)
"""A sentence, and what holds a fresh log to it."""
