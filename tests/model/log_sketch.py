"""The rules of a session log, as plainly as they can be written: one session, sets and loops.

It is written from the promises alone and shares no code with the logs that are held to it. It is
slow, stores nothing on disk, and never waits.
"""

from __future__ import annotations

__all__ = ("EpochSketch", "LogSketch", "NoSuchPlaceError")

from dataclasses import dataclass, field

from compass_agent.errors.codes import ErrorCode
from compass_agent.frames import SessionFrame
from compass_agent.wire import Answer, Batch, EndMark, FrameItem, Gap, GapReason, Item

LEASE_MS = 10_000


class NoSuchPlaceError(Exception):
    """What was asked for is not there; `code` says in which way."""

    def __init__(self, code: ErrorCode) -> None:
        super().__init__(code)
        self.code = code


@dataclass
class EpochSketch:
    """One epoch: what is stored of it, and why the rest is missing."""

    name: str
    lease_until: int
    frames: dict[int, tuple[bytes, bool]] = field(default_factory=dict[int, tuple[bytes, bool]])
    through: int = 0
    last_priority: int = 0
    sealed: bool = False
    end: EndMark | None = None
    gone: list[tuple[int, float]] = field(default_factory=list[tuple[int, float]])
    lost: set[int] = field(default_factory=set[int])
    trimmed: set[int] = field(default_factory=set[int])
    marks: int = 0
    state: int = 0
    answers: dict[int, Answer] = field(default_factory=dict[int, Answer])

    def highest(self) -> int:
        return max({*self.frames} | self.trimmed, default=0)

    def detached(self, now: int) -> bool:
        return self.end is None and not self.sealed and self.lease_until <= now

    def seal(self) -> None:
        """A newer epoch is open: what is not here now is missing because the writer is gone."""
        if self.end is None and not self.sealed:
            self.gone.append((self.through + 1, float("inf")))
            self.through = max(self.through, self.highest())
            self.sealed = True

    def close(self, now: int) -> bool:
        """Store the closing mark, as the first who notices does; False: there is no need."""
        if not self.detached(now) or self.highest() <= self.through:
            return False
        self.gone.append((self.through + 1, self.highest()))
        self.through = self.highest()
        self.marks += 1
        return True

    def reason(self, seq: int) -> GapReason:
        if seq in self.lost:
            return GapReason.LOG_LOSS
        if seq <= max(self.trimmed, default=0):
            return GapReason.RETENTION
        if any(first <= seq <= last for first, last in self.gone):
            return GapReason.WRITER_GONE
        return GapReason.DROPPED

    def between(self, after: int) -> list[Item]:
        """What a reader gets above `after` up to the watermark: each number is one or the other."""
        found: list[Item] = []
        for seq in range(after + 1, self.through + 1):
            if seq in self.frames:
                data, priority = self.frames[seq]
                found.append(FrameItem(self.name, seq, data, priority))
                continue
            reason = self.reason(seq)
            before = found[-1] if found else None
            if isinstance(before, Gap) and before.reason is reason:
                found[-1] = Gap(self.name, before.first_seq, seq, reason)
            else:
                found.append(Gap(self.name, seq, seq, reason))
        return found


class LogSketch:
    """One session's epochs in their order."""

    def __init__(self) -> None:
        self.now = 0
        self.epochs: list[EpochSketch] = []
        # (epoch, frame) in the order of arrival, of epochs that were sealed before.
        self.arrived_late: list[FrameItem] = []

    def index(self, name: str) -> int | None:
        for index, epoch in enumerate(self.epochs):
            if epoch.name == name:
                return index
        return None

    def open(self, name: str, *, recovered: bool = False) -> None:
        if self.index(name) is not None:
            return
        new = EpochSketch(name, self.now + LEASE_MS)
        current = self.epochs[-1] if self.epochs else None
        at_work = current and current.end is None and not current.detached(self.now)
        if recovered and at_work:
            new.seal()
            self.epochs.insert(-1, new)
            return
        for epoch in self.epochs:
            epoch.seal()
        self.epochs.append(new)

    def renew(self, name: str) -> None:
        index = self.index(name)
        if index is not None:
            self.epochs[index].lease_until = self.now + LEASE_MS

    def forget(self) -> None:
        """The log lost the session."""
        self.epochs.clear()
        self.arrived_late.clear()

    def trim(self, most: int) -> int:
        """Keep the newest `most` trace frames that readers were let to; tell how many went."""
        trace = [
            (epoch, seq)
            for epoch in self.epochs
            for seq in sorted(epoch.frames)
            if not epoch.frames[seq][1] and seq <= epoch.through
        ]
        gone = trace[: max(0, len(trace) - most)]
        for epoch, seq in gone:
            del epoch.frames[seq]
            epoch.trimmed.add(seq)
        return len(gone)

    def append(self, batch: Batch) -> Answer:
        index = self.index(batch.epoch)
        if index is None:
            raise NoSuchPlaceError(ErrorCode.NOT_FOUND)
        epoch = self.epochs[index]
        if batch.number in epoch.answers:
            return epoch.answers[batch.number]
        if epoch.end is not None:
            return _answer(epoch, batch, late=len(batch.trace), code=ErrorCode.CONFLICT)
        needed = batch.end.prev_priority if batch.end else batch.prev_priority
        if needed > max(epoch.last_priority, batch.lost_priority):
            return _answer(epoch, batch, missing_from=epoch.last_priority + 1)
        return self._take(epoch, batch)

    def _take(self, epoch: EpochSketch, batch: Batch) -> Answer:
        if batch.lost_priority > epoch.last_priority:
            first = max(epoch.last_priority, epoch.through) + 1
            epoch.lost |= {*range(first, batch.lost_priority + 1)}
            epoch.last_priority = batch.lost_priority
        below = epoch.through
        for seq, data in batch.priority:
            if seq > epoch.last_priority:
                # A priority frame never comes below what readers of a writer at work have read.
                assert epoch.sealed or seq > below
                epoch.frames[seq] = (data, True)
                epoch.last_priority = seq
                epoch.state = SessionFrame.FromString(data).state or epoch.state
                if epoch.sealed:
                    late = FrameItem(epoch.name, seq, data, priority=True, late=True)
                    self.arrived_late.append(late)
        late = 0
        for seq, data in batch.trace:
            if epoch.sealed or seq <= below:
                late += 1
            else:
                epoch.frames[seq] = (data, False)
        reached = epoch.highest() if epoch.sealed else batch.through
        epoch.through = max(epoch.through, reached)
        if batch.end is not None:
            epoch.end = batch.end
            epoch.through = batch.end.last_seq
        epoch.lease_until = self.now + LEASE_MS
        epoch.answers[batch.number] = _answer(epoch, batch, late=late)
        return epoch.answers[batch.number]


def _answer(
    epoch: EpochSketch,
    batch: Batch,
    *,
    late: int = 0,
    missing_from: int = 0,
    code: ErrorCode | None = None,
) -> Answer:
    return Answer(
        batch.number, epoch.last_priority, epoch.through, late, missing_from, epoch.sealed, code
    )
