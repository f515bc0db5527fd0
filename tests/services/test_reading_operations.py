"""Pages in both directions; what is missing is told; who is unknown is not found, everywhere."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from google.protobuf.json_format import Parse

from compass.v1.compass_pb2 import AgentSessionFrame
from compass_agent.errors.codes import ErrorCode, OperationError
from compass_agent.frames import Cursor
from compass_agent.log.memory import MemoryLog
from compass_agent.services import (
    START,
    ExportFormat,
    SessionQuery,
    export_session,
    find_sessions,
    get_session,
    read_entries,
    read_session,
    tail,
)
from compass_agent.services.as_json import (
    detail_to_dict,
    entries_to_dict,
    frames_to_dict,
    sessions_to_dict,
)
from compass_agent.services.requests import (
    InvalidRequestError,
    kind_from_text,
    state_from_text,
)
from compass_agent.wire import SessionMeta
from writing_logs import E1, E2, Clock, S, batch, end, failed, state, told

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


async def two_epochs() -> MemoryLog:
    """Epoch 1 holds 1 to 20 without 8 to 10 and ended; epoch 2 holds 1 to 5, of which 3 failed."""
    log = MemoryLog(now_ms=Clock())
    await log.open(S, E1, SessionMeta("Fix it", "pi", "1"))
    await log.append(batch(1, trace=[*range(1, 8), *range(11, 21)], through=20))
    await log.append(end(2, 20))
    await log.open(S, E2, SessionMeta("Fix it", "pi", "1"))
    priority = {3: failed("boom"), 4: state(5)}
    await log.append(batch(1, priority=priority, trace=[1, 2, 5], through=5, epoch=E2))
    return log


EVERYTHING = [
    *(f"t{n}" for n in range(1, 8)),
    "gap 8-10 dropped",
    *(f"t{n}" for n in range(11, 21)),
    "end 20 4",
    "reset 2 new_epoch",
    *("t1", "t2", "p3", "p4", "t5"),
]


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 100])
async def test_pages_forwards_hold_everything_once_and_in_order(limit: int) -> None:
    log = await two_epochs()
    page = await read_session(log, S, after=START, limit=limit)
    words = told(page.items)
    while page.more:
        assert page.next is not None
        page = await read_session(log, S, after=page.next, limit=limit)
        words += told(page.items)
    assert words == EVERYTHING


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 22, 23, 100])
async def test_pages_backwards_hold_everything_once_and_in_order(limit: int) -> None:
    log = await two_epochs()
    page = await read_session(log, S, limit=limit)
    words = told(page.items)
    while page.prev is not None:
        page = await read_session(log, S, before=page.prev, limit=limit)
        words = [*told(page.items), *words]
    assert words == EVERYTHING


async def test_a_page_backwards_leads_forwards_again() -> None:
    log = await two_epochs()
    page = await read_session(log, S, before=Cursor(E2, 3), limit=4)
    assert told(page.items) == ["t19", "t20", "end 20 4", "reset 2 new_epoch", "t1", "t2"]
    assert page.next is not None
    following = await read_session(log, S, after=page.next, limit=1)
    assert told(following.items) == ["p3"]


async def test_a_page_with_a_gap_says_so_and_is_a_success() -> None:
    log = await two_epochs()
    page = await read_session(log, S, after=Cursor(E1, 6), limit=2)
    assert told(page.items) == ["t7", "gap 8-10 dropped", "t11"]
    assert page.missing == 3
    gap = frames_to_dict(page)["frames"][1]["gap"]
    assert gap == {
        "firstSeq": "8",
        "lastSeq": "10",
        "count": "3",
        "reason": "SESSION_GAP_REASON_DROPPED",
    }


async def test_what_lies_before_a_page_that_begins_with_a_gap_lies_before_the_gap() -> None:
    log = await two_epochs()
    page = await read_session(log, S, after=Cursor(E1, 7), limit=1)
    assert (told(page.items), page.prev) == (["gap 8-10 dropped", "t11"], Cursor(E1, 8))


async def test_a_page_that_ends_within_a_gap_tells_its_part() -> None:
    log = await two_epochs()
    page = await read_session(log, S, before=Cursor(E1, 9), limit=2)
    assert told(page.items) == ["t6", "t7", "gap 8-8 dropped"]


@pytest.mark.parametrize("backwards", [True, False])
async def test_a_page_of_some_kinds_tells_what_it_holds_back_and_what_is_missing(
    backwards: bool,
) -> None:
    log = await two_epochs()
    kinds = {"session_error", "state"}
    page = await read_session(log, S, after=None if backwards else START, kinds=kinds)
    words = ["gap 8-10 dropped", "end 20 4", "reset 2 new_epoch", "p3", "p4"]
    assert (told(page.items), page.held_back) == (words, 20)
    last = await read_session(log, S, limit=1, kinds=kinds)
    assert (told(last.items), last.prev, last.held_back) == (["p4"], Cursor(E2, 4), 1)


async def test_a_place_that_is_not_kept_is_answered_with_a_reset() -> None:
    log = await two_epochs()
    gone = Cursor("f" * 16, 4)
    for page in (
        await read_session(log, S, after=gone, limit=1),
        await read_session(log, S, before=gone, limit=1),
    ):
        assert told(page.items) == ["reset 1 unknown_epoch", "t1"]


async def test_the_end_of_an_ended_session_is_told_to_whoever_reads_there() -> None:
    log = MemoryLog()
    await log.open(S, E1)
    await log.append(batch(1, trace=[1, 2], through=2))
    await log.append(end(2, 2))
    page = await read_session(log, S, after=Cursor(E1, 2))
    assert (told(page.items), page.next, page.more) == (["end 2 4"], Cursor(E1, 2), False)
    entries = await read_entries(log, S, after=Cursor(E1, 2))
    assert [entry["kind"] for entry in entries_to_dict(entries)["items"]] == ["end"]


async def test_one_session_has_its_counts_its_places_and_what_is_missing() -> None:
    detail = detail_to_dict(await get_session(await two_epochs(), S))
    assert detail["kinds"] == {"assistantText": 20, "sessionError": 1, "state": 1}
    assert (detail["first"], detail["last"]) == (f"{E1}-1", f"{E2}-5")
    assert (detail["missing"], [gap["firstSeq"] for gap in detail["gaps"]]) == (3, ["8"])
    assert detail["state"] == "AGENT_SESSION_STATE_ERRORED"
    assert detail["lastError"]["message"] == "boom"


async def test_entries_page_both_ways_and_none_is_torn() -> None:
    log = await two_epochs()
    page = await read_entries(log, S, limit=2)
    shown = list(page.entries)
    while page.prev is not None:
        page = await read_entries(log, S, before=page.prev, limit=2)
        shown = [*page.entries, *shown]
    assert shown == (await read_entries(log, S)).entries
    kinds = [entry["kind"] for entry in entries_to_dict(await read_entries(log, S))["items"]]
    text = ["assistantText", "gap", "assistantText", "end", "reset", "assistantText"]
    assert kinds == [*text, "sessionError", "state", "assistantText"]


@pytest.mark.parametrize("limit", [1, 2, 100])
async def test_entries_that_began_or_grew_are_given_behind_a_place(limit: int) -> None:
    log = await two_epochs()
    page = await read_entries(log, S, after=Cursor(E1, 15), limit=limit)
    seen = [(entry.epoch, entry.seq) for entry in page.entries]
    while page.more:
        assert page.next is not None
        page = await read_entries(log, S, after=page.next, limit=limit)
        seen += [(entry.epoch, entry.seq) for entry in page.entries]
    assert seen == [(E1, 11), (E1, 20), (E2, 0), (E2, 1), (E2, 3), (E2, 4), (E2, 5)]


async def test_an_export_holds_every_item_as_protobuf_reads_it_back() -> None:
    log = await two_epochs()
    text = "".join([piece async for piece in export_session(log, S)])
    frames = [Parse(line, AgentSessionFrame()) for line in text.split("\n")[:-1]]
    assert len(frames) == len(EVERYTHING)
    assert [frame.event.session_error.message for frame in frames][-3] == "boom"
    assert frames[7].gap.count == 3


async def test_an_export_in_markdown_has_a_heading_for_each_entry() -> None:
    log = await two_epochs()
    text = "".join([piece async for piece in export_session(log, S, ExportFormat.MARKDOWN)])
    heads = [line for line in text.splitlines() if line.startswith("#")]
    assert heads == [
        "# Session `s1`",
        "## Answer",
        "## 3 frames are missing here",
        "## Answer",
        "## End: STOPPED",
        "## The session goes on",
        "## Answer",
        "## Turn failed",
        "## State ERRORED",
        "## Answer",
    ]


async def _tailed(log: MemoryLog, session: str) -> None:
    async for _ in tail(log, session):
        pass


async def _exported(log: MemoryLog, session: str) -> None:
    async for _ in export_session(log, session):
        pass


@pytest.mark.parametrize("operation", [get_session, read_session, read_entries, _tailed, _exported])
@pytest.mark.parametrize(
    ("session", "code"),
    [("nobody", ErrorCode.NOT_FOUND), ("no/body", ErrorCode.UNSUPPORTED_INPUT)],
)
async def test_an_unknown_session_is_not_found_by_every_operation(
    operation: Callable[[MemoryLog, str], Awaitable[object]], session: str, code: ErrorCode
) -> None:
    with pytest.raises(OperationError) as caught:
        await operation(await two_epochs(), session)
    assert caught.value.code is code


@pytest.mark.parametrize(
    ("limit", "before"), [(0, None), (1001, None), (-1, None), (10, Cursor(E1, 2))]
)
async def test_what_an_operation_does_not_take_is_unsupported_input(
    limit: int, before: Cursor | None
) -> None:
    log = await two_epochs()
    for operation in (read_session, read_entries):
        with pytest.raises(OperationError) as caught:
            await operation(log, S, after=Cursor(E1, 1), before=before, limit=limit)
        assert caught.value.code is ErrorCode.UNSUPPORTED_INPUT
    with pytest.raises(OperationError):
        await find_sessions(log, SessionQuery(limit=0))


async def many() -> MemoryLog:
    clock = Clock()
    log = MemoryLog(now_ms=clock)
    for number in range(7):
        clock.pass_s(1)
        await log.open(f"s{number}", E1, SessionMeta(f"Title {number}", "pi", "1"))
        priority = {1: failed("Überlastet"), 2: state(5)} if number in (2, 4) else {1: state(3)}
        await log.append(batch(1, priority=priority, through=2, session=f"s{number}"))
    return log


@pytest.mark.parametrize("limit", [1, 2, 3, 7])
async def test_lists_page_through_every_session_failed_ones_first(limit: int) -> None:
    log = await many()
    found: list[str] = []
    page = ""
    while True:
        told = sessions_to_dict(await find_sessions(log, SessionQuery(limit=limit, page=page)))
        found += [row["sessionId"] for row in told["sessions"]]
        assert told["total"] == 7
        if "nextPage" not in told:
            break
        page = told["nextPage"]
    assert found == ["s4", "s2", "s6", "s5", "s3", "s1", "s0"]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        (SessionQuery(states=frozenset({state_from_text("errored")})), ["s4", "s2"]),
        (SessionQuery(text="TITLE 3"), ["s3"]),
        (SessionQuery(text="überLASTET"), ["s4", "s2"]),
        (SessionQuery(text="s5"), ["s5"]),
        (SessionQuery(states=frozenset({state_from_text("READY")})), []),
    ],
)
async def test_lists_are_filtered_by_state_and_text(query: SessionQuery, found: list[str]) -> None:
    page = await find_sessions(await many(), query)
    assert ([row.summary.session for row in page.rows], page.next_page) == (found, "")


@pytest.mark.parametrize("token", ["x", "WzFd", "W10", "ö", "bnVsbA", "WzEsMiwzXQ"])
async def test_a_page_of_a_list_that_nobody_gave_is_refused(token: str) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        await find_sessions(await many(), SessionQuery(page=token))
    assert [issue.path for issue in caught.value.issues] == ["page"]


def test_kinds_and_states_are_named_as_the_contract_or_its_json_does() -> None:
    assert kind_from_text("tool_call") == kind_from_text("toolCall") == "tool_call"
    assert state_from_text("AGENT_SESSION_STATE_READY") == state_from_text("ready") == 2
    for wrong in (lambda: kind_from_text("tool"), lambda: state_from_text("gone")):
        with pytest.raises(InvalidRequestError):
            wrong()


async def test_a_page_of_frames_is_json() -> None:
    page = await read_session(await two_epochs(), S, limit=3)
    told = json.loads(json.dumps(frames_to_dict(page)))
    assert [frame["seq"] for frame in told["frames"]] == ["3", "4", "5"]
    assert told["frames"][0]["event"]["sessionError"]["kind"] == "SESSION_ERROR_KIND_ERROR"
    assert (told["prev"], told["next"], told["more"]) == (f"{E2}-3", f"{E2}-5", False)
