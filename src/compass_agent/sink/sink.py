"""Takes frames from the agent and hands them out in batches. Never waits, never raises.

Two lanes: priority (transitions, injections, errors) never drops; trace (all else) is bounded and
drops its oldest. One step under one lock gives `seq`, checks, drops, appends and counts.
"""

from __future__ import annotations

__all__ = ("FrameSink",)

import logging
import threading
from typing import TYPE_CHECKING

from compass_agent.errors.worded import words_of
from compass_agent.frames import (
    SessionFrame,
    check_session_id,
    is_priority,
    new_epoch,
)
from compass_agent.sink.counts import Counts
from compass_agent.sink.forks import off_after_fork, usable_lock
from compass_agent.sink.lane import Lane
from compass_agent.sink.outbox import Outbox
from compass_agent.sink.shorten import MAX_FRAME_BYTES, shorten
from compass_agent.wire import EndMark

if TYPE_CHECKING:
    from collections.abc import Callable

    from compass_agent.sink.journal import Journal
    from compass_agent.sink.statistics import SinkStatistics
    from compass_agent.wire import Answer, Batch

_logger = logging.getLogger("compass_agent.sink")

# From the class: a message looks for its fields before it finds its methods.
_encode = SessionFrame.SerializeToString

_TRACE_CAPACITY = 1_024
_TRACE_BYTES = 8 * 1024 * 1024


class FrameSink:
    """The two lanes of one session and epoch.

    `emit` may be called from any thread, event loop, signal handler or finalizer. `take` and
    `settle` are for the one that publishes.

    Args:
        session_id: The session.
        trace_capacity: The most frames that wait in the trace lane.
        trace_bytes: The most bytes that wait there.
        epoch: The writer's epoch; a new one unless given.

    Attributes:
        session_id: The session.
        epoch: The writer's epoch.
        counts: What `statistics` tells, for whoever sums it up when the sink is gone.

    Raises:
        OperationError: `unsupported_input`, when `session_id` can name no session.
        ValueError: A bound is below 1.
    """

    def __init__(
        self,
        session_id: str,
        *,
        trace_capacity: int = _TRACE_CAPACITY,
        trace_bytes: int = _TRACE_BYTES,
        epoch: str | None = None,
    ) -> None:
        if trace_capacity < 1 or trace_bytes < 1:
            raise ValueError("trace_capacity and trace_bytes must be at least 1")
        self.session_id = check_session_id(session_id)
        self.epoch = new_epoch() if epoch is None else epoch
        self._lock = threading.RLock()
        self._priority = Lane()
        self._trace = Lane(trace_capacity, trace_bytes)
        self._outbox = Outbox(self.session_id, self.epoch, self._priority, self._trace)
        self._waker: Callable[[], None] | None = None
        # Frames of an emit that interrupted another one (a signal handler, a finalizer).
        self._interrupting: list[tuple[bytes, bool]] = []
        self._busy = False
        self._rejected_kinds: set[str] = set()
        self.counts = Counts(self._priority, self._trace, self._outbox)
        self._journal: Journal | None = None
        self._last_priority = 0
        off_after_fork(self, self._lock)

    def emit(self, frame: SessionFrame) -> None:
        """Add a frame: its bytes are taken at once, so later changes to it have no effect.

        Never waits for anything but the lock, and never raises: what is no frame is counted as
        rejected and logged once a kind. A frame above 512 KiB is shortened.
        """
        try:
            data = _encode(frame)
            priority = is_priority(frame)
            if len(data) > MAX_FRAME_BYTES:
                data = self._shorten(frame)
        except Exception as error:  # noqa: BLE001 - nothing may reach the agent
            self._reject(frame, error)
            return
        # `with`, although acquire and release cost less: between those and their `try` an interrupt
        # that raises (Ctrl-C) would leave the lock held for ever.
        with self._lock:
            waker = self._admit(data, priority)
        if waker is not None:
            waker()
        if priority and self._journal is not None:
            self._complain(self._journal)

    def emit_trace(self, data: bytes) -> None:
        """Add a frame of the trace lane that is encoded already. Waits and raises as `emit` does.

        Args:
            data: A frame of at most 512 KiB that is no transition, injection or session error.
        """
        with self._lock:
            waker = self._admit(data, False)  # noqa: FBT003 - by position, as below
        if waker is not None:
            waker()

    def _admit(self, data: bytes, priority: bool) -> Callable[[], None] | None:  # noqa: FBT001 - called once, by position
        """Give the frame its place in its lane; return whom to wake."""
        if self._busy:
            self._interrupting.append((data, priority))
            return None
        self._busy = True
        try:
            outbox = self._outbox
            if outbox.takes_all:
                outbox.last_seq = seq = outbox.last_seq + 1
                if priority:
                    self._keep(seq, data)
                else:
                    self._trace.append(seq, data)
            else:
                self._enter(data, priority=priority)
            if self._interrupting:
                self._enter_interrupting()
        finally:
            self._busy = False
        waker = self._waker
        if waker is not None:
            self._waker = None
        return waker

    def _enter(self, data: bytes, *, priority: bool) -> None:
        outbox = self._outbox
        if outbox.ended:
            self.counts.after_end += 1
            return
        outbox.last_seq = seq = outbox.last_seq + 1
        if priority:
            self._keep(seq, data)
        elif outbox.fenced:
            self._trace.emitted += 1
            self._trace.lost += 1
        else:
            self._trace.append(seq, data)

    def _keep(self, seq: int, data: bytes) -> None:
        self._priority.append(seq, data)
        prev_priority, self._last_priority = self._last_priority, seq
        if self._journal is not None:
            self._journal.add(seq, prev_priority, data)

    def _complain(self, journal: Journal) -> None:
        """Log the journal's first failure. Without the lock: a handler may call us back."""
        with self._lock:
            error = journal.complaint()
        if error is not None:
            _logger.warning(
                "session %s: what cannot be published now is lost if this process is killed: %s",
                self.session_id,
                words_of(error),
            )

    def _enter_interrupting(self) -> None:
        while self._interrupting:
            data, priority = self._interrupting.pop(0)
            self._enter(data, priority=priority)

    def _shorten(self, frame: SessionFrame) -> bytes:
        with self._lock:
            self.counts.shortened += 1
        return shorten(frame)

    def _reject(self, frame: object, error: Exception) -> None:
        kind = type(frame).__name__
        with self._lock:
            self.counts.rejected += 1
            first = kind not in self._rejected_kinds
            self._rejected_kinds.add(kind)
        if first:
            _logger.warning("a %s is no frame: %s", kind, type(error).__name__)

    def end(self, state: int, reason: str = "") -> None:
        """End the epoch: frames that are emitted from now on are refused and counted.

        Args:
            state: The number of the AgentSessionState at the end.
            reason: Why it ended, for a person.
        """
        with self._lock:
            if self._outbox.ended:
                return
            self._outbox.end(state, reason)
            if self._journal is not None:
                last_seq = self._outbox.last_seq
                self._journal.add_end(EndMark(state, reason, last_seq, self._last_priority))
            waker, self._waker = self._waker, None
        if waker is not None:
            waker()

    def take(self) -> Batch | None:
        """Return the next batch; None when there is nothing to send.

        As long as a batch is not settled, it is returned again, unchanged.
        """
        with self._lock:
            return self._outbox.take()

    def settle(self, batch: Batch, answer: Answer) -> None:
        """Note the log's answer to the batch in flight; another batch changes nothing."""
        with self._lock:
            before = self._outbox.end_refused
            self._outbox.settle(batch, answer)
            if self._journal is not None:
                self._tidy(self._journal)
            refused = self._outbox.end_refused and not before
        if refused:
            _logger.warning("session %s: the log refused its end, which is kept", self.session_id)

    def _tidy(self, journal: Journal) -> None:
        """Let the journal forget what was answered."""
        outbox, lane = self._outbox, self._priority
        refused, outbox.refused = outbox.refused, []
        waits = bool(lane.waiting or lane.in_doubt)
        removed = waits and journal.is_removed()
        if removed:
            journal.errors += len(lane.waiting) + lane.in_doubt
        if removed or refused or (waits and journal.is_sparse(lane.size)):
            journal.rewrite(outbox.unanswered(), refused)
        if outbox.end_answered:
            journal.finish(keep=outbox.end_refused)
        elif not waits:
            journal.acknowledge_all()

    def use_journal(self, journal: Journal) -> None:
        """Keep priority frames and the end mark in `journal` too, until they are answered.

        Args:
            journal: Open, and empty; it is the sink's from now on. Frames that wait go there first.
        """
        with self._lock:
            for frame in self._outbox.unanswered():
                journal.add(*frame)
            journal.waiting = self._outbox.unanswered
            self._journal = self.counts.journal = journal

    def close_journal(self) -> None:
        """Give up the journal: what is in there still is for whoever opens a session next."""
        with self._lock:
            if self._journal is not None:
                self._journal.close()

    def turn_off(self) -> None:
        """Refuse everything from now on, in the child of a fork: the frames are the parent's."""
        self._lock = usable_lock(self._lock)
        off_after_fork(self, self._lock)
        self._waker = None
        self._outbox.ended = True
        self._outbox.takes_all = False
        if self._journal is not None:
            self._journal.close()

    def note_retry(self) -> None:
        """Count that something could not be published and is tried again."""
        with self._lock:
            self.counts.retries += 1

    def park(self, waker: Callable[[], None]) -> bool:
        """Ask to be woken when there is something to take; False: there is something now.

        Args:
            waker: Called once, from any thread; must neither wait nor raise.
        """
        with self._lock:
            if self._outbox.has_work():
                return False
            self._waker = waker
            return True

    def is_drained(self) -> bool:
        """Tell whether everything was answered, the end mark too when the epoch ended."""
        with self._lock:
            return self._outbox.is_drained()

    def lose_trace(self) -> None:
        """Lose the trace frames that wait: there is no time left to send them."""
        with self._lock:
            self._trace.lose_waiting()

    def give_up(self) -> None:
        """Lose the trace frames that wait or were not answered: nobody publishes any more.

        A log may have stored what it did not answer; it counts as lost all the same.
        """
        with self._lock:
            self._outbox.lose_trace()

    def note_delivered(self) -> None:
        """Count as delivered what was left in the journal: somebody handed it to the log."""
        with self._lock:
            self._outbox.deliver_rest()

    def statistics(self) -> SinkStatistics:
        """Return the counters as of now."""
        with self._lock:
            return self.counts.statistics()
