"""Sessions are listed with what went wrong, named, and tailed; failures of the log are typed."""

from __future__ import annotations

import anyio
import pytest

from compass_agent.errors.codes import ErrorCode, OperationError
from compass_agent.frames import AgentSessionState, Cursor, SessionError, SessionErrorKind, as_state
from compass_agent.log.read import SessionSummary
from compass_agent.services import list_sessions, resolve_session, tail
from compass_agent.services.as_json import row_to_dict
from compass_agent.services.sessions import SessionRow
from compass_agent.view.failure import explain
from compass_agent.wire import CaughtUp, End, Item, Page

EPOCH = "0123456789abcdef"
READY = AgentSessionState.AGENT_SESSION_STATE_READY
ERRORED = AgentSessionState.AGENT_SESSION_STATE_ERRORED
STOPPED = AgentSessionState.AGENT_SESSION_STATE_STOPPED


def summary(
    session: str, state: int = READY, updated_ms: int = 0, error: SessionError | None = None
) -> SessionSummary:
    return SessionSummary(
        session=session,
        epoch=EPOCH,
        state=state,
        last_error=error,
        title="T",
        agent="pi",
        version="1",
        opened_ms=1,
        updated_ms=updated_ms,
        frames=3,
        cursor=Cursor(EPOCH, 3),
        ended=False,
    )


class FakePages:
    """The given items, a page each."""

    def __init__(self, pages: tuple[list[Item], ...]) -> None:
        self._pages = iter(pages)
        self.closed = False

    def __aiter__(self) -> FakePages:
        return self

    async def __anext__(self) -> Page:
        await anyio.lowlevel.checkpoint()
        for items in self._pages:
            return Page(items, Cursor(EPOCH, 1))
        raise StopAsyncIteration

    async def aclose(self) -> None:
        self.closed = True
        await anyio.lowlevel.checkpoint()


class FakeLog:
    """Answers with what it was given."""

    def __init__(self, *summaries: SessionSummary, pages: tuple[list[Item], ...] = ()) -> None:
        self.summaries = list(summaries)
        self.pages = FakePages(pages)
        self.asked: list[tuple[str, Cursor | None, bool]] = []

    async def sessions(self) -> list[SessionSummary]:
        await anyio.lowlevel.checkpoint()
        return list(self.summaries)

    def read(
        self,
        session: str,
        after: Cursor | None = None,
        *,
        follow: bool = True,
        page_frames: int = 1024,
    ) -> FakePages:
        del page_frames
        self.asked.append((session, after, follow))
        return self.pages

    async def delete(self, session: str) -> None:
        raise NotImplementedError

    async def close_below(self, session: str, epoch: str) -> None:
        raise NotImplementedError

    async def aclose(self) -> None:
        raise NotImplementedError


async def test_failed_sessions_come_first_then_the_last_updated() -> None:
    error = SessionError(kind=SessionErrorKind.SESSION_ERROR_KIND_ERROR, message="x", status=500)
    log = FakeLog(
        summary("new", updated_ms=9),
        summary("old-failed", ERRORED, 1, error),
        summary("older", updated_ms=5),
        summary("new-failed", ERRORED, 2),
    )
    rows = await list_sessions(log)
    assert [row.summary.session for row in rows] == ["new-failed", "old-failed", "new", "older"]
    assert rows[0].cause is None
    assert rows[1].cause is not None
    assert rows[1].cause.status == 500


@pytest.mark.parametrize(
    ("text", "found"),
    [("run", "run"), ("run-1", "run-1"), ("oth", "other"), ("@last", "run-1")],
)
async def test_a_session_is_named_by_its_id_its_beginning_or_as_the_last(
    text: str, found: str
) -> None:
    log = FakeLog(summary("run"), summary("run-1", updated_ms=9), summary("other", updated_ms=3))
    assert (await resolve_session(log, text)).session == found


@pytest.mark.parametrize("text", ["ru", "nothing", "run-12"])
async def test_a_name_that_fits_none_or_several_is_not_found(text: str) -> None:
    log = FakeLog(summary("run-1"), summary("run-2"))
    with pytest.raises(OperationError) as caught:
        await resolve_session(log, text)
    assert caught.value.code is ErrorCode.NOT_FOUND


async def test_the_last_of_no_sessions_is_not_found() -> None:
    with pytest.raises(OperationError) as caught:
        await resolve_session(FakeLog(), "@last")
    assert caught.value.code is ErrorCode.NOT_FOUND


@pytest.mark.parametrize("text", ["", "a/b", "@first", "x" * 129])
async def test_what_cannot_name_a_session_is_unsupported_input(text: str) -> None:
    with pytest.raises(OperationError) as caught:
        await resolve_session(FakeLog(summary("run")), text)
    assert caught.value.code is ErrorCode.UNSUPPORTED_INPUT


@pytest.mark.requirement("G-READ-5")
async def test_a_followed_tail_ends_with_the_end() -> None:
    log = FakeLog(pages=([CaughtUp(EPOCH)], [End(EPOCH, 1, STOPPED)]))
    after = Cursor(EPOCH, 1)
    assert len([page async for page in tail(log, "s", after)]) == 2
    assert log.asked == [("s", after, True)]


@pytest.mark.requirement("G-READ-5")
async def test_a_followed_tail_that_stops_without_an_end_is_an_error() -> None:
    log = FakeLog(pages=([End(EPOCH, 1, STOPPED)], [CaughtUp(EPOCH)]))
    with pytest.raises(OperationError) as caught:
        [page async for page in tail(log, "s")]
    assert caught.value.code is ErrorCode.UNAVAILABLE
    assert caught.value.retryable


async def test_a_reading_that_does_not_follow_stops_without_an_end() -> None:
    log = FakeLog(pages=([CaughtUp(EPOCH)],))
    assert len([page async for page in tail(log, "s", follow=False)]) == 1


async def test_leaving_a_tail_closes_the_reading() -> None:
    log = FakeLog(pages=([CaughtUp(EPOCH)], [CaughtUp(EPOCH)]))
    pages = tail(log, "s")
    await anext(pages)
    await pages.aclose()
    assert log.pages.closed


def test_a_row_as_json_has_the_error_and_its_advice() -> None:
    error = SessionError(kind=SessionErrorKind.SESSION_ERROR_KIND_ERROR, status=429)
    row = SessionRow(summary("s", ERRORED, 7, error), explain(error))
    told = row_to_dict(row)
    assert told["sessionId"] == "s"
    assert told["state"] == "AGENT_SESSION_STATE_ERRORED"
    assert told["cursor"] == f"{EPOCH}-3"
    assert told["lastError"]["message"] == ""
    assert told["lastError"]["status"] == 429
    assert told["lastError"]["kind"] == "SESSION_ERROR_KIND_ERROR"
    assert told["lastError"]["retryable"] is True
    assert told["lastError"]["title"]
    fine = row_to_dict(SessionRow(summary("s", as_state(42)), None))
    assert (fine["state"], fine["lastError"]) == (42, None)
