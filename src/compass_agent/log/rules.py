"""What a log takes from a batch, and what that does to the epoch. Pure: no IO, no clock.

Every backend decides by these functions alone, so two backends cannot differ.
"""

from __future__ import annotations

__all__ = (
    "LEASE_MS",
    "Applied",
    "Frames",
    "bytes_of",
    "check_epoch",
    "close_head",
    "decide",
    "goes_behind",
    "new_head",
    "seal",
    "summarise",
)

import re
from dataclasses import dataclass, field, replace
from itertools import islice
from operator import itemgetter, lt
from typing import TYPE_CHECKING

from compass_agent.errors.codes import ErrorCode, OperationError
from compass_agent.frames import (
    AgentSessionState,
    Cursor,
    SessionError,
    is_session_error,
    valid_text,
)
from compass_agent.log.epoch import FOREVER, EpochHead, Mark
from compass_agent.log.read import SessionSummary
from compass_agent.wire import Answer, GapReason, SessionMeta, decode_frame

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from compass_agent.frames import SessionFrame
    from compass_agent.wire import Batch

LEASE_MS = 10_000
"""How long a writer is taken to live after it opened its epoch or had a batch stored."""

_REMEMBERED = 4
"""A sender has one batch in flight; the others are for copies that come late."""

_EPOCH = re.compile(r"[0-9a-f]{16}", re.ASCII)

Frames = list[tuple[int, bytes]]
"""Places and encoded frames, ascending."""

# Batches are long: a pass over one is made without a step of Python's for each frame.
_SEQ: Callable[[tuple[int, bytes]], int] = itemgetter(0)
_DATA: Callable[[tuple[int, bytes]], bytes] = itemgetter(1)


@dataclass(frozen=True, slots=True)
class Applied:
    """What to do with a batch.

    Attributes:
        answer: What to tell the sender.
        head: The epoch afterwards; None: nothing changes, store nothing.
        priority: The frames to store of that lane.
        trace: Likewise. A `seq` that is stored already stays as it is.
        behind: Readers may have passed the place of these priority frames.
    """

    answer: Answer
    head: EpochHead | None = None
    priority: Frames = field(default_factory=Frames)
    trace: Frames = field(default_factory=Frames)
    behind: bool = False


def check_epoch(epoch: str) -> str:
    """Return `epoch` when it can name an epoch: 16 lower-case hex digits.

    Raises:
        OperationError: `unsupported_input`, when it cannot.
    """
    if _EPOCH.fullmatch(epoch):
        return epoch
    raise OperationError(ErrorCode.UNSUPPORTED_INPUT)


def new_head(epoch: str, meta: SessionMeta | None, now_ms: int) -> EpochHead:
    """Return a fresh epoch whose writer has just opened it."""
    meta = meta or SessionMeta()
    meta = SessionMeta(valid_text(meta.title), valid_text(meta.agent), valid_text(meta.version))
    return EpochHead(epoch, meta, opened_ms=now_ms, updated_ms=now_ms, lease_ms=now_ms + LEASE_MS)


def seal(head: EpochHead) -> EpochHead:
    """Return the epoch as it is once a newer one is open. An epoch that ended stays as it is."""
    if not head.open:
        return head
    gone = Mark(head.through + 1, FOREVER, GapReason.WRITER_GONE)
    return replace(
        head,
        sealed=True,
        through=max(head.through, head.highest),
        marks=(*head.marks, gone),
    )


def goes_behind(current: EpochHead | None, now_ms: int, *, recovered: bool) -> bool:
    """Tell whether a new epoch is placed, sealed, just before the current one.

    So it is with the epoch of a writer that is gone, while another writer is at work.
    """
    if not recovered or current is None:
        return False
    return current.open and not current.detached(now_ms)


def close_head(head: EpochHead, now_ms: int) -> EpochHead | None:
    """Return the epoch with its closing mark, or None where there is nothing to close."""
    if head.highest <= head.through or not head.detached(now_ms):
        return None
    gone = Mark(head.through + 1, head.highest, GapReason.WRITER_GONE)
    return replace(head, through=head.highest, marks=(*head.marks, gone))


def decide(head: EpochHead, batch: Batch, now_ms: int) -> Applied:
    """Decide what `batch` does to the epoch `head`.

    Priority is taken above the last that is stored, trace above the watermark. A batch that was
    applied before is answered as the first time. When priority frames between are missing, nothing
    is taken. A sealed epoch takes no trace; an epoch that ended takes nothing.
    """
    priority = [frame for frame in batch.priority if frame[0] > head.last_priority]
    trace = _above(batch.trace, head.through) if head.open else []
    told = _told_before(head, batch, priority, trace)
    if told is not None:
        return Applied(told)
    if head.end is not None:
        return Applied(_after_end(head, batch, priority))
    stored = max(head.last_priority, batch.lost_priority)
    if max(batch.prev_priority, batch.end.prev_priority if batch.end else 0) > stored:
        return Applied(_answer(head, batch, missing_from=stored + 1))
    if not _well_formed(head, batch, priority):
        return Applied(_answer(head, batch, code=ErrorCode.UNSUPPORTED_INPUT))
    try:
        decoded = [decode_frame(data) for _, data in priority]
    except OperationError as error:
        return Applied(_answer(head, batch, code=error.code))
    after = _with_status(_after(head, batch, priority, trace, now_ms), decoded)
    answer = after.told[-1]
    behind = head.sealed or (bool(priority) and priority[0][0] <= head.through)
    return Applied(answer, after, priority, trace, behind)


def bytes_of(frames: Iterable[tuple[int, bytes]]) -> int:
    """Return how many bytes the frames have together."""
    return sum(map(len, map(_DATA, frames)))


def _above(frames: Frames, place: int) -> Frames:
    """Return those of the frames, which ascend, that stand above `place`."""
    if frames and frames[0][0] > place:
        return frames
    return [frame for frame in frames if frame[0] > place]


def _told_before(head: EpochHead, batch: Batch, priority: Frames, trace: Frames) -> Answer | None:
    """Return what was answered to the same batch before.

    The number alone is no proof: who delivers a dead writer's journal counts anew. What brings
    something new is no repeat.
    """
    if priority or (trace and trace[-1][0] > head.highest):
        return None
    if batch.end is not None and not _has_ended_so(head, batch):
        return None
    known = next((told for told in head.told if told.batch == batch.number), None)
    if known is None and _is_old_copy(head, batch):
        return _answer(head, batch, late_trace=len(batch.trace) - len(trace))
    return known


def _is_old_copy(head: EpochHead, batch: Batch) -> bool:
    """Tell whether a batch that brings nothing new was answered so long ago that it is forgotten.

    It is no sign of life: whoever sent it may be gone.
    """
    if not head.told or batch.number >= head.told[0].batch:
        return False
    return batch.through <= head.through and batch.lost_priority <= head.last_priority


def _after_end(head: EpochHead, batch: Batch, priority: Frames) -> Answer:
    """Answer a batch that came after the end mark: the mark itself again, or too late."""
    late = len(batch.trace)
    if priority or (batch.end is not None and not _has_ended_so(head, batch)):
        return _answer(head, batch, late_trace=late, code=ErrorCode.CONFLICT)
    return _answer(head, batch, late_trace=late)


def _has_ended_so(head: EpochHead, batch: Batch) -> bool:
    """Tell whether the epoch already has the end mark that the batch brings."""
    if head.end is None or batch.end is None:
        return False
    return head.end.last_seq == batch.end.last_seq


def _answer(
    head: EpochHead,
    batch: Batch,
    *,
    late_trace: int = 0,
    missing_from: int = 0,
    code: ErrorCode | None = None,
) -> Answer:
    return Answer(
        batch=batch.number,
        last_priority=head.last_priority,
        through=head.through,
        late_trace=late_trace,
        missing_from=missing_from,
        sealed=head.sealed,
        code=code,
    )


def _well_formed(head: EpochHead, batch: Batch, priority: Frames) -> bool:
    """Tell whether the batch can be taken at all: a `seq` only rises, and has an end."""
    if not (_ascends(batch.priority) and _ascends(batch.trace)):
        return False
    if max(batch.through, batch.lost_priority) > FOREVER:
        return False
    highest = max(head.highest, priority[-1][0] if priority else 0)
    return batch.end is None or highest <= batch.end.last_seq <= FOREVER


def _ascends(frames: Sequence[tuple[int, bytes]]) -> bool:
    if not frames:
        return True
    seqs = [*map(_SEQ, frames)]
    if seqs[-1] - seqs[0] == len(seqs) - 1 and 0 < seqs[0] <= seqs[-1] <= FOREVER:
        return seqs == [*range(seqs[0], seqs[-1] + 1)]
    return seqs[0] > 0 and seqs[-1] <= FOREVER and all(map(lt, seqs, islice(seqs, 1, None)))


def _after(
    head: EpochHead, batch: Batch, priority: Frames, trace: Frames, now_ms: int
) -> EpochHead:
    """Return the epoch with the frames stored, and what the sender is told of that.

    The count of its frames is left to the backend.
    """
    last_priority = max(head.last_priority, batch.lost_priority)
    highest = head.highest
    if priority:
        last_priority = max(last_priority, priority[-1][0])
        highest = max(highest, priority[-1][0])
    if trace:
        highest = max(highest, trace[-1][0])
    if batch.end is not None:
        through = batch.end.last_seq
    else:
        through = max(head.through, highest if head.sealed else batch.through)
    marks = head.marks
    if batch.reasons:
        marks = (*marks, *(Mark(*reason) for reason in batch.reasons))
    lost_from = max(head.last_priority, head.through) + 1
    if batch.lost_priority >= lost_from:
        marks = (*marks, Mark(lost_from, batch.lost_priority, GapReason.LOG_LOSS))
    answer = Answer(
        batch=batch.number,
        last_priority=last_priority,
        through=through,
        late_trace=len(batch.trace) - len(trace),
        sealed=head.sealed,
    )
    return replace(
        head,
        updated_ms=now_ms,
        lease_ms=max(head.lease_ms, now_ms + LEASE_MS),
        through=through,
        last_priority=last_priority,
        highest=highest,
        end=batch.end and replace(batch.end, reason=valid_text(batch.end.reason)),
        marks=marks,
        told=(*head.told[1 - _REMEMBERED :], answer),
    )


def _with_status(head: EpochHead, priority: list[SessionFrame]) -> EpochHead:
    """Return the epoch with the state and the failure as these priority frames tell them."""
    if not priority:
        return head
    state, error, resumed = head.state, head.error, head.resumed
    for frame in priority:
        if frame.state:
            state = frame.state
            if state == AgentSessionState.AGENT_SESSION_STATE_WORKING:
                resumed = True
            elif resumed:
                failed = state == AgentSessionState.AGENT_SESSION_STATE_ERRORED
                error, resumed = error if failed else None, False
        if is_session_error(frame):
            error, resumed = frame.typed_event.session_error.SerializeToString(), False
    return replace(head, state=state, error=error, resumed=resumed)


def summarise(session: str, head: EpochHead, frames: int, now_ms: int) -> SessionSummary:
    """Return how a list shows the session whose current epoch is `head`.

    Args:
        session: The session's id.
        head: Its current epoch.
        frames: How many frames are stored, over all epochs.
        now_ms: Milliseconds since 1970-01-01 UTC.
    """
    state = head.state
    if head.detached(now_ms):
        state = AgentSessionState.AGENT_SESSION_STATE_DISCONNECTED
    return SessionSummary(
        session=session,
        epoch=head.epoch,
        state=state,
        last_error=None
        if head.error is None or head.resumed
        else SessionError.FromString(head.error),
        title=head.meta.title,
        agent=head.meta.agent,
        version=head.meta.version,
        opened_ms=head.opened_ms,
        updated_ms=head.updated_ms,
        frames=frames,
        cursor=Cursor(head.epoch, head.through),
        ended=head.end is not None,
    )
