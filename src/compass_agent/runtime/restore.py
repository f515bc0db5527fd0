"""Stores an exported session in a log again: the same frames, at the same places."""

from __future__ import annotations

__all__ = ("restore_session",)

from typing import TYPE_CHECKING

from compass_agent.errors.codes import ErrorCode, OperationError
from compass_agent.frames import is_injection, is_lifecycle, is_session_error
from compass_agent.wire import Batch, End, EndMark, FrameItem, Gap, GapReason, decode_frame

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from compass_agent.log.append import AppendLog
    from compass_agent.wire import Item, SessionMeta

_BATCH_FRAMES = 256


async def restore_session(
    log: AppendLog, session: str, items: Iterable[Item], meta: SessionMeta
) -> None:
    """Store `items` as the session `session`, of which the log holds nothing yet.

    Epochs, places and contents stay as they are; what is missing is told as missing, for the same
    reason, and so is what a filter left out, for a reason that is not known. A session whose end is
    not among the items is one whose writer is gone.

    Args:
        log: Where to store it.
        session: The session's id there.
        items: What an export holds, in its order.
        meta: What people are shown.

    Raises:
        OperationError: `conflict`: the log refuses what stands in the items. Else as `open` and
            `append` of the log do.
    """
    for epoch, found in _epochs(items).items():
        await log.open(session, epoch, meta)
        for batch in _batches(session, epoch, found):
            answer = await log.append(batch)
            if answer.code is not None or answer.missing_from:
                raise OperationError(answer.code or ErrorCode.CONFLICT)
        # Nobody writes it: whoever reads is told at once.
        await log.renew([(session, epoch)], 0.0)


def _epochs(items: Iterable[Item]) -> dict[str, list[FrameItem | Gap | End]]:
    found: dict[str, list[FrameItem | Gap | End]] = {}
    for item in items:
        if isinstance(item, FrameItem | Gap | End):
            found.setdefault(item.epoch, []).append(item)
    for ones in found.values():
        ones.sort(key=_last_of)  # a late frame goes back to its place
    return found


def _last_of(item: FrameItem | Gap | End) -> tuple[int, bool]:
    last = item.seq if isinstance(item, FrameItem) else item.last_seq
    return last, isinstance(item, End)


def _batches(session: str, epoch: str, items: Sequence[FrameItem | Gap | End]) -> Iterable[Batch]:
    place = prev = number = 0
    for first in range(0, len(items), _BATCH_FRAMES):
        part = items[first : first + _BATCH_FRAMES]
        priority: list[tuple[int, bytes]] = []
        trace: list[tuple[int, bytes]] = []
        reasons: list[tuple[int, int, GapReason]] = []
        before, end = prev, None
        for item in part:
            at = item.seq if isinstance(item, FrameItem) else item.last_seq
            begins = item.first_seq if isinstance(item, Gap) else at + isinstance(item, End)
            if begins > place + 1:
                reasons.append((place + 1, begins - 1, GapReason.UNSPECIFIED))
            place = max(place, at)
            match item:
                case FrameItem():
                    matters = _is_priority(item.data)
                    (priority if matters else trace).append((item.seq, item.data))
                    prev = item.seq if matters else prev
                case Gap():
                    if item.reason is not GapReason.DROPPED:
                        reasons.append((item.first_seq, item.last_seq, item.reason))
                case End():
                    end = EndMark(item.state, item.reason, item.last_seq, prev)
        number += 1
        yield Batch(session, epoch, number, priority, trace, place, before, reasons=tuple(reasons))
        if end is not None:
            number += 1
            yield Batch(session, epoch, number, through=place, prev_priority=prev, end=end)


def _is_priority(data: bytes) -> bool:
    frame = decode_frame(data)
    return is_lifecycle(frame) or is_session_error(frame) or is_injection(frame)
