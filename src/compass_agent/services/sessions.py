"""What a reader can do with sessions: list them, name one, tail one. Every service builds on these.

Reading a failed session succeeds: its failure is data. An operation that fails raises
`OperationError` alone.
"""

from __future__ import annotations

__all__ = ("LAST", "SessionRow", "list_sessions", "resolve_session", "row_to_dict", "tail")

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from compass_agent.errors.codes import ErrorCode, OperationError
from compass_agent.frames import AgentSessionState, as_state, check_session_id
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


async def list_sessions(log: ReadLog) -> list[SessionRow]:
    """Return every session: those in ERRORED first, and within that the last updated first.

    Raises:
        OperationError: As the log's `sessions` does.
    """
    summaries = await log.sessions()
    summaries.sort(key=lambda summary: (summary.state != ERRORED, -summary.updated_ms))
    return [
        SessionRow(summary, explain(summary.last_error) if summary.last_error else None)
        for summary in summaries
    ]


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
    log: ReadLog, session: str, after: Cursor | None = None, *, follow: bool = True
) -> AsyncGenerator[Page]:
    """Yield the pages of `session` after `after`, then, when `follow`, what comes until its end.

    Raises:
        OperationError: `unavailable` when a followed reading stops before the session's end: an
            interrupted tail, to be continued from the last page's cursor. Else as the log's `read`.
    """
    pages = log.read(session, after, follow=follow)
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


def row_to_dict(row: SessionRow) -> dict[str, Any]:
    """Return `row` as JSON has it: enum names, `lastError` null when nothing went wrong.

    `lastError` is the SessionError in protobuf's JSON, its `message` always there, with `title`,
    `retryable` (null: not known) and `guidance` beside it.
    """
    summary = row.summary
    return {
        "session": summary.session,
        "state": _state_name(summary.state),
        "epoch": summary.epoch,
        "cursor": str(summary.cursor),
        "title": summary.title,
        "agent": summary.agent,
        "version": summary.version,
        "openedMs": summary.opened_ms,
        "updatedMs": summary.updated_ms,
        "frames": summary.frames,
        "ended": summary.ended,
        "lastError": _error_to_dict(row),
    }


def _error_to_dict(row: SessionRow) -> dict[str, Any] | None:
    from google.protobuf.json_format import MessageToDict  # noqa: PLC0415 - dear to import

    if row.cause is None or row.summary.last_error is None:
        return None
    return {
        "message": "",
        **MessageToDict(row.summary.last_error),
        "title": row.cause.title,
        "retryable": row.cause.retryable,
        "guidance": row.cause.guidance,
    }


def _state_name(number: int) -> str | int:
    try:
        return AgentSessionState.Name(as_state(number))
    except ValueError:
        return number
