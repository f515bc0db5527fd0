"""What is told of sessions that the engine does not have as they were written. Pure."""

from __future__ import annotations

__all__ = ("half_removed", "losses", "unreadable", "with_lost_end", "with_told_end")

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from compass_agent.frames import AgentSessionState, Cursor, SessionError, SessionErrorKind
from compass_agent.log.epoch import FOREVER, Mark
from compass_agent.log.jetstream.records import BLOCK
from compass_agent.log.read import SessionSummary
from compass_agent.wire import GapReason

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from compass_agent.log.epoch import EpochHead
    from compass_agent.log.jetstream.records import Message
    from compass_agent.wire import Batch

_NOWHERE = "0" * 16


def unreadable(session: str) -> SessionSummary:
    """Return how a list shows a session of which nothing can be read."""
    error = SessionError(
        kind=SessionErrorKind.SESSION_ERROR_KIND_ERROR,
        message="What is stored of this session cannot be read.",
    )
    return SessionSummary(
        session=session,
        epoch=_NOWHERE,
        state=AgentSessionState.AGENT_SESSION_STATE_ERRORED,
        last_error=error,
        title="",
        agent="",
        version="",
        opened_ms=0,
        updated_ms=0,
        frames=0,
        cursor=Cursor(_NOWHERE, 0),
        ended=False,
    )


def half_removed(session: str, now_ms: int) -> SessionSummary:
    """Return how a list shows a session whose removal was begun, and can be finished."""
    return replace(
        unreadable(session),
        state=AgentSessionState.AGENT_SESSION_STATE_UNSPECIFIED,
        last_error=None,
        title="half removed; removing it again finishes that",
        opened_ms=now_ms,
        updated_ms=now_ms,
        ended=True,
    )


def with_lost_end(head: EpochHead) -> EpochHead:
    """Return the epoch when its newest record is lost: what is missing above was in it.

    How much that is, the next batch tells.
    """
    if not head.open or _lost_end(head) is not None:
        return head
    lost = Mark(head.through + 1, FOREVER, GapReason.LOG_LOSS)
    return replace(head, marks=(*head.marks, lost))


def with_told_end(head: EpochHead, batch: Batch) -> EpochHead:
    """Return the epoch when `batch` is the first one behind a record that is lost.

    Its frames, and what it leaves out, come from behind what was lost; what is missing further on
    was never stored.
    """
    lost = _lost_end(head)
    if lost is None:
        return head
    firsts = [lane[0][0] - 1 for lane in (batch.priority, batch.trace) if lane]
    last = batch.end.last_seq if batch.end else batch.through
    told = replace(lost, last=max(lost.first - 1, min([last, *firsts])))
    marks = [mark for mark in head.marks if mark is not lost]
    if told.first <= told.last:
        marks.append(told)
    return replace(head, marks=tuple(marks))


def _lost_end(head: EpochHead) -> Mark | None:
    for mark in head.marks:
        if mark.reason is GapReason.LOG_LOSS and mark.last == FOREVER:
            return mark
    return None


def losses(
    head: EpochHead,
    blocks: Mapping[int, list[Message]],
    lost: Mapping[int, set[bool]],
    *,
    complete: bool,
) -> tuple[Mark, ...]:
    """Return where frames that are missing are so because the engine lost them.

    Args:
        head: Their epoch.
        blocks: The records of the blocks that were looked at.
        lost: The lanes (True: priority) of which the engine says itself that it lost something.
        complete: No block of the epoch follows them.
    """
    marks = _priority_lost(head, blocks, complete=complete)
    for block, lanes in lost.items():
        if False not in lanes:  # What was lost of priority, the records of that lane say.
            continue
        # Trace that was removed is missing in the count, too.
        records = sorted((one for one in blocks[block] if one.last > head.trimmed), key=_pos)
        lane = [record for record in records if not record.priority]
        for before, behind in _broken(records, trimmed=head.trimmed >= block * BLOCK):
            first = max((one.last + 1 for one in lane if one.pos <= before), default=0)
            last = min((one.first - 1 for one in lane if one.pos >= behind), default=first - 1)
            if last < first:
                last = (block + 1) * BLOCK - 1
            first = max(first, block * BLOCK, head.trimmed + 1)
            marks.append(Mark(first, last, GapReason.LOG_LOSS))
    return tuple(marks)


def _broken(records: list[Message], *, trimmed: bool) -> list[tuple[int, int]]:
    """Return between which places of a block's records one is lost: the count of frames tells.

    Where trace of the block was removed (`trimmed`), what is lost is most likely part of that.
    """
    found = [
        (before.pos, behind.pos)
        for before, behind in pairwise(records)
        if _frames(behind) - _frames(before) > len(behind.seqs)
    ]
    if trimmed:
        return found
    if records and not found and _frames(records[0]) > len(records[0].seqs):
        found = [(0, records[0].pos)]
    return found or [(records[-1].pos, records[-1].pos + 1) if records else (0, 1)]


def _priority_lost(
    head: EpochHead, blocks: Mapping[int, list[Message]], *, complete: bool
) -> list[Mark]:
    """Return where priority frames were that are said to be stored, but are not there.

    A block of which there is nothing is not among those that were looked at.
    """
    records = [record for some in blocks.values() for record in some]
    there = {seq for record in records if record.priority for seq in record.seqs}
    told = {record.state.epochs[0].head.last_priority for record in records}
    told |= {record.prev_priority for record in records}
    end = (max(blocks, default=-1) + 1) * BLOCK
    marks: list[Mark] = []
    for seq in sorted((told | {head.last_priority}) - there - {0}):
        looked_at = seq <= head.through and (complete or seq < end)
        if looked_at and not _covered(head.marks, seq):
            first = max((one + 1 for one in there if one < seq), default=1)
            first = min(seq, max(first, head.trimmed + 1))
            marks.append(Mark(first, seq, GapReason.LOG_LOSS))
    return marks


def _covered(marks: Iterable[Mark], seq: int) -> bool:
    return any(
        mark.reason is GapReason.LOG_LOSS and mark.first <= seq <= mark.last for mark in marks
    )


def _frames(record: Message) -> int:
    return record.state.epochs[0].head.frames


def _pos(record: Message) -> int:
    return record.pos
