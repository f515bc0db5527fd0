"""A session: the one place that joins mapper, sink and publishing."""

from __future__ import annotations

__all__ = ("Session", "open_session")

import logging
import threading
import time
from typing import TYPE_CHECKING

import anyio
from anyio import to_thread

from compass_agent.errors.groups import comes_of
from compass_agent.errors.logged import cause_text
from compass_agent.events.readable import verbatim_text
from compass_agent.frames import (
    AgentSessionState,
    SessionErrorKind,
    SessionInjectionKind,
    check_session_id,
)
from compass_agent.log import log_url
from compass_agent.mapping import EventMapper, UnmappedEvent
from compass_agent.runtime.driving import drive
from compass_agent.runtime.endings import failure_frames, stop_frames
from compass_agent.runtime.masking import Masker
from compass_agent.runtime.off import is_off
from compass_agent.runtime.parts import PARTS
from compass_agent.runtime.stops import is_clean_exit, is_own_deadline, is_stop
from compass_agent.runtime.totals import SESSIONS
from compass_agent.runtime.tracing import TRACING
from compass_agent.sink.forks import off_after_fork, usable_lock
from compass_agent.wire import SessionMeta

if TYPE_CHECKING:
    from collections.abc import AsyncIterable, Callable, Iterable
    from types import TracebackType
    from typing import Literal, Self

    from compass_agent.frames import SessionError, SessionFrame
    from compass_agent.runtime.parts import PublishesSession
    from compass_agent.sink import SinkStatistics

_logger = logging.getLogger("compass_agent.runtime")

_KINDS = {
    "steer": SessionInjectionKind.SESSION_INJECTION_KIND_STEER,
    "deliver": SessionInjectionKind.SESSION_INJECTION_KIND_DELIVER,
}
_ERROR = SessionErrorKind.SESSION_ERROR_KIND_ERROR
_UNFINISHED = "The agent's stream ended in the middle of its work"


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


class Session:
    """One session of one agent: feed it what the agent does, and whoever tails it sees.

    Use it as a context manager, `with` or `async with`; `open_session` makes one. Once it is made,
    nothing of it raises and nothing waits: frames are published by a thread of its own.

    Leaving the block with an exception tells the failure (a cancellation or an interrupt: the stop)
    and lets the exception go on unchanged. Leaving it normally ends the session as STOPPED, unless
    the last work failed: then ERRORED stays. Tool calls that are open then are interrupted.
    """

    def __init__(  # noqa: PLR0913 - one argument a setting, by keyword
        self,
        session_id: str,
        *,
        log: str | None = None,
        title: str = "",
        agent: str = "",
        version: str = "",
        secrets: Iterable[str] = (),
        trace_capacity: int = 1_024,
        trace_bytes: int = 8 * 1024 * 1024,
        close_timeout: float = 5.0,
        journal_fsync: bool = False,
        enabled: bool = True,
    ) -> None:
        # One that is off takes any setting: nothing is made of it.
        self.session_id = check_session_id(session_id) if enabled else session_id
        self._enabled = enabled
        self._masker = Masker(secrets if enabled else ())
        self._masks = bool(self._masker)
        self._mapper = EventMapper(now=_now_ms)
        named, bounds = (session_id, (trace_capacity, trace_bytes)) if enabled else ("off", (1, 1))
        self._sink = PARTS.sink(named, trace_capacity=bounds[0], trace_bytes=bounds[1])
        self._close_timeout = close_timeout
        # Feeding and stopping may come from different threads; the mapper is for one at a time.
        self._lock = threading.RLock()
        self._complained = False
        self._settled: BaseException | None = None
        self._publication: PublishesSession | None = None
        if enabled:
            meta = SessionMeta(*map(self._masker.mask, (title, agent, version)))
            self._publication = PARTS.publication(
                self._sink, log_url(log), meta, fsync=journal_fsync
            )
        off_after_fork(self, self._lock, rank=0)

    def turn_off(self) -> None:
        """Publish nothing any more, in the child of a fork: the session is the parent's."""
        self._lock = usable_lock(self._lock)
        off_after_fork(self, self._lock, rank=0)
        self._publication = None

    @property
    def enabled(self) -> bool:
        """Whether anything is recorded. Nothing is with `COMPASS_OFF=1`."""
        return self._enabled

    @property
    def epoch(self) -> str:
        """The epoch of this opening of the session."""
        return self._sink.epoch

    @property
    def state(self) -> AgentSessionState.ValueType:
        """The state that was emitted last."""
        return self._mapper.state

    @property
    def last_error(self) -> SessionError | None:
        """The last failure or stop of the current work. None when there was none, or it is over."""
        return self._mapper.last_error

    @property
    def late_results(self) -> int:
        """How many results came after their calls were told to have ended; they are dropped."""
        return self._mapper.late_results

    def statistics(self) -> SinkStatistics:
        """Return the counters of both lanes as of now."""
        return self._sink.statistics()

    def feed(self, event: object) -> None:
        """Map one inner event and emit its frames. Never waits, never raises.

        Args:
            event: A class of `compass_agent.events`, or the canonical JSON object as a dict.
        """
        if not self._enabled:
            return
        # `with`, although acquire and release cost less: between those and their `try` an interrupt
        # that raises (Ctrl-C) would leave the lock held for ever.
        with self._lock:
            try:
                data = None if self._masks else self._mapper.encoded_delta(event)
                if data is not None:
                    self._sink.emit_trace(data)
                    return
                for masked in self._masker.feed(event) if self._masks else (event,):
                    self._emit(self._mapper.map(masked))
            except Exception as error:  # noqa: BLE001 - nothing may reach the agent
                self._complain(error)

    async def drive(self, events: AsyncIterable[object], *, stall: float | None = None) -> None:
        """Feed all that a stream gives, at the speed at which it gives it, and how it ended.

        What the stream raises is told as the failure or the stop that it is, unless the stream's
        events told that already; then it goes on to the caller, the same object. A stream that ends
        while the agent is at work is a failure. The stream is closed at the end.

        Args:
            events: Inner events, such as `adapters.events_of(chunks)` gives.
            stall: Seconds of silence at work after which the stream is stopped, with a
                TimeoutError; None and 0: never.
        """
        await drive(self, events, stall)

    def settle(self, error: BaseException | None, *, stopped: bool = False) -> None:
        """Tell how a stream ended, unless its last work was told to have failed or been stopped.

        Args:
            error: What it raised; None: it ended normally. Never raises.
            stopped: It was cancelled before: `error` is what became of that.
        """
        self._settled = error
        if self._mapper.over:
            return
        if error is not None:
            self._tell_exception(error, stopped=stopped)
        elif self._mapper.state == AgentSessionState.AGENT_SESSION_STATE_WORKING:
            code = "adapter.no_terminal"
            self._tell(lambda: self._mapper.session_error(_ERROR, _UNFINISHED, code=code))

    def _tell_exception(self, error: BaseException, *, stopped: bool = False) -> None:
        if stopped or is_stop(error):
            asked = self._mapper.stopped_by
            self.abort(f"Stopped by {asked}" if asked else "The host stopped the work")
        elif not is_clean_exit(error):
            self.fail(error)

    def _emit(self, frames: Iterable[SessionFrame | UnmappedEvent]) -> None:
        for frame in frames:
            if not isinstance(frame, UnmappedEvent):
                self._sink.emit(frame)

    def _complain(self, error: Exception) -> None:
        if not self._complained:
            # As text: a logging handler prints all of an exception, secrets too.
            cause = self._masker.mask(cause_text(error, self._masker.secrets))
            _logger.error("session %s goes on with a loss:\n%s", self.session_id, cause)
        self._complained = True

    def _flush(self) -> None:
        """Emit what the masker holds back: something else comes before its rest."""
        for masked in self._masker.flush():
            self._emit(self._mapper.map(masked))

    def _tell(self, frames: Callable[[], Iterable[SessionFrame]]) -> None:
        """Emit what `frames` gives, after what the masker holds back."""
        if not self._enabled:
            return
        try:
            with self._lock:
                self._flush()
                self._emit(frames())
        except Exception as error:  # noqa: BLE001 - nothing may reach the agent
            self._complain(error)

    def fail(self, failure: object) -> None:
        """Tell that the work failed. Never raises.

        Args:
            failure: An exception, a text, or a mapping with `status`, `headers`, `body`. A failure
                that was told already since work began is not told again.
        """
        self._tell(lambda: failure_frames(self._mapper, self._masker, failure))

    def abort(self, reason: str = "", *, stopped_by: str = "", code: str = "") -> None:
        """Tell that the work was stopped on purpose. Never raises.

        Args:
            reason: For a person.
            stopped_by: Who asked for it; else whom `request_stop` named, else the host.
            code: Of what made somebody stop it.
        """
        self._tell(lambda: stop_frames(self._mapper, self._masker, reason, stopped_by, code))

    def request_stop(self, stopped_by: str, *, for_good: bool = False) -> None:
        """Note that the agent was asked to stop, and by whom: what fails in this work is a stop.

        Args:
            stopped_by: Who asked.
            for_good: So is what fails in later work: the agent itself is stopped.
        """
        with self._lock:
            self._mapper.request_stop(self._masker.mask(stopped_by), for_good=for_good)

    def inject(
        self,
        kind: Literal["steer", "deliver"],
        message_id: str,
        from_handle: str,
        traceparent: str = "",
    ) -> None:
        """Tell that a message was put into the running agent. Never raises.

        Args:
            kind: "steer" redirects the work that goes on, "deliver" hands the message over.
            message_id: The message.
            from_handle: Who sent it.
            traceparent: W3C trace context of the sender; else that of the span that is current,
                once `compass_agent.telemetry.carry_traces` was called.
        """
        traced = traceparent or TRACING.current()
        texts = [
            self._masker.mask(verbatim_text(text)) for text in (message_id, from_handle, traced)
        ]
        unknown = SessionInjectionKind.SESSION_INJECTION_KIND_UNSPECIFIED
        self._tell(
            lambda: [
                self._mapper.session_injection(_KINDS.get(verbatim_text(kind), unknown), *texts)
            ]
        )

    def notice(self, text: str, link: str | None = None) -> None:
        """Tell a line of information. Never raises."""
        shown = self._masker.mask(verbatim_text(text))
        target = None if link is None else self._masker.mask(verbatim_text(link))
        self._tell(lambda: [self._mapper.notice(shown, target)])

    def _enter(self) -> None:
        if self._publication is not None:
            SESSIONS.follow(self._sink)
            self._publication.keep_journal()
            self._emit(self._mapper.lifecycle(AgentSessionState.AGENT_SESSION_STATE_STARTING))
            try:
                self._publication.start()
            except Exception as error:  # noqa: BLE001 - such as: no thread can be started
                self._complain(error)

    def _leave(self, error: BaseException | None) -> None:
        """Emit how the block was left, and the end."""
        if self._publication is None:
            return
        settled, self._settled = self._settled, None
        if error is not None and not (self._mapper.over and comes_of(error, settled)):
            self._tell_exception(error, stopped=is_own_deadline(error, self))
        with self._lock:
            self._flush()
            self._emit(self._mapper.close())
            self._sink.end(self._mapper.state)

    def _close(self) -> None:
        if self._publication is not None:
            self._publication.close(self._close_timeout)

    def __enter__(self) -> Self:
        self._enter()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._leave(error)
        self._close()

    async def __aenter__(self) -> Self:
        if self._publication is not None:
            await to_thread.run_sync(self._enter)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._leave(error)
        with anyio.CancelScope(shield=True):
            await to_thread.run_sync(self._close)


def open_session(  # noqa: PLR0913 - one argument a setting, by keyword
    session_id: str,
    *,
    log: str | None = None,
    title: str = "",
    agent: str = "",
    version: str = "",
    secrets: Iterable[str] = (),
    trace_capacity: int = 1_024,
    trace_bytes: int = 8 * 1024 * 1024,
    close_timeout: float = 5.0,
    journal_fsync: bool = False,
) -> Session:
    """Return a session to be used as a context manager, `with` or `async with`.

    With `COMPASS_OFF=1` in the environment the session does nothing at all.

    Args:
        session_id: A letter, digit or underscore, then up to 127 of those, colons and hyphens.
        log: The log's URL; else `COMPASS_LOG`, else SQLite in the user's state folder.
        title: What the session is about, for people.
        agent: The agent's name.
        version: The agent's version.
        secrets: Values that are masked in everything that the session tells.
        trace_capacity: The most trace frames that wait to be published.
        trace_bytes: The most bytes of them.
        close_timeout: Seconds that leaving the block may take to publish what waits.
        journal_fsync: Wait for the disk after each priority frame: a loss of power loses none then,
            and each costs milliseconds.

    Raises:
        OperationError: `unsupported_input`, when `session_id` or `log` cannot be used; never with
            `COMPASS_OFF=1`.
    """
    return Session(
        session_id,
        log=log,
        title=title,
        agent=agent,
        version=version,
        secrets=secrets,
        trace_capacity=trace_capacity,
        trace_bytes=trace_bytes,
        close_timeout=close_timeout,
        journal_fsync=journal_fsync,
        enabled=not is_off(),
    )
