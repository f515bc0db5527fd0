"""What a log promises to those who write: batches, repeats, losses, sealing, the end."""

from __future__ import annotations

__all__ = ("PROMISES",)

from typing import TYPE_CHECKING

from compass_agent.errors.codes import ErrorCode
from compass_agent.frames import AgentSessionState, Cursor
from compass_agent.testing.scenes import (
    FIRST,
    SECOND,
    SESSION,
    batch,
    end,
    expect,
    expect_error,
    read,
)
from compass_agent.wire import Answer, Batch, SessionMeta

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from compass_agent.log import SessionLog

_WORKING = AgentSessionState.AGENT_SESSION_STATE_WORKING
_DISCONNECTED = AgentSessionState.AGENT_SESSION_STATE_DISCONNECTED


async def _batches_are_stored(log: SessionLog) -> None:
    await log.open(SESSION, FIRST, SessionMeta("a title", "an agent", "1"))
    answer = await log.append(batch(1, priority=[2, 5], words=[1, 3], through=3))
    expect("the answer", answer, Answer(1, last_priority=5, through=3))
    answer = await log.append(batch(2, words=[4], through=5, prev=5))
    expect("the answer", answer, Answer(2, last_priority=5, through=5))
    expect(
        "what is read",
        await read(log),
        ["trace 1", "priority 2", "trace 3", "trace 4", "priority 5"],
    )


async def _repeats_change_nothing(log: SessionLog) -> None:
    await log.open(SESSION, FIRST)
    await log.append(batch(1, words=[4], through=5))
    second = batch(2, priority=[7], words=[5, 6], through=7)
    first_time = await log.append(second)
    expect("trace that came too late", first_time.late_trace, 1)
    before = await log.sessions()
    expect("the answer to the same batch", await log.append(second), first_time)
    expect("the list of sessions", await log.sessions(), before)
    await log.append(batch(3, words=[8], through=8, prev=7))
    expect("the answer to the one before", await log.append(second), first_time)
    expect("what is read", (await read(log))[-2:], ["priority 7", "trace 8"])


async def _priority_is_never_skipped(log: SessionLog) -> None:
    await log.open(SESSION, FIRST)
    await log.append(batch(1, priority=[1], through=1))
    ahead = batch(2, priority=[5], words=[6], through=6, prev=3)
    answer = await log.append(ahead)
    expect("from where on priority is missing", answer.missing_from, 2)
    expect("what is read", await read(log), ["priority 1"])
    await log.append(batch(3, priority=[3], through=3, prev=1))
    expect("priority that is missing then", (await log.append(ahead)).missing_from, 0)
    seen = [word for word in await read(log) if word.startswith("priority")]
    expect("what is read", seen, ["priority 1", "priority 3", "priority 5"])


async def _lost_priority_is_told(log: SessionLog) -> None:
    await log.open(SESSION, FIRST)
    await log.append(batch(1, priority=[1], through=1))
    answer = await log.append(batch(2, priority=[4], through=4, prev=3, lost=3))
    expect("the answer", (answer.missing_from, answer.last_priority), (0, 4))
    expect("what is read", await read(log), ["priority 1", "gap 2-3 LOG_LOSS", "priority 4"])


async def _a_new_epoch_seals(log: SessionLog) -> None:
    await log.open(SESSION, FIRST)
    await log.append(batch(1, priority=[1], words=[2, 5], through=2))
    await log.open(SESSION, SECOND)
    answer = await log.append(batch(2, priority=[7], words=[6, 8], through=8, prev=1))
    expect(
        "the answer",
        answer,
        Answer(2, last_priority=7, through=7, late_trace=2, sealed=True),
    )
    answer = await log.append(end(3, 9, 7))
    expect("the answer to the end", (answer.sealed, answer.through), (True, 9))
    (summary,) = await log.sessions()
    expect("the epoch and state that are listed", (summary.epoch, summary.state), (SECOND, 0))
    told = ["priority 1", "trace 2", "gap 3-4 WRITER_GONE", "trace 5", "gap 6-6 WRITER_GONE"]
    told += ["priority 7", "gap 8-9 WRITER_GONE", "end 9 done", "reset second NEW_EPOCH"]
    expect("what is read", await read(log), told)


async def _a_dead_writer_goes_behind(log: SessionLog) -> None:
    await log.open(SESSION, FIRST)
    await log.open(SESSION, SECOND, recovered=True)
    answer = await log.append(batch(1, priority=[1], through=1, epoch=SECOND))
    expect("whether its epoch is sealed", answer.sealed, expected=True)
    await log.append(batch(1, priority=[1], through=1))
    told = ["priority 1", "reset first NEW_EPOCH", "priority 1"]
    expect("what is read", await read(log), told)
    expect("the epoch that is listed", (await log.sessions())[0].epoch, FIRST)


async def _an_epoch_ends_once(log: SessionLog) -> None:
    await log.open(SESSION, FIRST)
    refused = await log.append(end(1, 4, prev=2))
    expect("from where on the end misses priority", refused.missing_from, 1)
    await log.append(batch(2, priority=[2], through=2))
    first_time = await log.append(end(3, 4, prev=2))
    expect("the watermark after the end", first_time.through, 4)
    expect("the answer to the same end", await log.append(end(3, 4, prev=2)), first_time)
    after = await log.append(batch(4, priority=[5], through=5, prev=2))
    expect("a batch after the end is refused", after.code, ErrorCode.CONFLICT)
    told = ["gap 1-1 DROPPED", "priority 2", "gap 3-4 DROPPED", "end 4 done"]
    expect("what is read", await read(log), told)
    expect("whether it is listed as ended", (await log.sessions())[0].ended, expected=True)


async def _status_comes_first(log: SessionLog) -> None:
    await log.open(SESSION, FIRST, SessionMeta("a title", "an agent", "1"))
    await log.append(batch(1, priority=[9], words=[1], through=1))
    (summary,) = await log.sessions()
    listed = (summary.state, summary.cursor, summary.frames, summary.title, summary.agent)
    expect("what is listed", listed, (_WORKING, Cursor(FIRST, 1), 2, "a title", "an agent"))
    expect("what is read", await read(log), ["trace 1"])


async def _a_lease_runs_out(log: SessionLog) -> None:
    await log.open(SESSION, FIRST)
    await log.append(batch(1, priority=[1], words=[3], through=1))
    await log.close_below(SESSION, FIRST)
    expect("the watermark while its writer lives", (await log.sessions())[0].cursor.seq, 1)
    await log.renew([(SESSION, FIRST), (SESSION, SECOND)], seconds=0)
    expect("the state that is listed", (await log.sessions())[0].state, _DISCONNECTED)
    await log.close_below(SESSION, FIRST)
    expect("the watermark after the closing mark", (await log.sessions())[0].cursor.seq, 3)
    await log.renew([(SESSION, FIRST)])
    expect("the state of a writer that is back", (await log.sessions())[0].state, _WORKING)
    answer = await log.append(batch(2, priority=[5], words=[2, 4], through=5, prev=1))
    expect("trace below the closing mark", answer.late_trace, 1)
    told = ["priority 1", "gap 2-2 WRITER_GONE", "trace 3", "trace 4", "priority 5"]
    expect("what is read", await read(log), told)


async def _deleted_is_gone(log: SessionLog) -> None:
    await log.open(SESSION, FIRST)
    await log.open("another", FIRST)
    await log.append(batch(1, words=[1], through=1))
    await log.delete(SESSION)
    expect("the sessions", [one.session for one in await log.sessions()], ["another"])
    await expect_error("deleting again", log.delete(SESSION), ErrorCode.NOT_FOUND)
    await log.open(SESSION, FIRST)
    expect("what is read under the same name", await read(log), [])


async def _what_is_not_there(log: SessionLog) -> None:
    for unknown in (batch(1, words=[1]), batch(1, words=[1], epoch=SECOND)):
        await expect_error("an epoch that is not open", log.append(unknown), ErrorCode.NOT_FOUND)
        await log.open(SESSION, FIRST)
    bad = ErrorCode.UNSUPPORTED_INPUT
    await expect_error("a name that is none", log.open("a b", FIRST), bad)
    await expect_error("an epoch that is none", log.open(SESSION, "1"), bad)
    answer = await log.append(Batch(SESSION, FIRST, 1, [(1, b"\xff\xff")], through=1))
    expect("bytes that are no frame", answer.code, bad)
    expect("what is read", await read(log), [])


PROMISES: tuple[tuple[str, Callable[[SessionLog], Awaitable[None]]], ...] = (
    ("A batch is stored, and answered with what is stored then", _batches_are_stored),
    ("The same batch twice changes nothing", _repeats_change_nothing),
    ("A priority frame is never skipped", _priority_is_never_skipped),
    ("Priority that the sender has no more is told as a loss", _lost_priority_is_told),
    ("A new epoch seals the older ones", _a_new_epoch_seals),
    ("What a dead writer left goes before the writer at work", _a_dead_writer_goes_behind),
    ("An epoch ends once", _an_epoch_ends_once),
    ("State follows priority ahead of the watermark", _status_comes_first),
    ("A writer whose lease ran out is away", _a_lease_runs_out),
    ("A deleted session is gone", _deleted_is_gone),
    ("What is not there, or cannot be, has its error", _what_is_not_there),
)
"""A sentence, and what holds a fresh log to it."""
