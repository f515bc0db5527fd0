"""`compass export SESSION`: all that is kept of a session, as JSON Lines or as Markdown."""

from __future__ import annotations

__all__ = ("HELP", "NAME", "add_arguments", "run")

import sys
from contextlib import aclosing
from typing import TYPE_CHECKING

from compass_agent.cli.exits import EXIT_OK
from compass_agent.cli.options import add_log_option
from compass_agent.cli.source import SESSION_OR_FILE_HELP, open_source, session_in

if TYPE_CHECKING:
    import argparse

NAME = "export"
HELP = "print a session whole, as JSON Lines or Markdown"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command to `parser`."""
    parser.add_argument("session", metavar="SESSION", help=SESSION_OR_FILE_HELP)
    add_log_option(parser)
    parser.add_argument(
        "-o",
        "--output",
        choices=("jsonl", "md"),
        default="jsonl",
        help="one JSON object a line, which compass tail FILE reads again, or Markdown"
        " (default: jsonl)",
    )


def run(options: argparse.Namespace) -> int:
    """Export the session to stdout; return the exit status: 0 also for one that failed.

    Raises:
        OperationError: As reading the log does.
    """
    import anyio  # noqa: PLC0415 - dear to import

    return anyio.run(_run, options)


async def _run(options: argparse.Namespace) -> int:
    from compass_agent.services.export import (  # noqa: PLC0415 - dear to import
        ExportFormat,
        export_session,
    )

    async with open_source(options.session, options.log) as log:
        name = (await session_in(log, options.session)).session
        pieces = export_session(log, name, ExportFormat(options.output))
        async with aclosing(pieces):
            async for piece in pieces:
                sys.stdout.write(piece)
    return EXIT_OK
