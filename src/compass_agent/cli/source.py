"""What a command reads a session from: a log, or a file that an export wrote."""

from __future__ import annotations

__all__ = ("SESSION_OR_FILE_HELP", "is_saved", "open_source", "session_in")

import contextlib
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from compass_agent.cli.exits import EXIT_NO_INPUT, CommandError
from compass_agent.cli.naming import SESSION_HELP, find_session
from compass_agent.cli.options import open_reading

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from compass_agent.log.read import ReadLog, SessionSummary
    from compass_agent.services.hub_links import HubAway, HubBack
    from compass_agent.services.saved import SavedLog

SESSION_OR_FILE_HELP = (
    f"{SESSION_HELP}; or a file that an export wrote (NAME.jsonl), or - for stdin"
)

_PIECE = 1 << 16


def is_saved(name: str) -> bool:
    """Tell whether `name` is a file to read, not a session of a log: no session's id has a dot."""
    if name == "-" or name.endswith(".jsonl"):
        return True
    return ("." in name or "/" in name) and Path(name).is_file()


@contextlib.asynccontextmanager
async def open_source(
    name: str,
    url: str | None,
    *,
    patience_s: float | None = None,
    stream: bool = False,
    tell: Callable[[HubAway | HubBack], None] | None = None,
) -> AsyncGenerator[ReadLog]:
    """Open the log in which the session `name` is to be looked for, and close it at the end.

    Args:
        name: What the user calls the session, or a file.
        url: Where the log is; None: the default.
        patience_s: As for `open_reading`.
        stream: Read no more of stdin than is needed to know the session; the rest as it comes.
        tell: As for `open_reading`.

    Raises:
        OperationError: As `open_reading` does; `unsupported_input`: a file is no export.
        CommandError: A file cannot be read.
    """
    if is_saved(name):
        async with _open_saved(name, whole=name != "-" or not stream) as saved:
            yield saved
    else:
        async with open_reading(url, patience_s=patience_s, tell=tell) as log:
            yield log


async def session_in(log: ReadLog, name: str, wait_s: float = 0.0) -> SessionSummary:
    """Return the session that `name` means in the log that `open_source` opened for it.

    Raises:
        OperationError: As `find_session` does.
        CommandError: Several sessions fit.
    """
    if is_saved(name):
        return (await log.sessions())[0]
    return await find_session(log, name, wait_s)


@contextlib.asynccontextmanager
async def _open_saved(name: str, *, whole: bool) -> AsyncGenerator[SavedLog]:
    from compass_agent.errors.groups import leaves  # noqa: PLC0415 - dear to import
    from compass_agent.services.saved import SavedLineError, SavedLog  # noqa: PLC0415 - dear

    saved = SavedLog(_stdin() if name == "-" else _file(name))
    try:
        await saved.load(whole=whole)
        if not saved.session:
            raise CommandError(f"{name}: there is nothing in it", EXIT_NO_INPUT)
        yield saved
    except (SavedLineError, BaseExceptionGroup) as error:
        # Who reads on may do so in a task.
        found = next((one for one in leaves(error) if isinstance(one, SavedLineError)), None)
        if found is None:
            raise
        raise CommandError(f"{name}: line {found.line} is not of one export") from error
    finally:
        await saved.aclose()


async def _file(name: str) -> AsyncGenerator[bytes]:
    import anyio  # noqa: PLC0415 - dear to import

    try:
        async with await anyio.open_file(name, "rb") as file:
            while piece := await file.read(_PIECE):
                yield piece
    except OSError as error:
        reason = error.strerror or "it cannot be read"
        raise CommandError(f"{name}: {reason}", EXIT_NO_INPUT) from error


async def _stdin() -> AsyncGenerator[bytes]:
    import anyio  # noqa: PLC0415 - dear to import

    descriptor, pollable = sys.stdin.fileno(), True
    while True:
        if pollable:
            try:
                await anyio.wait_readable(descriptor)
            except (OSError, ValueError):  # a regular file: always readable, and not to be polled
                pollable = False
        piece = os.read(descriptor, _PIECE)
        if not piece:
            return
        yield piece
