"""A real sink, and the books that are kept on it: what was emitted, and what it handed out."""

from __future__ import annotations

__all__ = ("POISON", "Sender")

from dataclasses import replace
from typing import TYPE_CHECKING

from compass_agent.sink import FrameSink
from compass_agent.wire import Answer, Batch
from sinks import assert_balanced, refused

if TYPE_CHECKING:
    from compass_agent.frames import SessionFrame

POISON = "\N{SKULL AND CROSSBONES}"
"""A frame that holds this is refused for good by whatever carries batches."""


class Sender:
    """One epoch's sink, driven by hand. `number` names its epoch."""

    def __init__(self, session: str, number: int) -> None:
        self.sink = FrameSink(session, epoch=f"{number:016x}", trace_capacity=12, trace_bytes=1_500)
        self.emitted: dict[int, tuple[bytes, bool]] = {}
        self.unanswered: Batch | None = None
        self.told_through = 0
        self.ended = False

    @property
    def epoch(self) -> str:
        return self.sink.epoch

    def emit(self, frame: SessionFrame, *, priority: bool) -> None:
        self.sink.emit(frame)
        if not self.ended:
            self.emitted[len(self.emitted) + 1] = (frame.SerializeToString(), priority)
        self.check()

    def end(self) -> None:
        self.sink.end(4, "done")
        self.ended = True

    def take(self) -> Batch | None:
        """The batch to send now; checked when it is a new one."""
        batch = self.sink.take()
        assert self.unanswered in (None, batch)
        if batch is not None and self.unanswered is None:
            self._check_batch(batch)
        self.unanswered = batch
        return batch

    def settle(self, batch: Batch, answer: Answer) -> None:
        """The answer came. A batch that needs more than the log has stays, and says so."""
        self.sink.settle(batch, answer)
        self.unanswered = None
        if answer.missing_from:
            self.unanswered = self.sink.take()
            assert self.unanswered == replace(batch, lost_priority=batch.prev_priority)
        elif answer.code is None:
            self.told_through = max(self.told_through, batch.through)
        self.check()

    def refuse(self, batch: Batch) -> None:
        """Whatever carries batches says that it will never take this one."""
        self.sink.settle(batch, refused(batch))
        self.unanswered = None
        self.check()

    def check(self) -> None:
        """Every frame is accounted for, and none was made up."""
        assert_balanced(self.sink)
        statistics = self.sink.statistics()
        lanes = [priority for _, priority in self.emitted.values()]
        assert statistics.priority.emitted == sum(lanes)
        assert statistics.trace.emitted == len(lanes) - sum(lanes)
        in_flight = self.unanswered
        assert statistics.priority.in_doubt == (len(in_flight.priority) if in_flight else 0)
        assert statistics.trace.in_doubt == (len(in_flight.trace) if in_flight else 0)

    def _check_batch(self, batch: Batch) -> None:
        frames = [(seq, data, True) for seq, data in batch.priority]
        frames += [(seq, data, False) for seq, data in batch.trace]
        for lane in (batch.priority, batch.trace):
            places = [seq for seq, _ in lane]
            assert places == sorted(set(places))
        for seq, data, priority in frames:
            emitted, was_priority = self.emitted[seq]
            assert priority == was_priority
            assert data == emitted or (priority and POISON.encode() in emitted)
            # What an answered `through` covered never comes any more.
            assert seq > self.told_through
        if batch.end is not None:
            assert not frames
            assert batch.end.last_seq == len(self.emitted)
        assert batch.through <= len(self.emitted)
        before = [seq for seq, (_, priority) in self.emitted.items() if priority]
        first = batch.priority[0][0] if batch.priority else len(self.emitted) + 1
        assert batch.prev_priority == max((seq for seq in before if seq < first), default=0)
