"""`compass tail SESSION`: what there is of a session, then what comes, until it ends.

Data goes to stdout, talk to stderr. The exit status tells how the session was left.
"""

from __future__ import annotations

__all__ = ("HELP", "NAME", "add_arguments", "run")

import argparse
import sys
import time
from contextlib import aclosing
from typing import TYPE_CHECKING, Protocol

from compass_agent.cli.exits import session_exit
from compass_agent.cli.naming import SESSION_HELP, refuse_ambiguous
from compass_agent.cli.options import (
    add_log_option,
    add_look_options,
    open_reading,
    say,
    style_of,
    terminal_width,
)
from compass_agent.errors.codes import ErrorCode, OperationError

if TYPE_CHECKING:
    from compass_agent.frames import Cursor
    from compass_agent.log.read import ReadLog, SessionSummary
    from compass_agent.wire import Page

NAME = "tail"
HELP = "show what a session does, and what went wrong"

_WAIT_S = 10.0
_POLL_S = 0.1
_LONGEST_WAIT_S = 86_400.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command to `parser`."""
    parser.add_argument("session", metavar="SESSION", help=SESSION_HELP)
    add_log_option(parser)
    parser.add_argument("--no-follow", action="store_true", help="stop at the end of what is there")
    parser.add_argument(
        "--after", metavar="CURSOR", type=_cursor, help="show only what comes after this place"
    )
    parser.add_argument(
        "--json", action="store_true", help="print one JSON object a line, complete"
    )
    parser.add_argument(
        "--thinking",
        choices=("none", "short", "full"),
        default="short",
        help="how much of the agent's reasoning to show (default: short)",
    )
    parser.add_argument(
        "--wait",
        metavar="SECONDS",
        type=_seconds,
        help=f"how long to wait for a session that does not exist yet (default: {_WAIT_S:.0f},"
        " with --no-follow 0)",
    )
    add_look_options(parser)


def run(options: argparse.Namespace) -> int:
    """Tail the session; return the exit status.

    Raises:
        OperationError: As reading the log does.
    """
    import anyio  # noqa: PLC0415 - dear to import

    return anyio.run(_tail, options)


async def _tail(options: argparse.Namespace) -> int:
    from compass_agent.services.sessions import (  # noqa: PLC0415 - dear to import
        resolve_session,
        tail,
    )
    from compass_agent.view.outcome import Outcome  # noqa: PLC0415 - dear to import

    outcome = Outcome()
    async with open_reading(options.log) as log:
        found = await _find(log, options)
        session = found.session
        printer = _Json(session) if options.json else _Text(options, found.opened_ms)
        cursor: Cursor | None = None
        try:
            pages = tail(log, session, options.after, follow=not options.no_follow)
            async with aclosing(pages):
                async for page in pages:
                    for item in page.items:
                        outcome.push(item)
                    printer.show(page)
                    cursor = page.cursor or cursor
        except OperationError:
            if cursor is not None:
                say(f"the tail stopped; --after {cursor} goes on where it did")
            raise
        finally:
            printer.finish()
        state, error = outcome.state, outcome.error
        if state is None or (error is None and options.after is not None):
            # What was read began after the frames that tell.
            summary = await resolve_session(log, session)
            state = summary.state if state is None else state
            error = summary.last_error
    return session_exit(state, error)


async def _find(log: ReadLog, options: argparse.Namespace) -> SessionSummary:
    """Return the session, waiting a while for one that does not exist yet."""
    import anyio  # noqa: PLC0415 - dear to import

    from compass_agent.services.sessions import LAST, resolve_session  # noqa: PLC0415 - likewise

    wait = (0.0 if options.no_follow else _WAIT_S) if options.wait is None else options.wait
    deadline = anyio.current_time() + wait
    told = False
    while True:
        try:
            found = await resolve_session(log, options.session)
        except OperationError as error:
            await refuse_ambiguous(log, options.session)
            absent = error.code is ErrorCode.NOT_FOUND and options.session != LAST
            if not absent or anyio.current_time() >= deadline:
                raise
        else:
            if found.session != options.session:
                say(f"following {found.session}")
            return found
        if not told:
            told = True
            say(f"there is no session {options.session} yet; waiting up to {wait:g} s for it")
        await anyio.sleep(_POLL_S)


class _Printer(Protocol):
    """Prints pages to stdout."""

    def show(self, page: Page) -> None: ...

    def finish(self) -> None: ...


class _Text(_Printer):
    """Lines for people."""

    def __init__(self, options: argparse.Namespace, opened_ms: int) -> None:
        from compass_agent.view.text import TextRenderer, Thinking  # noqa: PLC0415 - likewise

        self._renderer = TextRenderer(
            style_of(options),
            thinking=Thinking(options.thinking),
            clock=lambda: time.time_ns() // 1_000_000,
            opened_ms=opened_ms,
        )

    def show(self, page: Page) -> None:
        self._renderer.width = terminal_width()
        _write(self._renderer.render(page.items))

    def finish(self) -> None:
        _write(self._renderer.finish())


class _Json(_Printer):
    """One object a line."""

    def __init__(self, session: str) -> None:
        self._session = session

    def show(self, page: Page) -> None:
        from compass_agent.wire import item_to_json  # noqa: PLC0415 - likewise

        _write("".join(item_to_json(self._session, item) + "\n" for item in page.items))

    def finish(self) -> None:
        pass


def _write(text: str) -> None:
    if text:
        sys.stdout.write(text)
        sys.stdout.flush()


def _cursor(text: str) -> Cursor:
    from compass_agent.frames import Cursor, InvalidCursorError  # noqa: PLC0415 - likewise

    try:
        return Cursor.parse(text)
    except InvalidCursorError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _seconds(text: str) -> float:
    try:
        seconds = float(text) if text.isascii() else -1.0
    except ValueError:
        seconds = -1.0
    if not 0.0 <= seconds <= _LONGEST_WAIT_S:
        raise argparse.ArgumentTypeError("a number of seconds, from 0 to 86400")
    return seconds
