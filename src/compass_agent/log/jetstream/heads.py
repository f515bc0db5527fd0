"""What is known of a session's epochs, as values that JSON has, and back."""

from __future__ import annotations

__all__ = ("KeptEpoch", "SessionState", "from_values", "to_values")

from base64 import b64decode, b64encode
from dataclasses import dataclass, replace
from typing import Any

from compass_agent.log.epoch import EpochHead
from compass_agent.log.values import (
    answers_from_values,
    answers_to_values,
    end_from_values,
    end_to_values,
    marks_from_values,
    marks_to_values,
)
from compass_agent.wire import SessionMeta


@dataclass(frozen=True, slots=True)
class KeptEpoch:
    """An epoch, and what only this backend has to know of it.

    Attributes:
        head: What every log knows.
        top: The highest `seq` of the trace that was ever stored.
    """

    head: EpochHead
    top: int = 0

    def holding(self, frames: int) -> KeptEpoch:
        """Return the epoch with so many frames stored."""
        return KeptEpoch(replace(self.head, frames=frames), self.top)


@dataclass(frozen=True, slots=True)
class SessionState:
    """A session, apart from its frames.

    Attributes:
        epochs: Its epochs, in their order.
        arrivals: The place in the stream of the last record that readers may have passed; 0: none.
        size: The bytes of the frames that are stored.
        gone: The session was deleted; what is left of it is about to go.
        loose: The epoch whose records came since all epochs were written down; None: none came.
    """

    epochs: tuple[KeptEpoch, ...] = ()
    arrivals: int = 0
    size: int = 0
    gone: bool = False
    loose: str | None = None

    def index(self, epoch: str | None) -> int | None:
        """Return where `epoch` stands in the order."""
        for index, kept in enumerate(self.epochs):
            if kept.head.epoch == epoch:
                return index
        return None

    def find(self, epoch: str) -> KeptEpoch | None:
        """Return the epoch of that name."""
        index = self.index(epoch)
        return None if index is None else self.epochs[index]

    def with_epoch(self, kept: KeptEpoch) -> SessionState:
        """Return the state with `kept` in the place of the epoch of that name."""
        return SessionState(
            self._epochs_with(kept), self.arrivals, self.size, gone=self.gone, loose=self.loose
        )

    def after_record(self, kept: KeptEpoch, arrivals: int, size: int) -> SessionState:
        """Return the state behind a record of `kept`."""
        return SessionState(self._epochs_with(kept), arrivals, size, loose=kept.head.epoch)

    def _epochs_with(self, kept: KeptEpoch) -> tuple[KeptEpoch, ...]:
        name = kept.head.epoch
        return tuple([kept if one.head.epoch == name else one for one in self.epochs])

    @property
    def frames(self) -> int:
        """How many frames are stored."""
        return sum(kept.head.frames for kept in self.epochs)


def to_values(kept: KeptEpoch) -> list[object]:
    """Return what `from_values` takes."""
    head = kept.head
    return [
        head.epoch,
        [head.meta.title, head.meta.agent, head.meta.version],
        [head.opened_ms, head.updated_ms, head.lease_ms],
        [head.through, head.last_priority, head.highest, head.trimmed, head.frames, kept.top],
        [head.state, int(head.sealed), int(head.resumed)],
        None if head.error is None else b64encode(head.error).decode("ascii"),
        end_to_values(head.end),
        marks_to_values(head.marks),
        answers_to_values(head.told),
    ]


def from_values(values: list[Any]) -> KeptEpoch:
    """Return the epoch that `to_values` took apart."""
    epoch, meta, times, places, flags, error, end, marks, told = values[:9]
    through, last_priority, highest, trimmed, frames, top = places
    state, sealed, resumed = flags
    head = EpochHead(
        epoch,
        SessionMeta(*meta),
        *times,
        sealed=bool(sealed),
        through=through,
        last_priority=last_priority,
        highest=highest,
        trimmed=trimmed,
        frames=frames,
        state=state,
        error=None if error is None else b64decode(error),
        resumed=bool(resumed),
        end=end_from_values(end),
        marks=marks_from_values(marks),
        told=answers_from_values(told),
    )
    return KeptEpoch(head, top)
