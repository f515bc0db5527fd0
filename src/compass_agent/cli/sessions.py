"""`compass sessions`: every session on a line, failed ones first, with what went wrong.

`compass sessions rm` and `compass sessions prune` remove some.
"""

from __future__ import annotations

__all__ = ("HELP", "NAME", "add_arguments", "run")

import argparse
import json
import sys
import time
from typing import TYPE_CHECKING

from compass_agent.cli import sessions_prune, sessions_rm
from compass_agent.cli.exits import EXIT_OK
from compass_agent.cli.options import (
    add_log_option,
    add_look_options,
    log_exists,
    open_reading,
    style_of,
)
from compass_agent.cli.talk import say, terminal_width

if TYPE_CHECKING:
    from compass_agent.services.sessions import SessionRow

NAME = "sessions"
HELP = "list the sessions, failed ones first"

_LIMIT = 50


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command to `parser`."""
    add_log_option(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object a line")
    parser.add_argument(
        "--limit",
        metavar="N",
        type=_count,
        help=f"show at most this many, 0 for all (default: {_LIMIT}, with --json all)",
    )
    add_look_options(parser)
    commands = parser.add_subparsers(title="what else can be done", metavar="COMMAND")
    for module in (sessions_rm, sessions_prune):
        command = commands.add_parser(
            module.NAME, help=module.HELP, description=module.HELP, allow_abbrev=False
        )
        module.add_arguments(command)
        command.set_defaults(run=module.run)


def run(options: argparse.Namespace) -> int:
    """List the sessions; return the exit status.

    Raises:
        OperationError: As reading the log does.
    """
    import anyio  # noqa: PLC0415 - dear to import

    rows = anyio.run(_rows, options.log) if log_exists(options.log) else []
    limit = (0 if options.json else _LIMIT) if options.limit is None else options.limit
    shown = rows[:limit] if limit else rows
    if options.json:
        _print_json(shown)
    elif shown:
        _print_table(shown, options)
    if not rows:
        say("there are no sessions in this log yet")
    elif len(shown) < len(rows):
        say(f"{len(rows) - len(shown)} more; --limit 0 shows all")
    return EXIT_OK


async def _rows(url: str | None) -> list[SessionRow]:
    from compass_agent.services.sessions import list_sessions  # noqa: PLC0415 - dear to import

    async with open_reading(url) as log:
        return await list_sessions(log)


def _print_json(rows: list[SessionRow]) -> None:
    from compass_agent.services.as_json import row_to_dict  # noqa: PLC0415 - dear to import

    for row in rows:
        sys.stdout.write(json.dumps(row_to_dict(row)) + "\n")


def _print_table(rows: list[SessionRow], options: argparse.Namespace) -> None:
    from compass_agent.cli.table import sessions_table  # noqa: PLC0415 - dear to import

    now_ms = time.time_ns() // 1_000_000
    table = sessions_table(rows, style_of(options), now_ms=now_ms, width=terminal_width())
    sys.stdout.write(table)


def _count(text: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise argparse.ArgumentTypeError("a whole number, 0 or more")
    return int(text)
