"""Watches a driven stream that says nothing: readers are told, and it is stopped when asked."""

from __future__ import annotations

__all__ = ("Stall", "StallTold")

from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

import anyio

from compass_agent.frames import AgentSessionState

if TYPE_CHECKING:
    from collections.abc import Generator

# How long a stream at work may say nothing until readers are told.
_QUIET_S = 60.0
_WORKING = AgentSessionState.AGENT_SESSION_STATE_WORKING
_BUSY = (AgentSessionState.AGENT_SESSION_STATE_STARTING, _WORKING)


class StallTold(Protocol):
    """The session of the stream."""

    @property
    def state(self) -> AgentSessionState.ValueType:
        """How its work stands."""
        ...

    def notice(self, text: str) -> None:
        """Tell a line of information."""
        ...

    def request_stop(self, stopped_by: str, *, for_good: bool = False) -> None:
        """Note that the work was asked to stop."""
        ...

    def abort(self, reason: str = "", *, stopped_by: str = "", code: str = "") -> None:
        """Tell that the work was stopped."""
        ...


class Stall:
    """How long one stream has said nothing.

    Args:
        session: The stream's.
        stall: Seconds of silence at work after which the stream is stopped; None and 0: never.

    Attributes:
        over: It was stopped.
    """

    def __init__(self, session: StallTold, stall: float | None) -> None:
        self._session = session
        self._stall = stall or None
        self._quiet = _QUIET_S if self._stall is None else min(_QUIET_S, self._stall / 2)
        self.over = self._told_quiet = False
        self._scope = anyio.CancelScope()
        self._since = anyio.current_time()

    @contextmanager
    def watched(self) -> Generator[None]:
        """Stop what is done within when it stalls.

        Raises:
            TimeoutError: It was stopped.
        """
        self.heard()
        with self._scope:
            yield
        if self._scope.cancel_called:
            self.tell()
            raise TimeoutError(self._text())

    def heard(self) -> None:
        """Note that the stream said something, after the session was told of it."""
        self._since, self._told_quiet = anyio.current_time(), False
        if self._stall is not None and not self.over:
            busy = self._session.state in _BUSY
            # Where nobody looks in time, the scope stops it by itself.
            self._scope.deadline = self._since + self._stall if busy else float("inf")

    def look(self) -> float:
        """Tell what is silent now; return in how many seconds to look again."""
        state, silent = self._session.state, anyio.current_time() - self._since
        if self._stall is not None and state in _BUSY and silent >= self._stall:
            self.tell()
            self._scope.cancel()
        if state == _WORKING and silent >= self._quiet and not self._told_quiet:
            self._told_quiet = True
            self._session.notice(f"No output for {self._quiet:g} s")
        due = [self._quiet] if not self._told_quiet else []
        due += [] if self._stall is None or self.over else [self._stall]
        return max(0.001, min(due, default=self._quiet) - silent)

    def tell(self) -> None:
        """Tell, once, that the stream was stopped; before it learns of that."""
        if self.over:
            return
        self.over = True
        self._session.request_stop("watchdog")
        self._session.abort(self._text(), stopped_by="watchdog", code="adapter.stalled")

    def _text(self) -> str:
        return f"Stalled: no output for {self._stall:g} s"
