"""The epochs and sessions that the log in memory holds. The log's lock guards them."""

from __future__ import annotations

__all__ = ("MemoryEpoch", "MemorySession")

from bisect import bisect_right, insort
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from compass_agent.log.reading import PAGE_BYTES
from compass_agent.log.retention import how_many, over_since
from compass_agent.wire import FrameItem, FrameRun

if TYPE_CHECKING:
    from collections.abc import Iterable

    from compass_agent.log.epoch import EpochHead
    from compass_agent.log.reading import Place
    from compass_agent.log.retention import Retention

_GRAIN_MS = 1000


@dataclass(slots=True)
class MemoryEpoch:
    """An epoch and its two lanes in one ascending list of places.

    Attributes:
        head: What is known of it.
        seqs: The places of its frames, ascending.
        frames: The frames by their places.
        size: The bytes of all frames.
        runs: When trace was stored, and the highest place by then.
    """

    head: EpochHead
    seqs: list[int] = field(default_factory=list[int])
    frames: dict[int, FrameItem] = field(default_factory=dict[int, FrameItem])
    size: int = 0
    runs: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])

    def store(self, frames: Iterable[tuple[int, bytes]], *, priority: bool) -> int:
        """Store what is not stored yet; return how many frames that were."""
        before = len(self.frames)
        for seq, data in frames:
            if seq not in self.frames:
                self.frames[seq] = FrameItem(self.head.epoch, seq, data, priority)
                self.size += len(data)
                insort(self.seqs, seq)
        return len(self.frames) - before

    def note_time(self, last: int, now_ms: int) -> None:
        """Note that trace up to `last` was stored by now."""
        if self.runs and self.runs[-1][0] // _GRAIN_MS == now_ms // _GRAIN_MS:
            self.runs.pop()
        self.runs.append((now_ms, last))

    def page(self, after: int, page_frames: int) -> tuple[FrameRun, bool]:
        """Return frames above `after` up to the watermark, and whether these are all of them."""
        first = bisect_right(self.seqs, after)
        last = bisect_right(self.seqs, self.head.through)
        rows: list[FrameItem] = []
        size = 0
        for seq in self.seqs[first : min(last, first + page_frames)]:
            rows.append(self.frames[seq])
            size += len(rows[-1].data)
            if size >= PAGE_BYTES:
                break
        return FrameRun.of(rows), len(rows) >= last - first

    def trace(self) -> list[tuple[int, int]]:
        """Return place and size of each trace frame up to the watermark."""
        places = self.seqs[: bisect_right(self.seqs, self.head.through)]
        rows = [self.frames[seq] for seq in places]
        return [(row.seq, len(row.data)) for row in rows if not row.priority]

    def old(self, old_ms: int) -> int:
        """Return the place up to which trace was stored at `old_ms` or before."""
        return max((last for stored_ms, last in self.runs if stored_ms <= old_ms), default=0)

    def cut(self, places: list[int]) -> None:
        """Remove these trace frames, which are the oldest."""
        for seq in places:
            self.size -= len(self.frames.pop(seq).data)
        last = places[-1]
        border = bisect_right(self.seqs, last)
        self.seqs[:border] = [seq for seq in self.seqs[:border] if seq in self.frames]
        self.runs = [(stored_ms, end) for stored_ms, end in self.runs if end > last]
        self.head = replace(self.head, trimmed=last, frames=len(self.frames))


@dataclass(slots=True)
class MemorySession:
    """The epochs in their order, and the frames that came behind readers, in theirs."""

    epochs: list[MemoryEpoch] = field(default_factory=list[MemoryEpoch])
    behind: list[FrameItem] = field(default_factory=list[FrameItem])

    @property
    def size(self) -> int:
        """The bytes of all frames."""
        return sum(epoch.size for epoch in self.epochs)

    def over_since(self, now_ms: int) -> int | None:
        """Return since when the session is over; None: it is not."""
        stored_ms = max(epoch.head.updated_ms for epoch in self.epochs)
        return over_since(self.epochs[-1].head, stored_ms, now_ms)

    def index(self, epoch: str | None) -> int | None:
        """Return where `epoch` stands in the order."""
        for index, known in enumerate(self.epochs):
            if known.head.epoch == epoch:
                return index
        return None

    def epoch(self, epoch: str) -> MemoryEpoch | None:
        """Return the epoch of that name."""
        index = self.index(epoch)
        return None if index is None else self.epochs[index]

    def passed(self, index: int, place: Place) -> list[FrameItem]:
        """Return the frames that arrived since the reader looked, at places that it has passed."""
        if place.arrivals is None or place.arrivals == len(self.behind):
            return []
        older = {epoch.head.epoch for epoch in self.epochs[:index]}
        return [
            frame
            for frame in self.behind[place.arrivals :]
            if frame.epoch in older or (frame.epoch == place.epoch and frame.seq <= place.seq)
        ]

    def trim(self, retention: Retention, now_ms: int, *, dry_run: bool = False) -> tuple[int, int]:
        """Remove trace that is not to be kept, oldest first; return how many frames and bytes."""
        traces = [(epoch, epoch.trace()) for epoch in self.epochs]
        frames = sum(len(trace) for _, trace in traces)
        size = sum(weight for _, trace in traces for _, weight in trace)
        gone = gone_bytes = 0
        old_ms = retention.too_old_ms(now_ms)
        for epoch, trace in traces:
            amounts = (frames - gone, size - gone_bytes)
            count, weight = how_many(trace, retention, amounts, epoch.old(old_ms))
            if count and not dry_run:
                epoch.cut([seq for seq, _ in trace[:count]])
            gone, gone_bytes = gone + count, gone_bytes + weight
        return gone, gone_bytes
