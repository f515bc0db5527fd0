"""Watches a command that says nothing: at work it may be stuck, after its work it should exit."""

from __future__ import annotations

__all__ = ("Silence", "add_silence_options", "linger_of")

import os
from typing import TYPE_CHECKING, Protocol

import anyio

from compass_agent.cli.spans import seconds
from compass_agent.frames import AgentSessionState

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

# How long a command at work may say nothing until readers are told.
_QUIET_S = 60.0
# How long an agent that has told its result may take to exit.
_LINGER_S = 10.0
# These tell one result and exit; in others, runs may start by themselves.
_ONE_RESULT = frozenset({"claude", "claude-code", "codex", "gemini"})
_MORE_INPUT = "--input-format"

_BUSY = (
    AgentSessionState.AGENT_SESSION_STATE_STARTING,
    AgentSessionState.AGENT_SESSION_STATE_WORKING,
)

_DONE = (
    AgentSessionState.AGENT_SESSION_STATE_READY,
    AgentSessionState.AGENT_SESSION_STATE_ERRORED,
)


class _Told(Protocol):
    """The session of the command."""

    @property
    def state(self) -> AgentSessionState.ValueType: ...
    def notice(self, text: str) -> None: ...
    def request_stop(self, stopped_by: str, *, for_good: bool = False) -> None: ...
    def abort(self, reason: str = "", *, stopped_by: str = "", code: str = "") -> None: ...


def add_silence_options(parser: argparse.ArgumentParser) -> None:
    """Declare how long a command may say nothing."""
    parser.add_argument(
        "--stall",
        metavar="TIME",
        type=seconds,
        help="stop the command when it says nothing for so long at its work (0: never)",
    )
    parser.add_argument(
        "--linger",
        metavar="TIME",
        type=seconds,
        help="stop the command when it has not exited, and said nothing, for so long after its work"
        " was done (claude, codex and gemini: 10s; others, and 0: never)",
    )


def linger_of(options: argparse.Namespace, command: list[str]) -> float | None:
    """Return how long a command may take to exit once its work is done; None: for ever."""
    given: float | None = options.linger
    if given is not None:
        return given or None
    name = os.path.basename(command[0])  # noqa: PTH119 - a name, not a path of ours
    takes_more = any(word.startswith(_MORE_INPUT) for word in command)
    one = name in _ONE_RESULT or options.format in _ONE_RESULT
    return _LINGER_S if one and not takes_more else None


class Silence:
    """Tells and ends the silence of one command.

    Args:
        session: The command's.
        stop: Asks the command to stop.
        stall: Seconds of silence at work after which the command is stopped; None: never.
        linger: Seconds of silence after its work was done; None: for ever.
        quiet: Seconds of silence at work after which readers are told, once.

    Attributes:
        stalled: The command was stopped at its work.
        lingered: The command was stopped after its work.
    """

    def __init__(
        self,
        session: _Told,
        stop: Callable[[], None],
        *,
        stall: float | None = None,
        linger: float | None = None,
        quiet: float = _QUIET_S,
    ) -> None:
        self.stalled = False
        self.lingered = False
        self._session = session
        self._stop = stop
        self._stall = stall
        self._linger = linger
        self._quiet: float | None = quiet if stall is None else min(quiet, stall / 2)
        self._since = anyio.current_time()
        self._heard = anyio.Event()

    def heard(self) -> None:
        """Note that the command said something, after the session was told of it."""
        self._since = anyio.current_time()
        self._heard.set()

    def off(self) -> None:
        """End the watch: somebody else stops the command."""
        self._stall = self._linger = self._quiet = None
        self._heard.set()

    async def watch(self) -> None:
        """Watch until the command was stopped; to be cancelled when it has ended."""
        while not (self.stalled or self.lingered):
            self._heard = anyio.Event()
            await self._one_silence()

    async def _one_silence(self) -> None:
        """Tell and end what is silent now; return when something was said."""
        state = self._session.state
        if state not in _BUSY:
            # A session that records nothing does not know how its work stands.
            if await self._lasts(self._linger if state in _DONE else None):
                self._end_lingering()
            return
        works = state == AgentSessionState.AGENT_SESSION_STATE_WORKING
        if works and not await self._lasts(self._quiet):
            return
        if works:
            self._session.notice(f"No output for {self._quiet:g} s")
        if await self._lasts(self._stall):
            self._end_stall()

    async def _lasts(self, limit: float | None) -> bool:
        """Wait until the silence has lasted so long, or until something was said (False)."""
        left = None if limit is None else self._since + limit - anyio.current_time()
        with anyio.move_on_after(left):
            await self._heard.wait()
        return not self._heard.is_set()

    def _end_stall(self) -> None:
        self.stalled = True
        self._session.request_stop("watchdog", for_good=True)
        told = f"Stalled: no output for {self._stall:g} s"
        self._session.abort(told, stopped_by="watchdog", code="adapter.stalled")
        self._stop()

    def _end_lingering(self) -> None:
        self.lingered = True
        wait = f"{self._linger:g} s"
        self._session.notice(f"The command had not exited {wait} after its work: it was stopped")
        self._stop()
