"""How much of its sessions a log keeps, and which part goes first. Pure: no IO, no clock.

The trace of a session may be trimmed, oldest first; its priority frames stay as long as the session
does. A session that is over goes as a whole. Every backend decides by these functions alone.
"""

from __future__ import annotations

__all__ = (
    "AWAY_MS",
    "KeepLog",
    "KeptSession",
    "Pruned",
    "Retention",
    "expired",
    "how_many",
    "oldest_first",
    "over_since",
)

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from compass_agent.errors.codes import ErrorCode, OperationError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from compass_agent.log.epoch import EpochHead

AWAY_MS = 86_400_000
"""A session whose writer showed no life for a day is over, although nobody ended it."""

_DAY_S = 86_400.0
_GIB = 1 << 30


@dataclass(frozen=True, slots=True)
class Retention:
    """What is kept; None: without a limit.

    Attributes:
        trace_frames: How many trace frames of a session are kept, over all its epochs.
        trace_bytes: How many bytes of them, likewise.
        trace_age_s: For how long a trace frame is kept after it was stored, in seconds.
        ended_age_s: For how long a session is kept after it was over, in seconds.
        total_bytes: How large the log may become before the sessions that are over go, the one that
            has been over for longest first. Sessions at work stay, however large they are.

    Raises:
        OperationError: `unsupported_input`: a limit is below zero, or no number.
    """

    trace_frames: int | None = None
    trace_bytes: int | None = None
    trace_age_s: float | None = None
    ended_age_s: float | None = 30 * _DAY_S
    total_bytes: int | None = 2 * _GIB

    def __post_init__(self) -> None:
        limits = (
            self.trace_frames,
            self.trace_bytes,
            self.trace_age_s,
            self.ended_age_s,
            self.total_bytes,
        )
        if not all(limit is None or limit >= 0 for limit in limits):
            raise OperationError(ErrorCode.UNSUPPORTED_INPUT)

    @property
    def trims(self) -> bool:
        """Whether any trace is ever trimmed."""
        return (self.trace_frames, self.trace_bytes, self.trace_age_s) != (None, None, None)

    def too_much(self, frames: int, size: int) -> bool:
        """Tell whether a session with so many trace frames, of so many bytes, has to give some."""
        return (self.trace_frames is not None and frames > self.trace_frames) or (
            self.trace_bytes is not None and size > self.trace_bytes
        )

    @property
    def removes(self) -> bool:
        """Whether anything is ever removed."""
        return self.trims or (self.ended_age_s, self.total_bytes) != (None, None)

    def too_old_ms(self, now_ms: int) -> int:
        """Return the time at or before which stored trace is too old; below 0: none is."""
        return -1 if self.trace_age_s is None else now_ms - round(self.trace_age_s * 1000)


@dataclass(frozen=True, slots=True)
class Pruned:
    """What pruning did, or would do.

    Attributes:
        removed: The sessions that are gone, in the order in which they went.
        trimmed: How many trace frames went of sessions that are still there.
        bytes_before: How large the log was: frames and what it knows of them, without free room.
        bytes_after: How large it is now; of what would be done, about how large it would be.
    """

    removed: tuple[str, ...] = ()
    trimmed: Mapping[str, int] = field(default_factory=dict[str, int])
    bytes_before: int = 0
    bytes_after: int = 0


@dataclass(frozen=True, slots=True)
class KeptSession:
    """A session, and since when it is over (milliseconds since 1970-01-01 UTC; None: it is not)."""

    session: str
    over_ms: int | None


class KeepLog(Protocol):
    """What keeps a log small. It raises `OperationError` alone."""

    @property
    def retention(self) -> Retention:
        """What it keeps when nobody says otherwise."""
        ...

    async def prune(self, retention: Retention | None = None, *, dry_run: bool = False) -> Pruned:
        """Remove now all that `retention` does not keep, in steps that writers bear.

        A log does the same by itself, a little at a time, while batches are appended to it.
        Readers get a gap with the reason RETENTION where trace is gone.

        Args:
            retention: What to keep; None: as the log was opened with.
            dry_run: Only tell what would be removed.

        Raises:
            OperationError: `unavailable`, `storage_failed`: some of it may have been done.
        """
        ...


def over_since(current: EpochHead, stored_ms: int, now_ms: int) -> int | None:
    """Return since when a session is over; None: it is at work, or its writer may come back.

    Args:
        current: Its current epoch.
        stored_ms: When something was stored last, in any of its epochs.
        now_ms: Milliseconds since 1970-01-01 UTC, as all times here.
    """
    if current.end is not None:
        return stored_ms
    since = max(stored_ms, current.lease_ms)
    return since if since + AWAY_MS <= now_ms else None


def oldest_first(sessions: Iterable[KeptSession]) -> list[KeptSession]:
    """Return the sessions that are over, the one that has been so for longest first."""
    over = [kept for kept in sessions if kept.over_ms is not None]
    return sorted(over, key=lambda kept: (kept.over_ms or 0, kept.session))


def expired(
    sessions: Iterable[KeptSession], retention: Retention, now_ms: int
) -> list[KeptSession]:
    """Return the sessions that have been over for too long, oldest first."""
    if retention.ended_age_s is None:
        return []
    latest = now_ms - round(retention.ended_age_s * 1000)
    return [kept for kept in oldest_first(sessions) if (kept.over_ms or 0) <= latest]


def how_many(
    trace: Iterable[tuple[int, int]],
    retention: Retention,
    amounts: tuple[int, int],
    old: int,
) -> tuple[int, int]:
    """Return how many trace frames have to go, counted from the oldest on, and their bytes.

    Args:
        trace: Place and size in bytes of each, oldest first; perhaps only the first of them.
        retention: What is kept.
        amounts: How many trace frames the session has, and their bytes.
        old: Frames at or below this place are too old.
    """
    frames, size = amounts
    gone = gone_bytes = 0
    for seq, weight in trace:
        if seq > old and not retention.too_much(frames - gone, size - gone_bytes):
            break
        gone += 1
        gone_bytes += weight
    return gone, gone_bytes
