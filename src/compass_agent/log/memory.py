"""A session log in the memory of this process: the reference that other backends are held to."""

from __future__ import annotations

__all__ = ("MemoryLog",)

import threading
from bisect import bisect_right, insort
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from anyio.lowlevel import checkpoint

from compass_agent.errors.codes import ErrorCode, OperationError
from compass_agent.frames import check_session_id
from compass_agent.log.reading import PAGE_BYTES, View
from compass_agent.log.rules import (
    check_epoch,
    close_head,
    decide,
    goes_behind,
    new_head,
    seal,
    summarise,
)
from compass_agent.log.stream import PageStream, wall_ms
from compass_agent.log.wake import Wake
from compass_agent.wire import FrameItem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from compass_agent.frames import Cursor
    from compass_agent.log.epoch import EpochHead
    from compass_agent.log.read import SessionSummary
    from compass_agent.log.reading import Place
    from compass_agent.wire import Answer, Batch, SessionMeta


@dataclass(slots=True)
class _Epoch:
    """An epoch and its two lanes in one ascending list of places."""

    head: EpochHead
    seqs: list[int] = field(default_factory=list[int])
    frames: dict[int, FrameItem] = field(default_factory=dict[int, FrameItem])

    def store(self, frames: Iterable[tuple[int, bytes]], *, priority: bool) -> int:
        """Store what is not stored yet; return how many frames that were."""
        before = len(self.frames)
        for seq, data in frames:
            if seq not in self.frames:
                self.frames[seq] = FrameItem(self.head.epoch, seq, data, priority)
                insort(self.seqs, seq)
        return len(self.frames) - before

    def page(self, after: int, page_frames: int) -> tuple[list[FrameItem], bool]:
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
        return rows, len(rows) >= last - first


@dataclass(slots=True)
class _Session:
    """The epochs in their order, and the frames that came behind readers, in theirs."""

    epochs: list[_Epoch] = field(default_factory=list[_Epoch])
    behind: list[FrameItem] = field(default_factory=list[FrameItem])

    def index(self, epoch: str | None) -> int | None:
        """Return where `epoch` stands in the order."""
        for index, known in enumerate(self.epochs):
            if known.head.epoch == epoch:
                return index
        return None

    def epoch(self, epoch: str) -> _Epoch | None:
        """Return the epoch of that name."""
        index = self.index(epoch)
        return None if index is None else self.epochs[index]


class MemoryLog:
    """Implements `AppendLog` and `ReadLog`; several threads and event loops may share it.

    Args:
        now_ms: Gives milliseconds since 1970-01-01 UTC.
        ahead_s: How long to wait for a watermark that is below a reader's cursor, in seconds.
    """

    def __init__(self, *, now_ms: Callable[[], int] | None = None, ahead_s: float = 2.0) -> None:
        self._lock = threading.Lock()
        self._sessions: dict[str, _Session] = {}
        self.wake = Wake()
        self.now_ms = now_ms or wall_ms
        self.ahead_s = ahead_s

    async def open(
        self, session: str, epoch: str, meta: SessionMeta | None = None, *, recovered: bool = False
    ) -> None:
        """As in `AppendLog`."""
        check_session_id(session)
        check_epoch(epoch)
        await checkpoint()
        now = self.now_ms()
        with self._lock:
            known = self._sessions.setdefault(session, _Session())
            if known.index(epoch) is not None:
                return
            new = _Epoch(new_head(epoch, meta, now))
            current = known.epochs[-1].head if known.epochs else None
            if goes_behind(current, now, recovered=recovered):
                new.head = seal(new.head)
                known.epochs.insert(-1, new)
            else:
                for older in known.epochs:
                    older.head = seal(older.head)
                known.epochs.append(new)
        self.wake.fire(session)

    async def append(self, batch: Batch) -> Answer:
        """As in `AppendLog`."""
        await checkpoint()
        with self._lock:
            known = self._sessions.get(batch.session)
            epoch = known.epoch(batch.epoch) if known else None
            if known is None or epoch is None:
                raise OperationError(ErrorCode.NOT_FOUND)
            applied = decide(epoch.head, batch, self.now_ms())
            if applied.head is None:
                return applied.answer
            stored = epoch.store(applied.priority, priority=True)
            stored += epoch.store(applied.trace, priority=False)
            epoch.head = replace(applied.head, frames=epoch.head.frames + stored)
            if applied.behind:
                known.behind += [epoch.frames[s]._replace(late=True) for s, _ in applied.priority]
        self.wake.fire(batch.session)
        return applied.answer

    async def renew(self, epochs: Iterable[tuple[str, str]], seconds: float = 10.0) -> None:
        """As in `AppendLog`."""
        await checkpoint()
        until = self.now_ms() + round(seconds * 1000)
        for session, name in epochs:
            with self._lock:
                known = self._sessions.get(session)
                epoch = known.epoch(name) if known else None
                if epoch is not None:
                    epoch.head = replace(epoch.head, lease_ms=until)
            self.wake.fire(session)

    def read(
        self,
        session: str,
        after: Cursor | None = None,
        *,
        follow: bool = True,
        page_frames: int = 4096,
    ) -> PageStream:
        """As in `ReadLog`."""
        return PageStream(self, session, after, follow=follow, page_frames=page_frames)

    async def look(self, session: str, place: Place, page_frames: int) -> View | None:
        """As in `Source`."""
        await checkpoint()
        with self._lock:
            known = self._sessions.get(session)
            if known is None:
                return None
            index = known.index(place.epoch)
            if index is None:
                return View(None, known.epochs[0].head.epoch, arrivals=len(known.behind))
            epoch = known.epochs[index]
            following = known.epochs[index + 1 : index + 2]
            rows, complete = epoch.page(place.seq, page_frames)
            # At every look: what comes late is late by where the reader stands now. Asked later, a
            # frame that the reader meets at its place meanwhile would be told twice.
            return View(
                epoch.head,
                following[0].head.epoch if following else None,
                rows,
                complete,
                late=_passed(known, index, place),
                arrivals=len(known.behind),
            )

    async def ask(self) -> None:
        """As in `Source`: no other process has this memory."""

    async def sessions(self) -> list[SessionSummary]:
        """As in `ReadLog`."""
        await checkpoint()
        now = self.now_ms()
        with self._lock:
            found = [
                summarise(
                    session, known.epochs[-1].head, sum(e.head.frames for e in known.epochs), now
                )
                for session, known in self._sessions.items()
            ]
        return sorted(found, key=lambda summary: (-summary.updated_ms, summary.session))

    async def delete(self, session: str) -> None:
        """As in `ReadLog`."""
        await checkpoint()
        with self._lock:
            if self._sessions.pop(session, None) is None:
                raise OperationError(ErrorCode.NOT_FOUND)
        self.wake.fire(session)

    async def close_below(self, session: str, epoch: str) -> None:
        """As in `ReadLog`."""
        await checkpoint()
        with self._lock:
            known = self._sessions.get(session)
            found = known.epoch(epoch) if known else None
            closed = close_head(found.head, self.now_ms()) if found else None
            if found is None or closed is None:
                return
            found.head = closed
        self.wake.fire(session)

    async def aclose(self) -> None:
        """As in `ReadLog`: the memory goes when the log does."""
        await checkpoint()


def _passed(known: _Session, index: int, place: Place) -> list[FrameItem]:
    """Return the frames that arrived since the reader looked, at places that it has passed."""
    if place.arrivals is None or place.arrivals == len(known.behind):
        return []
    older = {epoch.head.epoch for epoch in known.epochs[:index]}
    return [
        frame
        for frame in known.behind[place.arrivals :]
        if frame.epoch in older or (frame.epoch == place.epoch and frame.seq <= place.seq)
    ]
