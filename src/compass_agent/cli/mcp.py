"""`compass mcp`: lets other agents read sessions, over the Model Context Protocol on stdio."""

from __future__ import annotations

__all__ = ("HELP", "NAME", "add_arguments", "run")

import importlib.util
import signal
from typing import TYPE_CHECKING

from compass_agent.cli.exits import EXIT_OK
from compass_agent.cli.options import add_log_option, open_reading
from compass_agent.cli.talk import say
from compass_agent.errors.codes import ErrorCode, OperationError

if TYPE_CHECKING:
    import argparse

NAME = "mcp"
HELP = "let other agents read sessions, over MCP on standard input and output"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command to `parser`."""
    add_log_option(parser)


def run(options: argparse.Namespace) -> int:
    """Serve until the client closes standard input; return the exit status.

    Raises:
        OperationError: `unsupported_input`: the extra is not installed. Else as opening the log.
    """
    if importlib.util.find_spec("mcp") is None:
        say("MCP needs more: pip install 'compass-agent[mcp]'")
        raise OperationError(ErrorCode.UNSUPPORTED_INPUT)
    import anyio  # noqa: PLC0415 - dear to import

    # Standard input is read in a thread, which cannot be interrupted; there is nothing to save.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    anyio.run(_serve, options.log, backend="asyncio")
    return EXIT_OK


async def _serve(url: str | None) -> None:
    # A log that cannot be opened is told before the dearest import.
    async with open_reading(url) as log:
        from compass_agent.services.mcp import serve_stdio  # noqa: PLC0415 - dear to import

        await serve_stdio(log)
