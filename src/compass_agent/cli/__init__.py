"""The command `compass`.

A command is a module with `NAME`, `HELP`, `add_arguments(parser)` and `run(options) -> int`. It is
imported only when it is chosen, and imports what is dear only when it runs, so that `--help` and
bad usage answer at once.
"""

from __future__ import annotations

__all__ = ("COMMANDS", "main")

import argparse
import contextlib
import gc
import importlib
import itertools
import os
import sys
from typing import TYPE_CHECKING

from compass_agent import __version__
from compass_agent.cli.exits import EXIT_USAGE, CommandError, guarded
from compass_agent.cli.options import prepare_streams
from compass_agent.cli.talk import talking_json, talks_json

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence
    from typing import NoReturn

COMMANDS = {
    "run": "run an agent's command and record its session",
    "replay": "record a session from an agent's saved output, or from an export",
    "tail": "show what a session does, and what went wrong",
    "show": "tell how one session stands, and what went wrong",
    "wait": "wait until a session ended, failed, or is not at work",
    "export": "print a session whole, as JSON Lines or Markdown",
    "sessions": "list the sessions, failed ones first",
    "serve": "run a hub: take sessions from agents over a socket, give them to readers",
    "engine": "make, check and trim the stream of a log on NATS",
    "mcp": "let other agents read sessions, over MCP on standard input and output",
    "completion": "print the completion of a shell",
}
"""Name and help of each command; the module of the same name here does the work."""

_ALLOCATIONS = 50_000
"""Objects that may be made before the first look for garbage; Python's own number is 700."""
_COLUMNS = 80


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line `argv` (None: that of the process); return the exit status."""
    arguments = sys.argv[1:] if argv is None else list(argv)
    prepare_streams()
    ours = arguments[: arguments.index("--")] if "--" in arguments else arguments
    as_json = _wants_json(ours)
    with _rare_collections(), talking_json() if as_json else contextlib.nullcontext():
        return guarded(lambda: _dispatch(arguments), as_json=as_json)


@contextlib.contextmanager
def _rare_collections() -> Generator[None]:
    """Look for garbage rarely: there is next to none at a start, and a tenth of it went there."""
    before = gc.get_threshold()
    gc.set_threshold(_ALLOCATIONS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


class _Parser(argparse.ArgumentParser):
    """One that tells bad usage as JSON, too, where that is what is read."""

    def error(self, message: str) -> NoReturn:
        if talks_json():
            raise CommandError(message, EXIT_USAGE)
        super().error(message)


class _HelpFormatter(argparse.HelpFormatter):
    """As that of argparse, which asks `shutil` for the width: that is dear to import."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=_columns() - 2)


def _columns() -> int:
    """Return the width to lay help out for, by the rules of `shutil.get_terminal_size`."""
    with contextlib.suppress(ValueError):
        columns = int(os.environ.get("COLUMNS", ""))
        if columns > 0:
            return columns
    with contextlib.suppress(AttributeError, ValueError, OSError):
        stdout = sys.__stdout__
        if stdout is not None:
            return os.get_terminal_size(stdout.fileno()).columns or _COLUMNS
    return _COLUMNS


def _wants_json(arguments: list[str]) -> bool:
    """Tell whether failures are to be told as JSON, too; the command line may be a wrong one."""
    pairs = itertools.pairwise(arguments)
    asked = any(one in {"-o", "--output"} and other == "json" for one, other in pairs)
    return asked or not {"--json", "-ojson", "--output=json"}.isdisjoint(arguments)


def _dispatch(arguments: list[str]) -> int:
    chosen = next((word for word in arguments if not word.startswith("-")), None)
    parser = _Parser(
        prog="compass",
        description="Shows what agent sessions do, and what went wrong when a turn fails.",
        allow_abbrev=False,
        formatter_class=_HelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"compass {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    # Once a command is named first, nothing can ask for the others any more.
    known = chosen is not None and arguments[0] == chosen and chosen in COMMANDS
    for name, text in COMMANDS.items():
        if known and name != chosen:
            continue
        command = commands.add_parser(
            name,
            help=text,
            description=text,
            allow_abbrev=False,
            formatter_class=_HelpFormatter,
        )
        if name == chosen:
            module = importlib.import_module(f"compass_agent.cli.{name}")
            module.add_arguments(command)
            command.set_defaults(run=module.run)
    try:
        options = parser.parse_args(arguments)
    except SystemExit as stop:  # argparse has said why
        return stop.code if isinstance(stop.code, int) else EXIT_USAGE
    if "run" not in options:
        parser.print_help(sys.stderr)
        return EXIT_USAGE
    return int(options.run(options))
