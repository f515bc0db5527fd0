"""What one message more does to a session. Pure: no IO, no clock.

A message holds frames of one lane, so a batch may take several: its priority frames first. Each of
them leaves the session as the same frames would that came as a batch of their own, up to the first
frame that is still to come. So whoever is killed between two of them has stored part of a batch,
and the same batch, sent again, stores the rest.
"""

from __future__ import annotations

__all__ = ("Step", "sealed_by", "step")

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from compass_agent.log.jetstream.heads import KeptEpoch
from compass_agent.log.jetstream.records import BLOCK, RECORD_BYTES, RECORD_FRAMES
from compass_agent.log.rules import Frames, bytes_of, decide, goes_behind, new_head, seal

if TYPE_CHECKING:
    from compass_agent.wire import Answer, Batch, SessionMeta


@dataclass(frozen=True, slots=True)
class Step:
    """What to store next of a batch.

    Attributes:
        answer: What to tell the sender behind the last step; None: more steps follow.
        kept: The epoch afterwards, its frames not counted yet; None: nothing is to be stored.
        frames: The frames of this step, of one lane; they may be none.
        priority: Their lane.
        behind: Readers may have passed the place of these priority frames.
        size: The bytes of the frames, where they were counted.
    """

    answer: Answer | None
    kept: KeptEpoch | None = None
    frames: Frames = ()  # pyright: ignore[reportAssignmentType] - of none there is nothing to change
    priority: bool = False
    behind: bool = False
    size: int | None = None


def step(kept: KeptEpoch, batch: Batch, now_ms: int, *, begun: bool) -> Step:
    """Return what to store next of `batch`.

    Args:
        kept: Its epoch as it is now.
        batch: As it was sent.
        now_ms: Milliseconds since 1970-01-01 UTC.
        begun: A step of the batch was just stored: it is no repeat.
    """
    head = replace(kept.head, told=()) if begun else kept.head
    whole = decide(head, batch, now_ms)
    if whole.head is None:
        return Step(whole.answer)
    lane = whole.priority or whole.trace
    count, size = _fit(lane)
    rest = [part[0][0] for part in (lane[count:], whole.trace if whole.priority else []) if part]
    frames, priority = (lane if count == len(lane) else lane[:count]), bool(whole.priority)
    top = max(kept.top, frames[-1][0]) if frames and not priority else kept.top
    if not rest:
        after = whole.head
        if begun:
            after = replace(after, told=(*kept.head.told[-3:], whole.answer))
        after = KeptEpoch(after, top)
        return Step(whole.answer, after, frames, priority, whole.behind, size)
    part = replace(
        batch,
        priority=frames if priority else [],
        trace=[] if priority else frames,
        through=min(batch.through, min(rest) - 1),
        end=None,
    )
    first = decide(replace(head, told=()), part, now_ms)
    if first.head is None:  # Not so: it brings something new, and the whole of it was taken.
        return Step(first.answer)
    after = replace(first.head, told=kept.head.told)
    return Step(None, KeptEpoch(after, top), frames, priority, first.behind, size)


def sealed_by(
    epochs: tuple[KeptEpoch, ...],
    epoch: str,
    meta: SessionMeta | None,
    now_ms: int,
    *,
    recovered: bool,
) -> tuple[KeptEpoch, ...]:
    """Return the epochs once `epoch`, which is new, was opened."""
    new = KeptEpoch(new_head(epoch, meta, now_ms))
    current = epochs[-1].head if epochs else None
    if goes_behind(current, now_ms, recovered=recovered):
        return (*epochs[:-1], replace(new, head=seal(new.head)), epochs[-1])
    return (*(replace(kept, head=seal(kept.head)) for kept in epochs), new)


def _fit(frames: Frames) -> tuple[int, int]:
    """Return how many of the first frames make one record, of one block and not too large.

    And how many bytes these have.
    """
    if not frames:
        return 0, 0
    size = bytes_of(frames)
    one_block = frames[0][0] // BLOCK == frames[-1][0] // BLOCK
    if one_block and len(frames) <= RECORD_FRAMES and size <= RECORD_BYTES:
        return len(frames), size
    size = 0
    for count, (seq, data) in enumerate(frames):
        more = size + len(data)
        if count and (
            count == RECORD_FRAMES or more > RECORD_BYTES or seq // BLOCK != frames[0][0] // BLOCK
        ):
            return count, size
        size = more
    return len(frames), size
