"""What a log knows of one epoch, apart from its frames: plain values, the same for all backends."""

from __future__ import annotations

__all__ = ("FOREVER", "EpochHead", "Mark", "Told")

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from compass_agent.wire import Answer, EndMark, GapReason, SessionMeta

FOREVER = 2**63 - 1
"""The largest `seq` that a log takes: what SQLite's integers hold."""

Told = tuple["Answer", ...]
"""The answers to the last batches that were applied, oldest first."""


@dataclass(frozen=True, slots=True)
class Mark:
    """Frames missing from `first` to `last` are missing for `reason`."""

    first: int
    last: int
    reason: GapReason


@dataclass(frozen=True, slots=True)
class EpochHead:
    """One epoch of a session.

    Attributes:
        epoch: Its name.
        meta: What its writer said when it opened.
        opened_ms: When it was opened, in milliseconds since 1970-01-01 UTC.
        updated_ms: When something was stored last, likewise.
        lease_ms: Until when its writer is taken to live, likewise.
        sealed: A newer epoch was opened before this one ended.
        through: The watermark: readers get what lies at or below it.
        last_priority: The last `seq` of the priority lane that is stored or given up.
        highest: The highest `seq` that is stored.
        trimmed: Trace at or below this `seq` may have been removed by retention.
        frames: How many frames are stored.
        state: The number of the AgentSessionState, as the priority frames tell it. The session's
            state is that of its current epoch alone.
        error: The encoded SessionError that was told last; None: there is none, or later work went
            well.
        resumed: Work went on after `error`: it counts again only if that ends ERRORED without a
            reason of its own, as when an agent gives up its retries.
        end: The end mark; None: the epoch has not ended.
        marks: Why frames are missing, where it is not simply that they were dropped.
        told: The answers to the last batches.
    """

    epoch: str
    meta: SessionMeta
    opened_ms: int = 0
    updated_ms: int = 0
    lease_ms: int = 0
    sealed: bool = False
    through: int = 0
    last_priority: int = 0
    highest: int = 0
    trimmed: int = 0
    frames: int = 0
    state: int = 0
    error: bytes | None = None
    resumed: bool = False
    end: EndMark | None = None
    marks: tuple[Mark, ...] = ()
    told: Told = ()

    @property
    def open(self) -> bool:
        """Whether its writer may still move the watermark: neither ended nor sealed."""
        return self.end is None and not self.sealed

    def detached(self, now_ms: int) -> bool:
        """Tell whether the epoch is open although its writer has shown no life for too long."""
        return self.open and self.lease_ms <= now_ms
