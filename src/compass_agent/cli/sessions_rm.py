"""`compass sessions rm SESSION…`: removes sessions for good, all that are named or none."""

from __future__ import annotations

__all__ = ("HELP", "NAME", "add_arguments", "run")

import argparse
import sys
from typing import TYPE_CHECKING

from compass_agent.cli.exits import EXIT_OK, EXIT_USAGE, CommandError, NamedFailureError
from compass_agent.cli.naming import SESSION_HELP, refuse_ambiguous
from compass_agent.cli.options import add_log_option, log_exists, open_keeping
from compass_agent.cli.talk import say
from compass_agent.errors.codes import ErrorCode, OperationError
from compass_agent.view.neutralise import one_line

if TYPE_CHECKING:
    from compass_agent.log.read import ReadLog, SessionSummary

NAME = "rm"
HELP = "remove sessions for good"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command to `parser`."""
    parser.add_argument("session", metavar="SESSION", nargs="+", help=SESSION_HELP)
    add_log_option(parser, default=argparse.SUPPRESS)
    parser.add_argument("--yes", action="store_true", help="do not ask")
    parser.add_argument(
        "--force",
        action="store_true",
        help="remove sessions that are at work, too; what such a one does next is kept anew",
    )


def run(options: argparse.Namespace) -> int:
    """Remove the sessions; return the exit status.

    Raises:
        OperationError: As reading and writing the log does.
        NamedFailureError: `not_found`: one of them is not there. `not_ready`: one is at work.
        CommandError: A name fits several sessions, or nobody can be asked.
    """
    import anyio  # noqa: PLC0415 - dear to import

    if not log_exists(options.log):
        raise NamedFailureError("there are no sessions in this log yet", "not_found")
    return anyio.run(_remove, options)


async def _remove(options: argparse.Namespace) -> int:
    from compass_agent.log import log_url  # noqa: PLC0415 - dear to import
    from compass_agent.runtime.journals import removed_with  # noqa: PLC0415 - likewise

    async with open_keeping(options.log) as log:
        found = {one.session: one for one in [await _named(log, it) for it in options.session]}
        at_work = {one.session for one in found.values() if _is_at_work(one)}
        if at_work and not options.force:
            names, alone = ", ".join(sorted(at_work)), len(at_work) == 1
            line = f"{names} {'is' if alone else 'are'} at work; --force removes "
            raise NamedFailureError(f"{line}{'it' if alone else 'them'} all the same", "not_ready")
        if not options.yes and not _agrees(list(found.values())):
            say("nothing was removed")
            return EXIT_OK
        url = log_url(options.log)
        for one in found.values():
            with removed_with(url, one.session) as left:
                await log.delete(one.session)
            say(f"removed {one.session} ({one.frames} frames)")
            if left:
                say(f"removed what a writer of {one.session} that is gone could not deliver")
            if one.session in at_work:
                say(f"what {one.session} does next is kept under the same name, behind a gap")
    return EXIT_OK


async def _named(log: ReadLog, text: str) -> SessionSummary:
    from compass_agent.services.sessions import resolve_session  # noqa: PLC0415 - dear to import

    try:
        return await resolve_session(log, text)
    except OperationError as error:
        if error.code is ErrorCode.NOT_FOUND:
            await refuse_ambiguous(log, text)
            line = f"there is no session {one_line(text)}; nothing was removed"
            raise NamedFailureError(line, "not_found") from error
        raise


def _is_at_work(summary: SessionSummary) -> bool:
    from compass_agent.view.words import DISCONNECTED  # noqa: PLC0415 - dear to import

    return not summary.ended and summary.state != DISCONNECTED


def _agrees(found: list[SessionSummary]) -> bool:
    """Ask the person at the terminal.

    Raises:
        CommandError: Nobody is there.
    """
    if not sys.stdin.isatty():
        raise CommandError("nobody can be asked here; --yes removes without asking", EXIT_USAGE)
    names = ", ".join(one.session for one in found)
    sys.stderr.write(f"compass: remove {names} for good? [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")
