"""Pages of entries: each entry once both ways, each gap counted where it is, no place ignored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from mcp import Client

from asgi import ask
from compass_agent.errors.codes import ErrorCode, OperationError
from compass_agent.frames import AgentToolCallStatus, Cursor, FrameBuilder
from compass_agent.log.memory import MemoryLog
from compass_agent.services import START, read_entries, read_session
from compass_agent.services.http import http_app
from compass_agent.services.mcp import mcp_server
from compass_agent.view.entries import Missing, Restart, StateChange
from writing_logs import E1, E2, E3, Clock, S, batch, end, failed, state, text

if TYPE_CHECKING:
    from compass_agent.services import EntriesPage
    from compass_agent.view.entries import Entry

BUILD = FrameBuilder(lambda: 0)
LIMITS = [1, 2, 3, 5, 100]
GONE = Cursor("f" * 16, 4)


async def with_gaps() -> MemoryLog:
    """Three epochs: one ended, one was left, one goes on; in each some frames are missing."""
    log = MemoryLog(now_ms=Clock(), ahead_s=0.01)
    await log.open(S, E1)
    await log.append(batch(1, trace=[1, 2, 5, 6, 9], priority={10: failed("one")}, through=12))
    await log.append(end(2, 12, 10))
    await log.open(S, E2)
    await log.append(batch(1, priority={2: state(3)}, trace=[1, 4], through=6, epoch=E2))
    await log.open(S, E3)
    await log.append(batch(1, priority={3: failed("two")}, trace=[2, 4, 8], through=8, epoch=E3))
    return log


def places(page: EntriesPage) -> list[tuple[str, str, int, int]]:
    return [place(entry) for entry in page.entries]


def place(entry: Entry) -> tuple[str, str, int, int]:
    return type(entry).__name__, entry.epoch[0], entry.seq, entry.last_seq


async def all_of(log: MemoryLog) -> list[tuple[str, str, int, int]]:
    page = await read_entries(log, S)
    assert (page.prev, page.more) == (None, False)
    return places(page)


async def forwards(log: MemoryLog, after: Any, limit: int, **given: Any) -> list[EntriesPage]:
    pages = [await read_entries(log, S, after=after, limit=limit, **given)]
    while pages[-1].more:
        assert len(pages) < 100
        assert pages[-1].next is not None
        pages.append(await read_entries(log, S, after=pages[-1].next, limit=limit, **given))
    return pages


async def backwards(log: MemoryLog, before: Any, limit: int, **given: Any) -> list[EntriesPage]:
    pages = [await read_entries(log, S, before=before, limit=limit, **given)]
    while pages[0].prev is not None:
        assert len(pages) < 100
        pages.insert(0, await read_entries(log, S, before=pages[0].prev, limit=limit, **given))
    return pages


@pytest.mark.parametrize("limit", LIMITS)
async def test_paging_forwards_and_backwards_reads_every_entry_once(limit: int) -> None:
    log = await with_gaps()
    everything = await all_of(log)
    assert sum(kind == "Missing" for kind, *_ in everything) == 7
    for pages in (await forwards(log, START, limit), await backwards(log, None, limit)):
        assert [one for page in pages for one in places(page)] == everything
        for page in pages:
            gaps = [entry for entry in page.entries if isinstance(entry, Missing)]
            assert page.missing == sum(gap.count for gap in gaps)
        assert sum(page.missing for page in pages) == 13


@pytest.mark.parametrize(
    "limit", [pytest.param(1, marks=pytest.mark.slow), *(limit for limit in LIMITS if limit > 1)]
)
async def test_from_any_page_the_rest_is_read_both_ways(limit: int) -> None:
    log = await with_gaps()
    everything = await all_of(log)
    for pages in (await forwards(log, START, limit), await backwards(log, None, limit)):
        for number, page in enumerate(pages):
            before: list[EntriesPage] = []
            if page.prev is not None:
                before = await backwards(log, page.prev, limit)
            behind: list[EntriesPage] = []
            if page.more:
                behind = await forwards(log, page.next, limit)
            told = [one for each in (*before, page, *behind) for one in places(each)]
            assert (number, told) == (number, everything)
            assert (page.prev is None, page.more) == (page is pages[0], page is not pages[-1])


@pytest.mark.parametrize("limit", LIMITS)
async def test_pages_of_some_kinds_read_these_once_and_all_that_is_missing(limit: int) -> None:
    log = await with_gaps()
    kinds = {"session_error"}
    whole = places(await read_entries(log, S, kinds=kinds))
    assert [one[0] for one in whole if one[0] not in {"Missing", "Ended", "Restart"}] == [
        "Failure",
        "Failure",
    ]
    for pages in (
        await forwards(log, START, limit, kinds=kinds),
        await backwards(log, None, limit, kinds=kinds),
    ):
        assert [one for page in pages for one in places(page)] == whole
        assert sum(page.missing for page in pages) == 13


async def test_a_place_within_a_gap_parts_it() -> None:
    log = await with_gaps()
    before = await read_entries(log, S, before=Cursor(E1, 12), limit=1)
    behind = await read_entries(log, S, after=Cursor(E1, 11), limit=1)
    assert (places(before), before.missing) == ([("Missing", "1", 11, 11)], 1)
    assert (places(behind), behind.missing) == ([("Missing", "1", 12, 12)], 1)
    assert (before.next, before.more, behind.prev) == (Cursor(E1, 11), True, Cursor(E1, 12))


async def test_an_entry_that_grows_over_a_page_is_given_whole_where_it_ends() -> None:
    log = MemoryLog()
    await log.open(S, E1)
    update = BUILD.tool_call_update("c1", AgentToolCallStatus.AGENT_TOOL_CALL_STATUS_COMPLETED)
    frames = [
        text("before"),
        BUILD.tool_call("c1", "Run").SerializeToString(),
        BUILD.notice("within").SerializeToString(),
        update.SerializeToString(),
        text("behind"),
    ]
    priority = dict(enumerate(frames, 1))
    await log.append(batch(1, priority=priority, through=5))
    pages = await forwards(log, START, 1)
    told = [one for page in pages for one in places(page)]
    assert sorted(told) == sorted(places(await read_entries(log, S)))
    assert [one[2:] for one in told] == [(1, 1), (3, 3), (2, 4), (5, 5)]
    assert len(told) == len(set(told)) == 4


async def test_an_agent_that_is_away_closes_the_newest_page_alone() -> None:
    clock = Clock()
    log = MemoryLog(now_ms=clock)
    await log.open(S, E1)
    await log.append(batch(1, priority={1: state(3)}, trace=[2], through=2))
    clock.pass_s(60)
    signal = StateChange(epoch=E1, seq=0, last_seq=0, at_ms=None, state=6, signal=True)
    whole = await read_entries(log, S)
    assert whole.entries[-1] == signal
    for pages in (await forwards(log, START, 1), await backwards(log, None, 1)):
        assert [entry for page in pages for entry in page.entries] == whole.entries
    again = await read_entries(log, S, after=whole.next)
    assert (again.entries, again.more, again.next) == ([signal], False, whole.next)


@pytest.mark.requirement("G-READ-3")
@pytest.mark.parametrize("operation", [read_entries, read_session])
@pytest.mark.parametrize(
    "where",
    [
        {"after": Cursor(E3, 9)},
        {"before": Cursor(E3, 11)},
        {"after": Cursor(E1, 13)},
        {"before": Cursor(E1, 15)},
        {"before": Cursor(E3, 11), "limit": 3},
    ],
)
async def test_a_place_above_what_is_stored_is_a_conflict(
    operation: Any, where: dict[str, Any]
) -> None:
    log = await with_gaps()
    with pytest.raises(OperationError) as caught:
        await operation(log, S, **where)
    assert caught.value.code is ErrorCode.CONFLICT


@pytest.mark.requirement("G-READ-3")
@pytest.mark.parametrize("where", [{"after": GONE}, {"before": GONE}])
@pytest.mark.parametrize("limit", [1, 100])
async def test_a_place_that_is_not_kept_is_answered_with_a_restart(
    where: dict[str, Any], limit: int
) -> None:
    log = await with_gaps()
    page = await read_entries(log, S, limit=limit, **where)
    assert isinstance(page.entries[0], Restart)
    assert page.entries[0].reason.name == "UNKNOWN_EPOCH"
    assert page.prev is None
    told = places(page)
    if page.more:
        told += [one for each in await forwards(log, page.next, limit) for one in places(each)]
    assert told == [("Restart", "1", 0, 0), *await all_of(log)]
    frames = await read_session(log, S, limit=limit, **where)
    assert frames.prev is None


@pytest.mark.requirement("G-READ-3")
async def test_http_and_mcp_tell_a_place_that_is_ahead_or_not_kept_as_a_stream_does() -> None:
    log = await with_gaps()
    app = http_app(log)
    ahead, gone = str(Cursor(E3, 99)), str(GONE)
    for route in (
        "items?after=",
        "items?before=",
        "frames?after=",
        "frames?before=",
        "events?after=",
    ):
        answer = await ask(app, f"/v1/sessions/{S}/{route}{ahead}")
        assert (route, answer.status, answer.json["code"]) == (route, 409, "conflict")
    for route in ("items?after=", "items?before="):
        told = (await ask(app, f"/v1/sessions/{S}/{route}{gone}")).json["items"]
        assert told[0]["reset"] == {"reason": "SESSION_RESET_REASON_UNKNOWN_EPOCH"}
    async with Client(mcp_server(log)) as client:
        for tool, argument, items in (
            ("read_session", "after", "items"),
            ("read_session", "before", "items"),
            ("wait_session", "after", "items"),
            ("explain_error", "place", "before"),
        ):
            short = {"timeout_s": 0} if tool == "wait_session" else {}
            asked = {"session_id": S, argument: ahead} | short
            result = await client.call_tool(tool, asked)
            assert (tool, result.structured_content["code"]) == (tool, "conflict")
            result = await client.call_tool(tool, asked | {argument: gone})
            told = result.structured_content[items]
            assert (tool, told[0]["kind"]) == (tool, "reset")
        for found in (Cursor(E1, 10), Cursor(E3, 3)):
            asked = {"session_id": S, "place": str(found)}
            result = await client.call_tool("explain_error", asked)
            assert result.structured_content["place"] == str(found)
