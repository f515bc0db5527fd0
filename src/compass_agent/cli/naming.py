"""What a person may call a session on the command line, and what is said when it fits several."""

from __future__ import annotations

__all__ = ("SESSION_HELP", "refuse_ambiguous")

from typing import TYPE_CHECKING

from compass_agent.cli.exits import EXIT_NOT_ONE, CommandError

if TYPE_CHECKING:
    from compass_agent.log.read import ReadLog

SESSION_HELP = "an id, the beginning of one id alone, or @last for the one that was updated last"


async def refuse_ambiguous(log: ReadLog, text: str) -> None:
    """Raise CommandError when `text` begins the ids of several sessions."""
    fitting = sorted(s.session for s in await log.sessions() if s.session.startswith(text))
    if len(fitting) > 1:
        some = ", ".join(fitting[:3]) + (", …" if len(fitting) > 3 else "")  # noqa: PLR2004 - enough to tell
        raise CommandError(
            f"{text} begins the ids of {len(fitting)} sessions: {some}", EXIT_NOT_ONE
        )
