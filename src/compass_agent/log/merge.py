"""Stored frames as readers get them: in emission order, each gap at its place. Pure."""

from __future__ import annotations

__all__ = ("gaps", "in_place")

from typing import TYPE_CHECKING

from compass_agent.wire import Gap, GapReason

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compass_agent.log.epoch import EpochHead
    from compass_agent.wire import FrameItem, Item


def in_place(
    head: EpochHead, after: int, rows: Sequence[FrameItem], *, complete: bool
) -> Sequence[Item]:
    """Return `rows` and the gaps between them; `rows` itself when there are none.

    Args:
        head: Their epoch.
        after: The `seq` that was read last.
        rows: The frames above `after` and up to the watermark, ascending; perhaps only the first.
        complete: These are all of them.
    """
    last = rows[-1].seq if rows else after
    behind = gaps(head, last + 1, head.through) if complete else []
    if last - after == len(rows):
        return [*rows, *behind] if behind else rows
    items: list[Item] = []
    want = after + 1
    for row in rows:
        if row.seq != want:
            items += gaps(head, want, row.seq - 1)
        items.append(row)
        want = row.seq + 1
    return items + behind


def gaps(head: EpochHead, first: int, last: int) -> list[Gap]:
    """Return why `first` to `last` are missing: one gap for each run of the same reason."""
    found: list[Gap] = []
    while first <= last:
        reason = _reason(head, first)
        end = min(_constant_until(head, first), last)
        if found and found[-1].reason is reason:
            found[-1] = Gap(head.epoch, found[-1].first_seq, end, reason)
        else:
            found.append(Gap(head.epoch, first, end, reason))
        first = end + 1
    return found


def _reason(head: EpochHead, seq: int) -> GapReason:
    """Return why `seq` is missing. A fault is told first; trimmed trace hides what was before."""
    reasons = {mark.reason for mark in head.marks if mark.first <= seq <= mark.last}
    if GapReason.LOG_LOSS in reasons:
        return GapReason.LOG_LOSS
    if seq <= head.trimmed:
        return GapReason.RETENTION
    if GapReason.WRITER_GONE in reasons:
        return GapReason.WRITER_GONE
    return GapReason.DROPPED


def _constant_until(head: EpochHead, seq: int) -> int:
    """Return the last `seq` up to which the reason cannot change."""
    borders = [head.through, head.trimmed]
    for mark in head.marks:
        borders += (mark.first - 1, mark.last)
    return min((border for border in borders if border >= seq), default=seq)
