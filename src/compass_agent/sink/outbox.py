"""Forms batches out of the two lanes and settles them. The sink's lock guards every call."""

from __future__ import annotations

__all__ = ("Outbox", "notice_of_refusal")

from dataclasses import replace
from typing import TYPE_CHECKING

from compass_agent.frames import SessionFrame
from compass_agent.sink.records import KeptFrame
from compass_agent.wire import Batch, EndMark

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compass_agent.sink.lane import Entry, Lane
    from compass_agent.wire import Answer

_BATCH_FRAMES = 256
_BATCH_BYTES = 256 * 1024


class Outbox:
    """The sending side of one epoch: one batch in flight, in order.

    Attributes:
        last_seq: The last `seq` that was given.
        fenced: A newer epoch is open: trace is not taken any more.
        ended: The epoch ended: nothing is taken any more.
        takes_all: Neither.
        refused: Priority frames that were refused for good, for the journal to keep.
        end_refused: The end mark was refused for good.
    """

    def __init__(self, session: str, epoch: str, priority: Lane, trace: Lane) -> None:
        self._session = session
        self._epoch = epoch
        self._priority = priority
        self._trace = trace
        self.last_seq = 0
        self.fenced = False
        self.ended = False
        self.takes_all = True
        self.refused: list[Entry] = []
        self.end_refused = False
        self._number = 0
        self._in_flight: Batch | None = None
        self._last_priority = 0  # the last priority seq that was taken
        self._through = 0  # the last `through` that was answered
        self._frames = _BATCH_FRAMES  # smaller while a frame that is refused is looked for
        self._refused_seq = 0  # the last priority seq whose frame was refused
        self._end: EndMark | None = None
        self._end_sent = False

    def end(self, state: int, reason: str) -> None:
        """Let an end mark follow once everything else was answered."""
        self.ended = True
        self.takes_all = False
        self._end = EndMark(state, reason, last_seq=self.last_seq, prev_priority=0)

    def has_work(self) -> bool:
        """Tell whether `take` would return a batch."""
        return (
            self._in_flight is not None
            or bool(self._priority.waiting)
            or bool(self._trace.waiting)
            or self._next_through() > self._through
            or self._end_due()
        )

    @property
    def end_answered(self) -> bool:
        """Whether the end mark was answered: nothing is left to be sent."""
        return self._end_sent

    def unanswered(self) -> Iterator[KeptFrame]:
        """Give the priority frames that were not answered, in flight or waiting."""
        batch = self._in_flight
        prev_priority = self._last_priority if batch is None else batch.prev_priority
        for seq, data in (*(batch.priority if batch else ()), *self._priority.waiting):
            yield KeptFrame(seq, prev_priority, data)
            prev_priority = seq

    def _end_due(self) -> bool:
        return self._end is not None and not self._end_sent

    def is_drained(self) -> bool:
        """Tell whether nothing waits, is in flight, or is still due."""
        return not self.has_work()

    def _next_through(self) -> int:
        waiting = [
            seq for seq in (self._priority.first_seq(), self._trace.first_seq()) if seq is not None
        ]
        return min(waiting, default=self.last_seq + 1) - 1

    def take(self) -> Batch | None:
        """Return the batch in flight, or form the next: priority first, then trace."""
        if self._in_flight is not None:
            return self._in_flight
        prev_priority = self._last_priority
        priority = self._priority.take(self._frames, _BATCH_BYTES, at_least_one=True)
        size = sum(len(data) for _, data in priority)
        # While priority waits (it did not fit), no trace goes: a log may close an epoch below what
        # is stored of it, and priority must never come below that.
        frames = 0 if self._priority.waiting else self._frames - len(priority)
        trace = self._trace.take(frames, _BATCH_BYTES - size, at_least_one=not priority)
        if priority:
            self._last_priority = priority[-1][0]
        through = self._next_through()
        end = None
        if not priority and not trace and through <= self._through:
            if not self._end_due() or self._end is None:
                return None
            end = replace(self._end, prev_priority=self._last_priority)
        self._number += 1
        self._in_flight = Batch(
            session=self._session,
            epoch=self._epoch,
            number=self._number,
            priority=priority,
            trace=trace,
            through=through,
            prev_priority=prev_priority,
            end=end,
        )
        return self._in_flight

    def settle(self, batch: Batch, answer: Answer) -> None:
        """Count what the log says of the batch in flight."""
        if batch is not self._in_flight or answer.batch != batch.number:
            return
        if answer.sealed:
            self._fence()
        if answer.code is not None:
            self._refused(batch)
        elif answer.missing_from:
            # What the log misses was answered before and is not here any more: say so.
            self._in_flight = replace(batch, lost_priority=batch.prev_priority)
        else:
            self._taken(batch, answer)

    def _taken(self, batch: Batch, answer: Answer) -> None:
        self._in_flight = None
        self._through = max(self._through, batch.through)
        self._end_sent = self._end_sent or batch.end is not None
        self._priority.settle(len(batch.priority))
        late = len(batch.trace) if answer.sealed else answer.late_trace
        self._trace.settle(len(batch.trace), lost=min(late, len(batch.trace)))
        self._frames = min(_BATCH_FRAMES, self._frames * 2)

    def lose_trace(self) -> None:
        """Lose the trace frames that are not answered: nobody will ask for them again."""
        self._trace.lose_waiting()
        batch = self._in_flight
        if batch is not None and batch.trace:
            self._trace.settle(len(batch.trace), lost=len(batch.trace))
            self._in_flight = replace(batch, trace=[])

    def deliver_rest(self) -> None:
        """Note that the log has got all priority frames, out of the journal."""
        self._in_flight = None
        self._priority.deliver_rest()

    def _fence(self) -> None:
        self.fenced = True
        self.takes_all = False
        self._trace.lose_waiting()

    def _refused(self, batch: Batch) -> None:
        """Look for the one frame that is refused: halve, until it stands alone."""
        self._in_flight = None
        count = len(batch.priority) + len(batch.trace)
        if count == 0:
            self._through = max(self._through, batch.through)
            self._end_sent = self._end_sent or batch.end is not None
            self.end_refused = self.end_refused or batch.end is not None
        elif count > 1:
            self._frames = max(1, count // 2)
            self._last_priority = batch.prev_priority
            self._priority.put_back(batch.priority)
            self._trace.put_back(batch.trace)
        elif batch.trace:
            self._trace.settle(1, lost=1)
        else:
            self._refused_priority(batch)

    def _refused_priority(self, batch: Batch) -> None:
        """Let a notice take the frame's place; a notice that is refused too is lost."""
        seq, data = batch.priority[0]
        if seq == self._refused_seq:
            self._priority.settle(1, lost=1)
            return
        self._refused_seq = seq
        self.refused.append((seq, data))
        self._last_priority = batch.prev_priority
        self._priority.put_back([(seq, notice_of_refusal(len(data)))])


def notice_of_refusal(size: int) -> bytes:
    """Return the frame that takes the place of a priority frame of `size` bytes."""
    frame = SessionFrame()
    frame.typed_event.notice.text = f"The session log refused a frame of {size} bytes"
    return frame.SerializeToString()
