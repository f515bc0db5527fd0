"""The tools: each reads its arguments, calls session operations, and gives an object and a text."""

from __future__ import annotations

__all__ = ("Report", "Told", "Tools")

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import anyio

from compass_agent.frames import Cursor
from compass_agent.services.as_json import (
    cause_to_dict,
    detail_to_dict,
    entries_to_dict,
    entry_to_dict,
    row_to_dict,
    sessions_to_dict,
)
from compass_agent.services.detail import get_session
from compass_agent.services.entries import read_entries
from compass_agent.services.listing import SessionQuery, find_sessions
from compass_agent.services.mcp.arguments import cursor_from
from compass_agent.services.mcp.shorten import cut_entries
from compass_agent.services.mcp.text import Quote, told
from compass_agent.services.mcp.waiting import wait_for
from compass_agent.services.reading import reset_at
from compass_agent.services.requests import MAX_LIMIT, kind_from_text, state_from_text
from compass_agent.services.sessions import SessionRow, find_session
from compass_agent.view.entries import Failure, Plan, ToolCall
from compass_agent.view.single import unplaced_entry

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from compass_agent.log.read import ReadLog
    from compass_agent.services.entries import EntriesPage
    from compass_agent.services.mcp.arguments import (
        ExplainError,
        GetSession,
        ListSessions,
        ReadSession,
        WaitSession,
    )
    from compass_agent.services.mcp.waiting import Waited
    from compass_agent.view.entries import Entry

_Json: TypeAlias = dict[str, Any]
Report: TypeAlias = "Callable[[float, float], Awaitable[None]]"
"""Tells a caller how far a call is: how many seconds have passed, of how many."""

_WAIT_ITEMS = 50
_WAIT_CHARS = 12_000
_BEFORE = 5
_BEFORE_CHARS = 6_000


@dataclass(frozen=True, slots=True)
class Told:
    """What a tool gives: the same facts twice.

    Attributes:
        data: For programs.
        text: For a model, with the other agent's words quoted.
    """

    data: _Json
    text: str


class Tools:
    """All tools over one log.

    Args:
        log: Where the sessions are kept.
        report_every_s: How often a wait tells that it goes on, in seconds.
    """

    def __init__(self, log: ReadLog, report_every_s: float) -> None:
        self._log = log
        self._report_every_s = report_every_s

    async def list_sessions(self, given: ListSessions, _report: Report) -> Told:
        """Return a page of the sessions."""
        states = frozenset[int]() if given.state is None else {state_from_text(given.state)}
        query = SessionQuery(frozenset(states), given.query, given.limit, given.page)
        page = await find_sessions(self._log, query)
        quote = Quote()
        for row in page.rows:
            quote.row(row)
        data = sessions_to_dict(page) | {"truncated": bool(page.next_page)}
        more = f"more: page={page.next_page}" if page.next_page else ""
        return Told(data, told(quote, f"{len(page.rows)} of {page.total} sessions", more))

    async def get_session(self, given: GetSession, _report: Report) -> Told:
        """Return one session, with its plan and the tool that runs."""
        detail = await get_session(self._log, given.session_id)
        page = await read_entries(
            self._log,
            given.session_id,
            limit=MAX_LIMIT,
            kinds=("plan", "tool_call", "session_error"),
        )
        plan = next((one for one in reversed(page.entries) if isinstance(one, Plan)), None)
        tool = next((one for one in reversed(page.entries) if _runs(one)), None)
        cause = detail.row.cause
        failure = next((one for one in reversed(page.entries) if isinstance(one, Failure)), None)
        card = failure if failure is not None and failure.cause == cause else None
        shown = [one for one in (plan, tool, card) if one is not None]
        cut = cut_entries(shown, _WAIT_CHARS, from_end=True)
        quote = Quote()
        quote.row(detail.row)
        quote.entries(cut.entries)
        plan_cut = next((one for one in cut.entries if isinstance(one, Plan)), None)
        tool_cut = next((one for one in cut.entries if isinstance(one, ToolCall)), None)
        data = detail_to_dict(detail) | {
            "plan": None if plan_cut is None else entry_to_dict(plan_cut),
            "runningTool": None if tool_cut is None else entry_to_dict(tool_cut),
        }
        counts = ", ".join(f"{count} {kind}" for kind, count in detail.kinds.items())
        frames = f"frames: {counts}" if counts else "no frames yet"
        return Told(
            data,
            told(quote, frames, _missing(detail.missing, "in the session"), f"end: {detail.last}"),
        )

    async def read_session(self, given: ReadSession, _report: Report) -> Told:
        """Return a page of a session as people read it."""
        start: Literal["start"] = "start"
        after = start if given.after == start else cursor_from(given.after, "after")
        before = cursor_from(given.before, "before")
        kinds = frozenset(kind_from_text(kind, "kinds") for kind in given.kinds)
        page, cut = await self._page(
            given.session_id,
            after=after,
            before=before,
            limit=given.limit,
            kinds=kinds,
            most_chars=given.max_chars,
        )
        quote = Quote()
        quote.entries(page.entries)
        return Told(_page_to_dict(page, cut=cut), told(quote, *_ours(page, cut=cut)))

    async def wait_session(self, given: WaitSession, report: Report) -> Told:
        """Wait for what a session does, and return what came meanwhile."""
        after = cursor_from(given.after, "after")
        waited: Waited | None = None
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._report, report, given.timeout_s)
            waited = await wait_for(
                self._log, given.session_id, after, given.until, given.timeout_s
            )
            tasks.cancel_scope.cancel()
        if waited is None:  # the block above was left without an answer
            raise RuntimeError("a wait ended without a reason")
        page, cut = await self._page(
            given.session_id, after=waited.after, limit=_WAIT_ITEMS, most_chars=_WAIT_CHARS
        )
        row = SessionRow.of(await find_session(self._log, given.session_id))
        quote = Quote()
        quote.row(row)
        quote.entries(page.entries)
        stands = row_to_dict(row)
        data = {"reason": waited.reason, "state": stands["state"], "lastError": stands["lastError"]}
        data |= _page_to_dict(page, cut=cut)
        return Told(data, told(quote, f"reason: {waited.reason}", *_ours(page, cut=cut)))

    async def explain_error(self, given: ExplainError, _report: Report) -> Told:
        """Return a failure, what it means, and what came before it."""
        place = cursor_from(given.place, "place")
        found, restart = await self._failure(given.session_id, place)
        data: _Json = {
            "sessionId": given.session_id,
            "error": None,
            "place": None,
            "atUnixMs": None,
            "before": [],
        }
        quote = Quote()
        if found is None:
            quote.entries(restart)
            data["before"] = [entry_to_dict(entry) for entry in restart]
            return Told(data, told(quote, "no failure there"))
        at = Cursor(found.epoch, found.seq)
        page = await read_entries(self._log, given.session_id, before=at, limit=_BEFORE)
        cut = cut_entries(page.entries, _BEFORE_CHARS, from_end=True)
        before = cut.entries[-cut.fitting :] if cut.fitting else []
        quote.entries([*before, found])
        data |= {
            "error": cause_to_dict(found.cause),
            "place": str(at),
            "atUnixMs": None if found.at_ms is None else str(found.at_ms),
            "before": [entry_to_dict(entry) for entry in before],
        }
        return Told(data, told(quote, f"place: {at}"))

    async def _failure(
        self, session: str, place: Cursor | None
    ) -> tuple[Failure | None, list[Entry]]:
        """Return the failure that is meant; without one, the restart when the place is not kept."""
        kinds = ("session_error",)
        if place is None:
            page = await read_entries(self._log, session, limit=MAX_LIMIT, kinds=kinds)
            found = (one for one in reversed(page.entries) if isinstance(one, Failure))
            return next(found, None), []
        reset = await reset_at(self._log, session, place)
        if reset is not None:
            return None, [unplaced_entry(reset)]
        just_before = Cursor(place.epoch, max(place.seq - 1, 0))
        page = await read_entries(self._log, session, after=just_before, limit=1, kinds=kinds)
        for entry in page.entries:
            if isinstance(entry, Failure) and place == Cursor(entry.epoch, entry.seq):
                return entry, []
        return None, []

    async def _page(
        self,
        session: str,
        *,
        after: Cursor | Literal["start"] | None = None,
        before: Cursor | None = None,
        limit: int,
        kinds: frozenset[str] = frozenset(),
        most_chars: int,
    ) -> tuple[EntriesPage, bool]:
        """Return a page that is as long as its reader wants it, and whether that cut something."""
        page = await read_entries(
            self._log, session, after=after, before=before, limit=limit, kinds=kinds
        )
        cut = cut_entries(page.entries, most_chars, from_end=after is None)
        fewer = cut.fitting < len(page.entries)
        if fewer:
            page = await read_entries(
                self._log, session, after=after, before=before, limit=cut.fitting, kinds=kinds
            )
            cut = cut_entries(page.entries, most_chars, from_end=after is None)
        return replace(page, entries=cut.entries), fewer or cut.shortened

    async def _report(self, report: Report, of: float) -> None:
        begun = anyio.current_time()
        while True:
            await report(min(anyio.current_time() - begun, of), of)
            await anyio.sleep(self._report_every_s)


def _runs(entry: Entry) -> bool:
    return isinstance(entry, ToolCall) and not entry.status.ended


def _page_to_dict(page: EntriesPage, *, cut: bool) -> _Json:
    return entries_to_dict(page) | {"truncated": cut}


def _ours(page: EntriesPage, *, cut: bool) -> list[str]:
    """Return our own lines under a page: where it goes on, and what is not there."""
    return [
        "nothing new" if not page.entries else "",
        _missing(page.missing, "here"),
        "cut to fit; ask for fewer kinds or more max_chars" if cut else "",
        f"before this: before={page.prev}" if page.prev else "",
        f"after this: after={page.next}{' (there is more now)' if page.more else ''}"
        if page.next
        else "",
    ]


def _missing(count: int, where: str) -> str:
    return f"{count} frames are missing {where}" if count else ""
