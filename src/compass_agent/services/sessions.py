"""What a reader can do with sessions: list them, name one, tail one. Every service builds on these.

Reading a failed session succeeds: its failure is data. An operation that fails raises
`OperationError` alone.
"""

from __future__ import annotations

__all__ = ("LAST", "SessionRow", "find_session", "list_sessions", "resolve_session", "tail")

from dataclasses import dataclass
from typing import TYPE_CHECKING

from compass_agent.errors.codes import ErrorCode, OperationError
from compass_agent.frames import check_session_id
from compass_agent.view.failure import Cause, explain
from compass_agent.view.words import ERRORED
from compass_agent.wire import End

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from compass_agent.frames import Cursor
    from compass_agent.log.read import ReadLog, SessionSummary
    from compass_agent.wire import Page

LAST = "@last"
"""Names the session that was updated last."""


@dataclass(frozen=True, slots=True)
class SessionRow:
    """A session in a list, with what went wrong; `cause` is None when nothing did."""

    summary: SessionSummary
    cause: Cause | None

    @classmethod
    def of(cls, summary: SessionSummary) -> SessionRow:
        """Return the row of `summary`."""
        return cls(summary, explain(summary.last_error) if summary.last_error else None)


async def list_sessions(log: ReadLog) -> list[SessionRow]:
    """Return every session: those in ERRORED first, and within that the last updated first.

    Raises:
        OperationError: As the log's `sessions` does.
    """
    summaries = await log.sessions()
    summaries.sort(key=lambda one: (one.state != ERRORED, -one.updated_ms, one.session))
    return [SessionRow.of(summary) for summary in summaries]


async def find_session(log: ReadLog, session: str) -> SessionSummary:
    """Return where `session`, an id and nothing else, stands.

    Raises:
        OperationError: `not_found`, `unsupported_input` (no session can be named so), or as the
            log's `sessions` does.
    """
    check_session_id(session)
    for summary in await log.sessions():
        if summary.session == session:
            return summary
    raise OperationError(ErrorCode.NOT_FOUND)


async def resolve_session(log: ReadLog, text: str) -> SessionSummary:
    """Return the session that `text` names: an id, the beginning of one id alone, or `@last`.

    Raises:
        OperationError: `not_found` (no session, or several, fit), `unsupported_input` (no session
            can be named so), or as the log's `sessions` does.
    """
    if text != LAST:
        check_session_id(text)
    summaries = await log.sessions()
    if text == LAST:
        found = sorted(summaries, key=lambda summary: summary.updated_ms)[-1:]
    else:
        found = [summary for summary in summaries if summary.session == text] or [
            summary for summary in summaries if summary.session.startswith(text)
        ]
    if len(found) != 1:
        raise OperationError(ErrorCode.NOT_FOUND)
    return found[0]


async def tail(
    log: ReadLog,
    session: str,
    after: Cursor | None = None,
    *,
    follow: bool = True,
    page_frames: int = 4096,
) -> AsyncGenerator[Page]:
    """Yield the pages of `session` after `after`, then, when `follow`, what comes until its end.

    Args:
        log: Where the session is kept.
        session: The session's id.
        after: Where to begin; None: with the oldest that is kept.
        follow: Go on with what comes.
        page_frames: How many frames a page holds at most.

    Raises:
        OperationError: `unavailable` when a followed reading stops before the session's end: an
            interrupted tail, to be continued from the last page's cursor. Else as the log's `read`.
    """
    pages = log.read(session, after, follow=follow, page_frames=page_frames)
    ended = False
    try:
        async for page in pages:
            if page.items:
                ended = isinstance(page.items[-1], End)
            yield page
    finally:
        await pages.aclose()
    if follow and not ended:
        raise OperationError(ErrorCode.UNAVAILABLE)
