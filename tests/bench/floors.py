"""The least work that could do each measured job, by hand: what the figures are ratios of."""

from __future__ import annotations

__all__ = ("DELTA", "HandWrittenFeed", "PlainTable")

import sqlite3
import time
from collections import deque
from typing import TYPE_CHECKING

from compass_agent.frames import SessionFrame

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from typing import Self

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


class PlainTable:
    """A table of frames, one a row, in a file of the same settings as a log's.

    Args:
        path: The file.
    """

    def __init__(self, path: Path) -> None:
        self._db = sqlite3.connect(path, isolation_level=None)
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = NORMAL")
        self._db.execute(
            "CREATE TABLE IF NOT EXISTS frames"
            " (id INTEGER, seq INTEGER, data BLOB, PRIMARY KEY (id, seq)) WITHOUT ROWID"
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._db.close()

    def insert(self, first: int, frames: Sequence[bytes]) -> None:
        """Insert the frames in one transaction."""
        self._db.execute("BEGIN IMMEDIATE")
        rows = [(1, first + place, data) for place, data in enumerate(frames)]
        self._db.executemany("INSERT INTO frames VALUES (?, ?, ?)", rows)
        self._db.execute("COMMIT")

    def clear(self) -> None:
        """Remove all rows."""
        self._db.execute("DELETE FROM frames")
