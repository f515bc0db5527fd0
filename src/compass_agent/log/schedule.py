"""When a log that is appended to looks after what it keeps: seldom, so that writers do not feel it.

Pure: it is told of what was appended, and when.
"""

from __future__ import annotations

__all__ = ("Due", "Schedule")

import threading
from enum import Flag, auto
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from compass_agent.log.retention import Retention

_EVERY_MS = 60_000
_BEHIND_MS = 1_000
_LEAST_FRAMES, _MOST_FRAMES = 64, 1024
_LEAST_BYTES, _MOST_BYTES = 64 * 1024, 1 << 20
_MANY_BYTES = 32 << 20
_SHARE = 8
_MOST_SESSIONS = 1024


class Due(Flag):
    """What to do after an append."""

    NOTHING = 0
    TRIM = auto()
    """Trim the session that was appended to."""
    TEND = auto()
    """Look after the whole log."""


class Schedule:
    """Counts what is appended; several threads may do so.

    A session is trimmed after an eighth of what it may have came in, at least 64 frames and at most
    1,024 (64 KiB to 1 MiB). The log is looked after with its first append, then once a minute and
    each 32 MiB; and while there is more to remove than was, every second and each 1,024 frames.
    """

    def __init__(self, retention: Retention) -> None:
        frames, size = retention.trace_frames, retention.trace_bytes
        self._frames = None if frames is None else _share(frames, _LEAST_FRAMES, _MOST_FRAMES)
        self._bytes = None if size is None else _share(size, _LEAST_BYTES, _MOST_BYTES)
        self._lock = threading.Lock()
        self._sessions: dict[str, tuple[int, int]] = {}
        self._tended_ms: int | None = None
        self._since = (0, 0)
        self._behind = False

    def appended(self, session: str, frames: int, size: int, now_ms: int) -> Due:
        """Count `frames` trace frames of `size` bytes; return what is due now."""
        due = Due.NOTHING
        with self._lock:
            if self._frames is not None or self._bytes is not None:
                due |= self._count(session, frames, size)
            self._since = (self._since[0] + frames, self._since[1] + size)
            if self._is_time(now_ms):
                self._tended_ms = now_ms
                self._since = (0, 0)
                due |= Due.TEND
        return due

    def fell_behind(self, *, behind: bool) -> None:
        """Tell whether more is left to remove."""
        with self._lock:
            self._behind = behind

    def _count(self, session: str, frames: int, size: int) -> Due:
        before = self._sessions.pop(session, (0, 0))
        frames, size = before[0] + frames, before[1] + size
        many = self._frames is not None and frames >= self._frames
        large = self._bytes is not None and size >= self._bytes
        if many or large:
            return Due.TRIM
        if len(self._sessions) >= _MOST_SESSIONS:
            self._sessions.clear()  # What is not counted is found by the minute.
        self._sessions[session] = (frames, size)
        return Due.NOTHING

    def _is_time(self, now_ms: int) -> bool:
        if self._tended_ms is None:
            return True
        # A clock that was put back counts, too.
        passed = abs(now_ms - self._tended_ms)
        frames, size = self._since
        if self._behind and (passed >= _BEHIND_MS or frames >= _MOST_FRAMES):
            return True
        return passed >= _EVERY_MS or size >= _MANY_BYTES


def _share(limit: int, least: int, most: int) -> int:
    return max(least, min(most, limit // _SHARE))
