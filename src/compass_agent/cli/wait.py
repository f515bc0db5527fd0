"""`compass wait SESSION`: returns once the session stands as the user waits for."""

from __future__ import annotations

__all__ = ("HELP", "NAME", "add_arguments", "run")

import json
import sys
from contextlib import aclosing
from typing import TYPE_CHECKING

from compass_agent.cli.exits import EXIT_TIMEOUT, session_exit
from compass_agent.cli.naming import SESSION_HELP, WAIT_S
from compass_agent.cli.options import add_log_option, add_look_options, open_reading, style_of
from compass_agent.cli.spans import seconds
from compass_agent.cli.talk import terminal_width
from compass_agent.cli.until import UNTIL_HELP, Goal, Until

if TYPE_CHECKING:
    import argparse

    from compass_agent.log.read import ReadLog, SessionSummary

NAME = "wait"
HELP = "wait until a session ended, failed, or is not at work"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command to `parser`."""
    parser.add_argument("session", metavar="SESSION", help=SESSION_HELP)
    add_log_option(parser)
    parser.add_argument(
        "--until",
        choices=[goal.value for goal in Goal],
        default=Goal.ENDED.value,
        help=f"{UNTIL_HELP} (default: ended)",
    )
    parser.add_argument(
        "--timeout", metavar="TIME", type=seconds, help="stop after this time, with exit status 124"
    )
    parser.add_argument(
        "--wait",
        metavar="TIME",
        type=seconds,
        default=WAIT_S,
        help=f"how long to wait for a session that does not exist yet (default: {WAIT_S:.0f}s)",
    )
    parser.add_argument("--json", action="store_true", help="print how it stands as a JSON object")
    parser.add_argument("-q", "--quiet", action="store_true", help="print nothing")
    add_look_options(parser)


def run(options: argparse.Namespace) -> int:
    """Wait; print in one line how the session was left; return the exit status.

    Raises:
        OperationError: As reading the log does.
    """
    import anyio  # noqa: PLC0415 - dear to import

    return anyio.run(_run, options)


async def _run(options: argparse.Namespace) -> int:
    import anyio  # noqa: PLC0415 - dear to import

    from compass_agent.cli.naming import find_session  # noqa: PLC0415 - dear to import

    with anyio.move_on_after(options.timeout):
        async with open_reading(options.log) as log:
            found = await find_session(log, options.session, options.wait)
            await _until(log, found, Until(Goal(options.until)))
            left = await find_session(log, found.session)
            if not options.quiet:
                _tell(left, options)
            return session_exit(left.state, left.last_error)
    return EXIT_TIMEOUT


async def _until(log: ReadLog, found: SessionSummary, until: Until) -> None:
    from compass_agent.services.sessions import tail  # noqa: PLC0415 - dear to import
    from compass_agent.view.outcome import Outcome  # noqa: PLC0415 - dear to import

    outcome = Outcome(found.state, found.last_error, found.ended)
    pages = tail(log, found.session, found.cursor)
    async with aclosing(pages):
        async for page in pages:
            for item in page.items:
                outcome.push(item)
                if until.met(item, outcome.state):
                    return


def _tell(left: SessionSummary, options: argparse.Namespace) -> None:
    from compass_agent.services.as_json import row_to_dict  # noqa: PLC0415 - dear to import
    from compass_agent.services.sessions import SessionRow  # noqa: PLC0415 - dear to import
    from compass_agent.view.session_card import session_line  # noqa: PLC0415 - dear to import

    if options.json:
        sys.stdout.write(json.dumps(row_to_dict(SessionRow.of(left))) + "\n")
    else:
        style, width = style_of(options), terminal_width()
        sys.stdout.write(
            session_line(left.session, left.state, left.last_error, style, width=width)
        )
