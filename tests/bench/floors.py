"""The least work that could do each measured job, by hand: what the figures are ratios of."""

from __future__ import annotations

__all__ = ("DELTA", "HandWrittenFeed")

import time
from collections import deque

from compass_agent.frames import SessionFrame

DELTA = "a delta of the usual length, some nine words long"


class HandWrittenFeed:
    """Builds, serialises and appends the frame of one text delta; no mapping, no lanes."""

    def __init__(self) -> None:
        self._frames: deque[bytes] = deque(maxlen=1_024)
        self._count = 0

    def feed(self, delta: str) -> None:
        """Append the frame of `delta`."""
        self._count += 1
        frame = SessionFrame()
        event = frame.typed_event
        event.event_id = str(self._count)
        event.at_unix_ms = time.time_ns() // 1_000_000
        text = event.assistant_text
        text.text = delta
        text.message_id = "1"
        self._frames.append(frame.SerializeToString())
