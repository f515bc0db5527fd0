"""Stores what `compass export` wrote in a log again, for `compass replay`."""

from __future__ import annotations

__all__ = ("is_export", "replay_export")

from typing import TYPE_CHECKING

from compass_agent.cli.exits import EXIT_NO_INPUT, CommandError, session_exit
from compass_agent.cli.options import open_keeping
from compass_agent.cli.talk import say
from compass_agent.cli.told import tell_off
from compass_agent.errors.codes import OperationError
from compass_agent.runtime.off import is_off
from compass_agent.runtime.restore import restore_session
from compass_agent.services.saved import SavedLineError, SavedLog
from compass_agent.view.outcome import Outcome
from compass_agent.wire import SessionMeta
from compass_agent.wire.received import items_from_json

if TYPE_CHECKING:
    import argparse
    from collections.abc import AsyncGenerator

    from compass_agent.cli.recording import Recording


def is_export(recording: Recording) -> bool:
    """Tell whether the first line is one that `compass export` wrote."""
    line = next((line for line in recording.lines() if line.strip()), b"")
    try:
        session, items = items_from_json(line)
    except OperationError:
        return False
    return bool(session and items)


async def replay_export(recording: Recording, session: str, options: argparse.Namespace) -> int:
    """Store the export as `session`; return the exit status, by how it was left.

    Raises:
        CommandError: It is no export, or the log holds that session already.
        OperationError: As writing to the log does.
    """
    if options.pace or options.secret_env:
        raise CommandError("an export is stored as it is: leave --pace and --secret-env out")
    saved = SavedLog(_pieces(recording.data))
    try:
        await saved.load()
    except SavedLineError as error:
        raise CommandError(f"{recording.name}: line {error.line} is not of one export") from error
    if not saved.items:
        raise CommandError(f"{recording.name}: there is nothing in it", EXIT_NO_INPUT)
    outcome = Outcome()
    for item in saved.items:
        outcome.push(item)
    if is_off():
        tell_off()
        return session_exit(outcome.state or 0, outcome.error)
    async with open_keeping(options.log) as log:
        if any(one.session == session for one in await log.sessions()):
            raise CommandError(
                f"the log has a session {session}; say another --session", "conflict"
            )
        meta = SessionMeta(options.title or recording.name, recording.agent, recording.version)
        await restore_session(log, session, saved.items, meta)
    if not options.quiet:
        say(f"session {session} has what {saved.session} had; to see it: compass tail {session}")
    return session_exit(outcome.state or 0, outcome.error)


async def _pieces(data: bytes) -> AsyncGenerator[bytes]:
    yield data
