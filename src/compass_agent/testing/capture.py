"""The frames that code under test tells its sessions, without a log, a thread or a wait."""

from __future__ import annotations

__all__ = ("CapturedFrames", "capture_frames")

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from compass_agent.frames import AgentSessionState, SessionError, SessionFrame, is_session_error
from compass_agent.runtime.parts import PARTS
from compass_agent.sink import FrameSink
from compass_agent.wire import Answer

if TYPE_CHECKING:
    from collections.abc import Generator

    from compass_agent.wire import Batch, SessionMeta


class CapturedFrames(list[SessionFrame]):
    """The frames in the order in which they were told, of all sessions together.

    Attributes:
        by_session: The same frames by the id of their session.
    """

    def __init__(self) -> None:
        super().__init__()
        self.by_session: dict[str, list[SessionFrame]] = {}

    def errors(self) -> list[SessionError]:
        """Return the content of the failures and stops."""
        return [frame.typed_event.session_error for frame in self if is_session_error(frame)]

    def states(self) -> list[str]:
        """Return the states by name, such as "WORKING"."""
        return [
            AgentSessionState.Name(frame.state).removeprefix("AGENT_SESSION_STATE_")
            for frame in self
            if frame.state in AgentSessionState.values() and frame.state
        ]

    def texts(self) -> list[str]:
        """Return the pieces of answers."""
        events = [frame.typed_event for frame in self]
        return [event.assistant_text.text for event in events if event.HasField("assistant_text")]


class _CapturingSink(FrameSink):
    """A real sink whose frames are taken the moment that they are emitted."""

    def __init__(
        self,
        session_id: str,
        *,
        into: CapturedFrames,
        trace_capacity: int,
        trace_bytes: int,
    ) -> None:
        super().__init__(session_id, trace_capacity=trace_capacity, trace_bytes=trace_bytes)
        self._into = into
        self._taking = threading.RLock()
        self._is_taking = False

    def emit(self, frame: SessionFrame) -> None:
        super().emit(frame)
        self.keep_all()

    def emit_trace(self, data: bytes) -> None:
        super().emit_trace(data)
        self.keep_all()

    def keep_all(self) -> None:
        """Take whatever waits; an emit that interrupts another one leaves it to that one."""
        with self._taking:
            if self._is_taking:
                return
            self._is_taking = True
            try:
                while (batch := self.take()) is not None:
                    self._take_out(batch)
            finally:
                self._is_taking = False

    def _take_out(self, batch: Batch) -> None:
        last = batch.priority[-1][0] if batch.priority else batch.prev_priority
        self.settle(batch, Answer(batch.number, last, batch.through))
        mine = self._into.by_session.setdefault(self.session_id, [])
        for _, data in sorted([*batch.priority, *batch.trace]):
            frame = SessionFrame.FromString(data)
            mine.append(frame)
            self._into.append(frame)


class _NoPublication:
    """Stands where frames are published."""

    def __init__(self, sink: FrameSink, url: str, meta: SessionMeta, *, fsync: bool) -> None:
        del url, meta, fsync
        self._sink = sink

    def keep_journal(self) -> None:
        """Nothing is on disk."""

    def start(self) -> None:
        """Nothing is published."""

    def close(self, timeout: float) -> None:
        """Take the end too, so that nothing waits."""
        del timeout
        if isinstance(self._sink, _CapturingSink):
            self._sink.keep_all()


@contextmanager
def capture_frames() -> Generator[CapturedFrames]:
    """Give the frames of every session that is opened while the block lasts.

    The sessions are whole but for their way out: events are mapped, secrets masked, large frames
    shortened and counters kept, but nothing is stored, no thread is started, and every frame is in
    the list as soon as the call that told it returns. The `log` of such a session is checked and
    not opened.

    It holds for all threads of the process. Blocks may stand in each other; the inner one gets the
    frames. Sessions that were opened before go on as they were.

    As a test has it::

        with capture_frames() as frames:
            run_my_agent()          # calls open_session somewhere
        assert frames.states()[-1] == "ERRORED"
        assert frames.errors()[0].status == 429
    """
    frames = CapturedFrames()

    def sink(session_id: str, *, trace_capacity: int, trace_bytes: int) -> FrameSink:
        return _CapturingSink(
            session_id, into=frames, trace_capacity=trace_capacity, trace_bytes=trace_bytes
        )

    before = (PARTS.sink, PARTS.publication)
    PARTS.sink, PARTS.publication = sink, _NoPublication
    try:
        yield frames
    finally:
        PARTS.sink, PARTS.publication = before
