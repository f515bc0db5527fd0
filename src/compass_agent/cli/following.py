"""Follows a session for `compass tail`: reads, prints, and knows when to stop."""

from __future__ import annotations

__all__ = ("tail_session",)

import sys
from contextlib import AsyncExitStack, aclosing
from typing import TYPE_CHECKING

import anyio

from compass_agent.cli.begin import Begin, Gate, last_entries, since
from compass_agent.cli.closed import until_closed
from compass_agent.cli.countdown import Countdown
from compass_agent.cli.exits import EXIT_TIMEOUT
from compass_agent.cli.hub_talk import HubTalk
from compass_agent.cli.naming import WAIT_S
from compass_agent.cli.printers import Form, Printer, Stdout, printer_of
from compass_agent.cli.source import is_saved, open_source, session_in
from compass_agent.cli.talk import before_talk, same_place, say
from compass_agent.cli.until import Goal, Until
from compass_agent.cli.verdict import Verdict
from compass_agent.errors.codes import OperationError
from compass_agent.services.sessions import resolve_session, tail
from compass_agent.view.choice import Choice
from compass_agent.view.neutralise import one_line
from compass_agent.view.outcome import Outcome, tells_nothing
from compass_agent.view.words import state_word
from compass_agent.wire import CaughtUp, FrameItem, decode_frame

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from compass_agent.cli.printers import Out
    from compass_agent.frames import Cursor
    from compass_agent.log.read import ReadLog, SessionSummary
    from compass_agent.wire import Item, Page

_TRY_AGAIN = (
    "compass: the provider lets try again in {}",
    "the provider lets try again in {}",
    "try again in {}",
)
_USUAL = -1
_USUAL_ENTRIES = 50
# Small enough for the first line to come at once, large enough for many a second.
_PAGE_FRAMES = 512


async def tail_session(options: argparse.Namespace) -> int:
    """Tail the session that the command line names; return the exit status.

    Raises:
        OperationError: As reading the log does.
        CommandError: Several sessions fit, or a file cannot be read.
    """
    saved = is_saved(options.session)
    patience_s = 0.0 if options.no_reconnect else None
    status = EXIT_TIMEOUT
    hub_talk = Countdown.on_stderr()
    with anyio.move_on_after(options.timeout):
        async with AsyncExitStack() as stack:
            log = await stack.enter_async_context(
                open_source(
                    options.session,
                    options.log,
                    patience_s=patience_s,
                    stream=True,
                    tell=HubTalk(hub_talk),
                )
            )
            wait_s = 0.0 if options.no_follow or saved else WAIT_S
            found = await _find(log, options, wait_s)
            follow = not (options.no_follow or saved)
            status = await _Tail(options, log, found, hub_talk, follow=follow).run()
    return status


async def _find(log: ReadLog, options: argparse.Namespace, wait_s: float) -> SessionSummary:
    name: str = options.session
    found = await session_in(log, name, wait_s if options.wait is None else options.wait)
    if found.session != name and not is_saved(name):
        say(f"following {one_line(found.session)}")
    return found


class _Tail:
    """One reading of one session."""

    def __init__(
        self,
        options: argparse.Namespace,
        log: ReadLog,
        found: SessionSummary,
        hub_talk: Countdown,
        *,
        follow: bool,
    ) -> None:
        self._options = options
        self._log = log
        self._found = found
        self._follow = follow
        self._choice = Choice(options.kind, options.not_kind, options.problems, options.grep)
        self._outcome = Outcome()
        self._verdict = Verdict(options.fail_on)
        self._until = Until(Goal(options.until or Goal.ENDED))
        self._countdown = Countdown.on_stderr()
        self._hub_talk = hub_talk
        self._cursor: Cursor | None = None
        self._live = False
        self._left = False

    async def run(self) -> int:
        """Read to the end, or to the goal; return the exit status."""
        begin = await self._begin()
        out = self._out()
        try:
            printer = printer_of(self._options, out, self._found, self._choice)
            with before_talk(lambda: self._make_room(printer)):
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(until_closed)
                    tasks.start_soon(self._countdown.run)
                    tasks.start_soon(self._hub_talk.run)
                    await self._read(printer, begin)
                    tasks.cancel_scope.cancel()
        finally:
            self._countdown.stop()
            self._hub_talk.stop()
            out.close()
        return await self._status(whole=begin.after is None)

    def _make_room(self, printer: Printer) -> None:
        """End what stands on the terminal's last line: something is said below it."""
        self._countdown.hide()
        self._hub_talk.stop()
        if same_place(sys.stdout, sys.stderr):
            printer.pause()

    async def _begin(self) -> Begin:
        options, log, session = self._options, self._log, self._found.session
        if options.after is not None:
            return Begin(options.after)
        usual = options.last == _USUAL
        count: int | None = options.last
        if usual:
            count = _USUAL_ENTRIES if self._follow and options.output == Form.TEXT else None
        begin = Begin() if options.since is None else await since(log, session, options.since)
        if count is not None and (options.since is None or not usual):
            last = await last_entries(log, session, count, self._choice, briefly=usual)
            if last.cut and usual:
                self._tell_cut(last, count)
            begin = Begin(last.after, last.first, begin.since_ms, last.cut)
        return begin

    def _tell_cut(self, last: Begin, count: int) -> None:
        if last.found is None or last.found > count or self._choice.takes_all:
            say(f"what is older than the last {count} entries is not shown; -n all shows it")
            return
        state = state_word(self._found.state)
        fit = {0: "none fits", 1: "one fits"}.get(last.found, f"{last.found} fit")
        say(
            f"{self._found.session} is {state}; of its last {last.looked} frames {fit}."
            f" Older ones were not looked through: -n {count} looks further, -n all at all"
        )

    def _out(self) -> Out:
        options = self._options
        paged = not (self._follow or options.no_pager) and sys.stdout.isatty()
        if not paged:
            return Stdout()
        from compass_agent.cli.pager import Pager, pager_command  # noqa: PLC0415 - dear to import

        command = pager_command()
        return Stdout() if command is None else Pager(command)

    async def _read(self, printer: Printer, begin: Begin) -> None:
        gate = Gate(begin)
        try:
            pages = tail(
                self._log,
                self._found.session,
                begin.after,
                follow=self._follow,
                page_frames=_PAGE_FRAMES,
            )
            async with aclosing(pages):
                async for page in pages:
                    if self._take(page, gate, printer):
                        break
                else:
                    self._show(gate.rest(), printer)
        except OperationError:
            self._countdown.stop()
            if self._cursor is not None:
                say(f"the tail stopped; --after {one_line(str(self._cursor))} goes on where it did")
            raise
        except BrokenPipeError:
            if sys.stdout.isatty():  # a pager that was left: that is no failure
                self._left = True
                return
            raise
        finally:
            if not self._left:
                self._finish(printer)

    def _finish(self, printer: Printer) -> None:
        self._countdown.stop()
        try:
            printer.finish()
        except BrokenPipeError:
            if not sys.stdout.isatty():
                raise
            self._left = True

    def _take(self, page: Page, gate: Gate, printer: Printer) -> bool:
        """Print a page; return whether the goal is met."""
        items, met = self._up_to_goal(page.items)
        self._countdown.hide()
        self._hub_talk.stop()
        passed, shown = gate.split(items)
        if passed:
            printer.pass_by(passed)
        self._show(shown, printer)
        self._cursor = page.cursor or self._cursor
        self._count_down(items, printer)
        return met

    def _show(self, items: Sequence[Item], printer: Printer) -> None:
        if items:
            self._verdict.push(items)
            printer.show(items)

    def _up_to_goal(self, items: Sequence[Item]) -> tuple[Sequence[Item], bool]:
        at_end_alone = self._until.is_end_alone
        for number, item in enumerate(items, 1):
            if at_end_alone and isinstance(item, FrameItem) and tells_nothing(item.data):
                continue  # nearly all frames are such
            self._outcome.push(item)
            if isinstance(item, CaughtUp):
                self._live = True
                if self._outcome.state is None:
                    self._outcome.state = self._found.state
            if self._until.met(item, self._outcome.state):
                return items[:number], True
        return items, False

    def _count_down(self, items: Sequence[Item], printer: Printer) -> None:
        """Count down to the time from which the provider lets one try again, if that is known.

        Until then the session may tell more, and stands as it does: its work is not taken up again.
        """
        error = self._outcome.error
        if error is None or self._outcome.ended or not error.HasField("retry_after_ms"):
            self._countdown.stop()
            return
        at_ms = 0
        for item in items:
            if isinstance(item, FrameItem) and not item.late:
                event = decode_frame(item.data).typed_event
                if event.HasField("session_error"):
                    at_ms = event.at_unix_ms
        if at_ms:
            self._countdown.begin(at_ms + error.retry_after_ms, *_TRY_AGAIN)
        if printer.line_open:
            self._countdown.hide()
        else:
            self._countdown.show()

    async def _status(self, *, whole: bool) -> int:
        state, error = self._outcome.state, self._outcome.error
        if state is None or self._left or (error is None and not whole):
            # What was read began after the frames that tell, or was not read to its end.
            summary = await resolve_session(self._log, self._found.session)
            state = summary.state if state is None or self._left else state
            error = summary.last_error
        return self._verdict.exit_status(state, error)
