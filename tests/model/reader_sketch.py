"""A reader of the sketched log, and the books that are kept on what any reader was given."""

from __future__ import annotations

__all__ = ("ReaderSketch", "Tally", "apart")

from collections import defaultdict
from typing import TYPE_CHECKING

from compass_agent.errors.codes import ErrorCode
from compass_agent.frames import AgentSessionState, Cursor
from compass_agent.wire import (
    CaughtUp,
    End,
    FrameItem,
    Gap,
    Item,
    Reset,
    ResetReason,
    StateSignal,
)
from model.log_sketch import NoSuchPlaceError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from model.log_sketch import EpochSketch, LogSketch

_DISCONNECTED = AgentSessionState.AGENT_SESSION_STATE_DISCONNECTED


class ReaderSketch:
    """Reads as the promises say; `poll` gives all that there is now."""

    def __init__(self, log: LogSketch, after: Cursor | None, *, follow: bool) -> None:
        self._log = log
        self._epoch = after.epoch if after else None
        self._seq = after.seq if after else 0
        self._follow = follow
        self._known_late: int | None = None
        self._away = False
        self._caught_up = False
        self.stopped = False

    @property
    def cursor(self) -> Cursor | None:
        return None if self._epoch is None else Cursor(self._epoch, self._seq)

    def poll(self) -> list[Item]:
        if not self._log.epochs:
            raise NoSuchPlaceError(ErrorCode.NOT_FOUND)
        found: list[Item] = self._late()
        if self._epoch is None or self._log.index(self._epoch) is None:
            oldest = self._log.epochs[0].name
            if self._epoch is not None:
                found.append(Reset(oldest, ResetReason.UNKNOWN_EPOCH))
            self._enter(oldest)
        while True:
            index = self._log.index(self._epoch or "")
            assert index is not None
            epoch = self._log.epochs[index]
            if self._seq > epoch.through:
                raise NoSuchPlaceError(ErrorCode.CONFLICT)
            found += epoch.between(self._seq)
            self._seq = epoch.through
            if epoch.close(self._log.now):
                continue
            if epoch.end is not None:
                mark = epoch.end
                found.append(End(epoch.name, mark.last_seq, mark.state, mark.reason))
            if index + 1 < len(self._log.epochs):
                following = self._log.epochs[index + 1].name
                found.append(Reset(following, ResetReason.NEW_EPOCH))
                self._enter(following)
                continue
            found += self._at_the_end(epoch)
            return found

    def _late(self) -> list[Item]:
        """Frames that came since the last poll, at places that this reader has passed."""
        arrived = self._log.arrived_late
        known, self._known_late = self._known_late, len(arrived)
        place = self._log.index(self._epoch or "")
        if known is None or place is None or not self._follow:
            return []
        passed = {epoch.name for epoch in self._log.epochs[:place]}
        return [
            item
            for item in arrived[known:]
            if item.epoch in passed or (item.epoch == self._epoch and item.seq <= self._seq)
        ]

    def _enter(self, epoch: str) -> None:
        self._epoch, self._seq, self._away = epoch, 0, False

    def _at_the_end(self, epoch: EpochSketch) -> list[Item]:
        """What is told at the watermark of the current epoch."""
        if epoch.end is not None:
            self.stopped = True
            return []
        found: list[Item] = []
        away = epoch.detached(self._log.now)
        if away != self._away:
            found.append(StateSignal(epoch.name, _DISCONNECTED if away else epoch.state))
            self._away = away
        if not self._follow:
            self.stopped = True
        elif not self._caught_up:
            self._caught_up = True
            found.append(CaughtUp(epoch.name))
        return found


def apart(items: Iterable[Item]) -> tuple[list[Item], list[Item]]:
    """Return the items at their places, and those that came late: where these stand is free."""
    in_place: list[Item] = []
    late: list[Item] = []
    for item in items:
        (late if isinstance(item, FrameItem) and item.late else in_place).append(item)
    return in_place, late


class Tally:
    """Checks what one reader is given, over all its interruptions.

    Per epoch: frames received + frames in gaps == the last `seq` read - the `seq` it began after.
    """

    def __init__(self) -> None:
        self.began: dict[str, int] = {}
        self.last: dict[str, int] = {}
        self.received: dict[str, int] = defaultdict(int)
        self.missing: dict[str, int] = defaultdict(int)
        self.priority: dict[str, set[int]] = defaultdict(set)
        self.order: list[str] = []

    def begin(self, epoch: str, seq: int) -> None:
        self.began[epoch] = self.last[epoch] = seq
        self.order.append(epoch)

    def add(self, items: Iterable[Item]) -> None:
        for item in items:
            self._add(item)
        for epoch, began in self.began.items():
            told = self.received[epoch] + self.missing[epoch]
            assert told == self.last[epoch] - began

    def _add(self, item: Item) -> None:
        match item:
            case FrameItem():
                if item.priority:
                    assert item.seq not in self.priority[item.epoch], "read twice"
                    self.priority[item.epoch].add(item.seq)
                if not item.late:
                    self._move(item.epoch, item.seq, item.seq)
                    self.received[item.epoch] += 1
            case Gap():
                self._move(item.epoch, item.first_seq, item.last_seq)
                self.missing[item.epoch] += item.count
            case Reset():
                assert item.epoch not in self.began, "an epoch is entered once"
                self.begin(item.epoch, 0)
            case End():
                assert self.last.get(item.epoch, 0) == item.last_seq
            case _:
                pass

    def _move(self, epoch: str, first: int, last: int) -> None:
        if not self.order:
            self.begin(epoch, 0)
        assert epoch == self.order[-1]
        assert first == self.last[epoch] + 1
        assert last >= first
        self.last[epoch] = last
