"""`compass run -- CMD…`: runs an agent's command and tells its session what it does."""

from __future__ import annotations

__all__ = ("HELP", "NAME", "add_arguments", "run")

import argparse
import os
import signal
import sys
from contextlib import nullcontext
from typing import TYPE_CHECKING, NamedTuple

import anyio

from compass_agent.adapters import FORMATS, adapter_for
from compass_agent.cli.child import Child, StartError
from compass_agent.cli.exits import EXIT_TIMEOUT, session_exit
from compass_agent.cli.metrics import add_metrics_option, giving_metrics
from compass_agent.cli.options import add_log_option
from compass_agent.cli.pane import require_pane, showing_pane
from compass_agent.cli.pass_on import PassOn
from compass_agent.cli.silence import Silence, add_silence_options, linger_of
from compass_agent.cli.talk import say
from compass_agent.cli.told import (
    add_session_options,
    secrets_of,
    session_id_of,
    tell_outcome,
    tell_session,
    unusable_log,
)
from compass_agent.runtime import Session, open_session
from compass_agent.runtime.off import is_off

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable

    from compass_agent.adapters import AgentAdapter
    from compass_agent.events import InnerEvent

NAME = "run"
HELP = "run an agent's command and record its session"

_SIGNAL_BASE = 128
_STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

# A command that floods waits for its mapping, never for a reader: what waits then is bounded.
_TRACE_CAPACITY = 65_536
_TRACE_BYTES = 64 * 1024 * 1024


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    add_log_option(parser)
    add_session_options(parser)
    add_metrics_option(parser)
    add_silence_options(parser)
    parser.add_argument("--tee", action="store_true", help="print the command's output on, too")
    parser.add_argument(
        "--pane",
        action="store_true",
        help="serve a page that shows the session while the command runs, on this machine alone",
    )
    parser.add_argument(
        "--format",
        choices=FORMATS,
        default="auto",
        help="of the command's output (auto: look at it; text: every line is a notice)",
    )
    parser.add_argument(
        "command", nargs=argparse.REMAINDER, metavar="-- CMD", help="the command and its arguments"
    )
    parser.set_defaults(usage_error=parser.error)


def run(options: argparse.Namespace) -> int:
    """Run the command; return the exit status.

    Raises:
        CommandError: What `--metrics` needs is not installed, or another option names nothing.
    """
    command: list[str] = options.command
    if command[:1] == ["--"]:
        del command[0]
    if not command:
        options.usage_error("name the command to run: compass run -- CMD ARGS…")
    if is_off():  # what the user asked of Compass may need what is not there
        options.metrics = options.pane = False
    with giving_metrics(options):
        return anyio.run(_run, options, backend="asyncio")


async def _run(options: argparse.Namespace) -> int:
    command: list[str] = options.command
    secrets = secrets_of(options)
    if options.pane:
        require_pane()
    if not is_off() and await unusable_log(options) is not None:
        say("the command runs all the same; its session may not be recorded")
    session = open_session(
        session_id_of(options, "run"),
        log=options.log,
        title=options.title or " ".join(command)[:200],
        agent=os.path.basename(command[0]),  # noqa: PTH119 - a name, not a path of ours
        secrets=secrets,
        trace_capacity=_TRACE_CAPACITY,
        trace_bytes=_TRACE_BYTES,
    )
    tell_session(options, session)
    # Signals are taken until the session is closed: Ctrl-C must not cut off its end.
    pane = showing_pane(options.log, session.session_id) if options.pane else nullcontext()
    with anyio.open_signal_receiver(*_STOP_SIGNALS) as signals:
        async with pane, session:
            adapter = adapter_for(options.format, secrets)
            limits = _Limits(options.stall or None, linger_of(options, command))
            # What is not recorded is to be seen.
            shown = options.tee or not session.enabled
            runner = _Runner(session, adapter, limits, tee=shown)
            status = await runner.run(command, signals)
    tell_outcome(options, session)
    return status


class _Limits(NamedTuple):
    stall: float | None
    linger: float | None


class _Runner:
    """Joins the command, the adapter and the session."""

    def __init__(
        self, session: Session, adapter: AgentAdapter, limits: _Limits, *, tee: bool
    ) -> None:
        self._session = session
        self._adapter = adapter
        self._limits = limits
        self._silence: Silence | None = None
        self._tee = PassOn(sys.stdout.fileno()) if tee else None
        self._stopped_by: signal.Signals | None = None

    async def run(self, command: list[str], signals: AsyncIterator[signal.Signals]) -> int:
        """Run the command to its end; return the exit status."""
        try:
            child = await Child.start(command)
        except StartError as error:
            if not self._session.enabled:
                say(str(error))
            self._feed(self._adapter.end(start_failure=str(error)))
            return error.exit_status
        self._silence = silence = Silence(self._session, child.stop, **self._limits._asdict())
        child.on_stderr = silence.heard
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._stop_on_signals, signals, child)
            tasks.start_soon(silence.watch)
            try:
                await child.run(self._on_output)
            finally:
                child.kill()
            tasks.cancel_scope.cancel()
        code = await child.wait()
        # How a command ended that was stopped after its work says nothing of that work.
        lingered = silence.lingered and self._stopped_by is None
        ended, last_words = (None, "") if lingered else (code, child.stderr_tail)
        self._feed(self._adapter.end(exit_code=ended, stderr_tail=last_words))
        return self._exit_status(ended, stalled=silence.stalled)

    async def _stop_on_signals(self, signals: AsyncIterator[signal.Signals], child: Child) -> None:
        async for number in signals:
            if self._stopped_by is None:
                self._stopped_by = number
                who = "user" if number is signal.SIGINT else f"signal {number.name}"
                if self._silence is None or not self._silence.stalled:
                    self._session.request_stop(who, for_good=True)
            if self._silence is not None:
                self._silence.off()
            child.stop()

    async def _on_output(self, data: bytes) -> None:
        if self._silence is None or not self._silence.lingered:
            self._feed(self._adapter.feed(data))
        if self._silence is not None:
            self._silence.heard()
        if self._tee is not None:
            await self._tee.send(data)

    def _feed(self, events: Iterable[InnerEvent]) -> None:
        for event in events:
            self._session.feed(event)

    def _exit_status(self, code: int | None, *, stalled: bool) -> int:
        if self._stopped_by is not None:
            return _SIGNAL_BASE + self._stopped_by
        if stalled:
            return EXIT_TIMEOUT
        if code is not None and code < 0:
            return _SIGNAL_BASE - code
        return code or session_exit(self._session.state, self._session.last_error)
