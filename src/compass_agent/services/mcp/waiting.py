"""Waits until a session does what its reader waits for, by its tail: nothing is asked again."""

from __future__ import annotations

__all__ = ("Waited", "wait_for")

from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import anyio

from compass_agent.frames import SessionErrorKind
from compass_agent.services.mcp.arguments import Until
from compass_agent.services.sessions import find_session, tail
from compass_agent.view.words import DISCONNECTED, ERRORED, STARTING, WORKING
from compass_agent.wire import End, FrameItem, Gap, Reset, StateSignal, decode_frame

if TYPE_CHECKING:
    from compass_agent.frames import Cursor
    from compass_agent.log.read import ReadLog, SessionSummary
    from compass_agent.wire import Item

_Reason: TypeAlias = Literal["changed", "turn_end", "error", "ended", "timeout"]
_AT_WORK = frozenset({STARTING, WORKING, DISCONNECTED})
_PAGE_FRAMES = 512


@dataclass(frozen=True, slots=True)
class Waited:
    """How a wait ended.

    Attributes:
        reason: What came first.
        after: The place behind which it looked.
    """

    reason: _Reason
    after: Cursor


async def wait_for(
    log: ReadLog, session: str, after: Cursor | None, until: Until, timeout_s: float
) -> Waited:
    """Wait until the session does what is waited for, ends, or the time is over.

    Args:
        log: Where the session is kept.
        session: The session's id.
        after: Look behind this place; None: from now on, and what holds already is told at once.
        until: What to wait for.
        timeout_s: For how long, in seconds.

    Raises:
        OperationError: As `tail` does.
    """
    summary = await find_session(log, session)
    place = after or summary.cursor
    reason = _held(summary, until) if after is None else None
    if reason is None:
        reason = "timeout"
        with anyio.move_on_after(timeout_s):
            reason = await _first(log, session, place, until, summary.state)
    return Waited(reason, place)


def _held(summary: SessionSummary, until: Until) -> _Reason | None:
    """Return what of it holds already."""
    if until is Until.ERROR and summary.state == ERRORED:
        return "error"
    if summary.ended:
        return "ended"
    over = until is Until.TURN_END and summary.state not in _AT_WORK
    return "turn_end" if over else None


async def _first(log: ReadLog, session: str, after: Cursor, until: Until, state: int) -> _Reason:
    pages = tail(log, session, after, page_frames=_PAGE_FRAMES)
    async with aclosing(pages):
        async for page in pages:
            for item in page.items:
                reason = _told(item, until, state)
                if reason is not None:
                    return reason
    return "ended"


def _told(item: Item, until: Until, state: int) -> _Reason | None:
    """Return what the item tells of what is waited for; None: nothing."""
    match item:
        case FrameItem(late=False):
            return _told_by_frame(item, until)
        case End():
            # The session may have been opened again since; then a failure may still come.
            return None if until is Until.ERROR else "ended"
        case FrameItem() | Gap() | Reset():
            return "changed" if until is Until.ANY else None
        case StateSignal():
            return "changed" if until is Until.ANY and item.state != state else None
        case _:
            return None


def _told_by_frame(item: FrameItem, until: Until) -> _Reason | None:
    if until is Until.ANY:
        return "changed"
    frame = decode_frame(item.data)
    event = frame.typed_event
    failed = event.HasField("session_error")
    aborted = failed and event.session_error.kind == SessionErrorKind.SESSION_ERROR_KIND_ABORTED
    if until is Until.ERROR and (frame.state == ERRORED or (failed and not aborted)):
        return "error"
    over = failed or (frame.state and frame.state not in _AT_WORK)
    return "turn_end" if until is Until.TURN_END and over else None
