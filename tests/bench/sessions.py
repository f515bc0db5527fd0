"""Emitting: one frame, and the same number of frames in one session and in many."""

from __future__ import annotations

__all__ = ("emit_row", "many_sessions_row")

import tempfile
import threading
import time
from collections import deque
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from floors import DELTA
from measure import PAIRS, Row, alternate, compared

from compass_agent import open_session
from compass_agent.events import TextDelta
from compass_agent.frames import FrameBuilder
from compass_agent.sink import FrameSink

if TYPE_CHECKING:
    from compass_agent import Session
    from compass_agent.frames import SessionFrame

_DELTA = TextDelta(DELTA)

_BURST = 256
"""So many frames a session emits, before the next one does: as many as a full batch holds."""

_FRAME_BYTES = 1_024
_PATIENCE_S = 120.0


class _PlainLane:
    """Serialises a frame and appends it under a lock, with a number; no lanes, nobody is woken."""

    def __init__(self) -> None:
        self._frames: deque[tuple[int, bytes]] = deque(maxlen=1_024)
        self._lock = threading.Lock()
        self._count = 0

    def emit(self, frame: SessionFrame) -> None:
        data = frame.SerializeToString()
        with self._lock:
            self._count += 1
            self._frames.append((self._count, data))


def emit_row() -> Row:
    """Emit a frame that is ready, in a full lane, against a bounded deque behind a lock."""
    frame = FrameBuilder(lambda: 0).assistant_text(DELTA, "m1")
    plain, sink = _PlainLane(), FrameSink("s")
    return alternate(
        "emit of a ready frame",
        lambda: plain.emit(frame),
        lambda: sink.emit(frame),
        calls=100_000,
        limit=3.0,
    )


def many_sessions_row(sessions: int = 1_000, frames: int = 256_000) -> Row:
    """CPU of a frame from `feed` into the log's file, with many sessions, against one session.

    Both feed as many frames, in turns of 256 a session, then wait until all are stored.
    """
    pairs = [
        (_cost_of_a_frame(1, frames), _cost_of_a_frame(sessions, frames)) for _ in range(PAIRS)
    ]
    return compared(f"a frame, {sessions:,} sessions", "us", pairs, limit=1.3)


def _cost_of_a_frame(count: int, frames: int) -> float:
    """Return microseconds of the process's CPU for each frame."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        url = f"sqlite:{Path(folder) / 'log.db'}"
        # All that is fed fits in: what is waited for is the same, however many share it.
        opened = [
            stack.enter_context(
                open_session(
                    f"s{number}", log=url, trace_capacity=frames, trace_bytes=frames * _FRAME_BYTES
                )
            )
            for number in range(count)
        ]
        _drain(opened)
        before = time.process_time()
        for _ in range(0, frames, _BURST * count):
            for session in opened:
                for _ in range(_BURST):
                    session.feed(_DELTA)
        _drain(opened)
        spent = time.process_time() - before
        assert not any(session.statistics().trace.lost for session in opened)
    return spent / frames * 1e6


def _drain(sessions: list[Session]) -> None:
    """Wait until all that was fed is stored."""
    until, never = time.monotonic() + _PATIENCE_S, threading.Event()
    for session in sessions:
        while True:
            counts = session.statistics()
            if not (counts.trace.waiting or counts.trace.in_doubt or counts.priority.in_doubt):
                break
            assert time.monotonic() < until
            never.wait(0.001)
