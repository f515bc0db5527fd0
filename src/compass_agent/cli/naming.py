"""What a person may call a session on the command line, and how it is found."""

from __future__ import annotations

__all__ = ("SESSION_HELP", "WAIT_S", "find_session", "refuse_ambiguous")

from typing import TYPE_CHECKING

from compass_agent.cli.exits import CommandError
from compass_agent.cli.talk import say

if TYPE_CHECKING:
    from compass_agent.log.read import ReadLog, SessionSummary

SESSION_HELP = "an id, the beginning of one id alone, or @last for the one that was updated last"
WAIT_S = 10.0
"""Seconds to wait for a session that is to be followed and does not exist yet."""

_POLL_S = 0.1


async def refuse_ambiguous(log: ReadLog, text: str) -> None:
    """Raise CommandError when `text` begins the ids of several sessions."""
    fitting = sorted(s.session for s in await log.sessions() if s.session.startswith(text))
    if len(fitting) > 1:
        some = ", ".join(fitting[:3]) + (", …" if len(fitting) > 3 else "")  # noqa: PLR2004 - enough to tell
        raise CommandError(f"{text} begins the ids of {len(fitting)} sessions: {some}", "not_found")


async def find_session(log: ReadLog, name: str, wait_s: float = 0.0) -> SessionSummary:
    """Return the session, waiting up to `wait_s` seconds for one that does not exist yet.

    Raises:
        OperationError: As `resolve_session` does.
        CommandError: Several sessions fit.
    """
    import anyio  # noqa: PLC0415 - dear to import

    from compass_agent.errors.codes import ErrorCode, OperationError  # noqa: PLC0415 - likewise
    from compass_agent.services.sessions import LAST, resolve_session  # noqa: PLC0415 - likewise

    deadline = anyio.current_time() + wait_s
    told = False
    while True:
        try:
            found = await resolve_session(log, name)
        except OperationError as error:
            await refuse_ambiguous(log, name)
            absent = error.code is ErrorCode.NOT_FOUND and name != LAST
            if not absent or anyio.current_time() >= deadline:
                raise
        else:
            return found
        if not told:
            told = True
            say(f"there is no session {name} yet; waiting up to {wait_s:g} s for it")
        await anyio.sleep(_POLL_S)
