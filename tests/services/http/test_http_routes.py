"""Every route over HTTP: what it answers, and how each failure and slip is told."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

import anyio
import pytest
from google.protobuf.json_format import Parse
from starlette.applications import Starlette
from starlette.routing import Mount

from asgi import ask, opened
from compass.v1.compass_pb2 import AgentSessionFrame
from compass_agent.errors.codes import TABLE, ErrorCode, OperationError
from compass_agent.frames import FrameBuilder, SessionErrorKind
from compass_agent.log.memory import MemoryLog
from compass_agent.services.http import http_app
from compass_agent.wire import SessionMeta
from writing_logs import E1, S, batch, end, state

if TYPE_CHECKING:
    from compass_agent.log.read import SessionSummary
    from compass_agent.log.reading import Place, View

SECRET = "sk-ant-api03-" + "a1B2c3D4" * 6
ROUTES = ["", "/frames", "/items", "/transcript", "/transcript?format=md", "/events"]


async def failed_session(*, gap: bool = False) -> MemoryLog:
    """A session that failed with all that a provider can tell."""
    log = MemoryLog()
    await log.open(S, E1, SessionMeta("Fix it", "pi", "1"))
    error = FrameBuilder(lambda: 1_700_000_000_000).session_error(
        SessionErrorKind.SESSION_ERROR_KIND_ERROR, "Slow down", status=429, retry_after_ms=20_000
    )
    priority = {3: error.SerializeToString(), 4: state(5)}
    await log.append(batch(1, priority=priority, trace=[1] if gap else [1, 2], through=4))
    await log.append(end(2, 4, prev_priority=4))
    return log


FAILURE = {
    "kind": "SESSION_ERROR_KIND_ERROR",
    "message": "Slow down",
    "status": 429,
    "retryAfterMs": "20000",
    "title": "Rate limited",
    "retryable": True,
}


async def test_health_and_info_tell_nothing_of_sessions() -> None:
    app = http_app(await failed_session())
    assert (await ask(app, "/healthz")).json == {"ok": True}
    info = (await ask(app, "/v1/info")).json
    assert info["limits"] == {"page": 1000, "readers": 64, "sessionsPerStream": 64}


async def test_a_failed_session_shows_the_same_failure_on_every_route() -> None:
    app = http_app(await failed_session())
    listed = (await ask(app, "/v1/sessions?state=ERRORED,READY&q=fix")).json
    one = (await ask(app, f"/v1/sessions/{S}")).json
    items = (await ask(app, f"/v1/sessions/{S}/items?kind=sessionError")).json["items"]
    told = [listed["sessions"][0]["lastError"], one["lastError"], items[0]["sessionError"]]
    for failure in told:
        assert FAILURE.items() <= failure.items()
        assert failure["guidance"]
        assert failure == told[0]
    assert (one["kinds"], one["missing"]) == (
        {"assistantText": 2, "sessionError": 1, "state": 1},
        0,
    )
    text = (await ask(app, f"/v1/sessions/{S}/transcript?format=md")).body.decode()
    for part in ("## Rate limited (HTTP 429 Too Many Requests)", "Slow down", "to wait 20 s"):
        assert part in text
    frames = (await ask(app, f"/v1/sessions/{S}/frames?kind=session_error")).json["frames"]
    assert frames[0]["event"]["sessionError"]["message"] == "Slow down"


async def test_a_page_with_a_gap_is_a_success_that_says_so() -> None:
    app = http_app(await failed_session(gap=True))
    answer = await ask(app, f"/v1/sessions/{S}/frames?after=start&limit=2")
    assert (answer.status, answer.json["missing"], answer.json["more"]) == (200, 1, True)
    assert [frame.get("gap", {}).get("count") for frame in answer.json["frames"]] == [
        None,
        "1",
        None,
    ]
    page = await ask(app, f"/v1/sessions/{S}/frames?before={E1}-2")
    assert [frame["seq"] for frame in page.json["frames"]] == ["1"]


async def test_a_transcript_is_a_download_that_reads_back() -> None:
    answer = await ask(http_app(await failed_session()), f"/v1/sessions/{S}/transcript")
    assert answer.headers["content-type"] == "application/jsonl"
    assert answer.headers["content-disposition"] == f'attachment; filename="{S}.jsonl"'
    frames = [Parse(line, AgentSessionFrame()) for line in answer.body.decode().splitlines()]
    assert [frame.seq for frame in frames] == [1, 2, 3, 4, 4]
    assert frames[-1].HasField("end")


@pytest.mark.parametrize("route", ROUTES)
async def test_an_unknown_session_is_not_found_on_every_route(route: str) -> None:
    answer = await ask(http_app(await failed_session()), f"/v1/sessions/nobody{route}")
    assert answer.status == 404
    assert answer.headers["content-type"] == "application/problem+json"
    row = TABLE[ErrorCode.NOT_FOUND]
    assert answer.json["code"] == "not_found"
    assert answer.json["error"] == answer.json["detail"] == row.message
    assert (answer.json["guidance"], answer.json["retryable"]) == (row.guidance, row.retryable)


class Broken(MemoryLog):
    """Raises what it is told to."""

    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self.error = error

    async def sessions(self) -> list[SessionSummary]:
        await anyio.lowlevel.checkpoint()
        raise self.error

    async def look(self, session: str, place: Place, page_frames: int) -> View | None:
        del session, place, page_frames
        await anyio.lowlevel.checkpoint()
        raise self.error


@pytest.mark.requirement("G-HTTP-3")
@pytest.mark.parametrize("code", ErrorCode)
@pytest.mark.parametrize("route", ["/v1/sessions", *(f"/v1/sessions/s{r}" for r in ROUTES)])
async def test_every_code_is_told_as_the_table_has_it(code: ErrorCode, route: str) -> None:
    error = OperationError(code, retry_after_s=1.5 if code is ErrorCode.UNAVAILABLE else None)
    answer = await ask(http_app(Broken(error)), route)
    row = TABLE[code]
    assert answer.status == answer.json["status"] == row.http_status
    assert {
        "error": row.message,
        "code": code.value,
        "retryable": row.retryable,
        "guidance": row.guidance,
    }.items() <= answer.json.items()
    assert answer.json.get("retry_after_s") == error.retry_after_s
    assert answer.headers.get("retry-after") == ("2" if error.retry_after_s else None)


@pytest.mark.requirement("G-HTTP-3")
@pytest.mark.parametrize("route", ["/v1/sessions", *(f"/v1/sessions/s{r}" for r in ROUTES)])
async def test_what_nobody_expected_is_internal_and_logged_once_without_its_secret(
    route: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        answer = await ask(http_app(Broken(KeyError(f"no {SECRET}"))), route)
    assert (answer.status, answer.json["code"]) == (500, "internal")
    assert SECRET not in answer.body.decode() + str(answer.headers)
    assert "no sk" not in answer.body.decode()
    records = [record for record in caplog.records if record.name.startswith("compass_agent")]
    assert len(records) == 1
    assert "KeyError" in records[0].getMessage()
    assert SECRET not in caplog.text


@pytest.mark.requirement("G-HTTP-3")
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("route", ["/v1/sessions", *(f"/v1/sessions/s{r}" for r in ROUTES[:-1])])
async def test_a_request_that_is_cancelled_from_within_is_answered_at_once(route: str) -> None:
    answer = await ask(http_app(Broken(asyncio.CancelledError())), route)
    assert (answer.status, answer.headers["content-type"]) == (500, "application/problem+json")
    assert (answer.json["error"], "code" in answer.json) == ("The request was cancelled.", False)


SLIPS = [
    ("/v1/sessions?limit=many", ["limit"]),
    ("/v1/sessions?limit=-1", ["limit"]),
    ("/v1/sessions?limit=0", ["limit"]),
    ("/v1/sessions/s1/frames?limit=0", ["limit"]),
    ("/v1/sessions/s1/items?limit=1001", ["limit"]),
    ("/v1/sessions?state=gone", ["state"]),
    ("/v1/sessions?state=UNSPECIFIED", ["state"]),
    ("/v1/sessions?page=x", ["page"]),
    ("/v1/sessions?colour=red&limit=x", ["colour", "limit"]),
    ("/v1/sessions?q=a&q=b", ["q"]),
    ("/v1/sessions/s1/frames?after=here", ["after"]),
    ("/v1/sessions/s1/frames?before=start", ["before"]),
    ("/v1/sessions/s1/frames?kind=tools", ["kind"]),
    ("/v1/sessions/s1/items?after=1-1", ["after"]),
    ("/v1/sessions/s1/transcript?format=pdf", ["format"]),
    ("/v1/sessions/s1/events?after=x", ["after"]),
    ("/v1/events", ["s"]),
    ("/v1/events?s=a/b", ["s"]),
    ("/v1/events?s=s1&s=s1", ["s"]),
    ("/v1/events?s=s1@7", ["s"]),
    ("/v1/info?colour=red", ["colour"]),
    ("/healthz?colour=red", ["colour"]),
    ("/v1/board/events?colour=red", ["colour"]),
]


@pytest.mark.parametrize(("path", "places"), SLIPS)
async def test_a_request_that_cannot_be_read_says_where(path: str, places: list[str]) -> None:
    answer = await ask(http_app(await failed_session()), path)
    assert (answer.status, answer.headers["content-type"]) == (400, "application/problem+json")
    assert [issue["path"] for issue in answer.json["issues"]] == places
    assert all(issue["message"] for issue in answer.json["issues"])
    assert answer.json["error"]
    assert "code" not in answer.json


async def test_a_last_event_id_that_is_no_cursor_is_a_bad_request() -> None:
    app, headers = http_app(await failed_session()), {"Last-Event-ID": "7"}
    answer = await ask(app, f"/v1/sessions/{S}/events", headers=headers)
    assert (answer.status, answer.json["issues"][0]["path"]) == (400, "Last-Event-ID")


@pytest.mark.parametrize("given", [f"{E1}-7", "s1", f"s2@{E1}-7", f"{S}@{E1}-1,s2", "-no@-id"])
async def test_a_last_event_id_of_another_stream_is_a_bad_request(given: str) -> None:
    app, headers = http_app(await failed_session()), {"Last-Event-ID": given}
    answer = await ask(app, "/v1/events?s=s9", headers=headers)
    assert answer.status == 400
    assert {issue["path"] for issue in answer.json["issues"]} == {"Last-Event-ID"}


@pytest.mark.parametrize(
    "query",
    [
        "&".join(f"{'long' * 20}{n}=1" for n in range(2_000)),
        "x" * 155_000,
        "&".join(f"kind={n}" for n in range(5_000)),
        "kind=" + ",".join(map(str, range(20_000))),
        "limit=" + "9" * 150_000,
    ],
)
async def test_however_much_is_wrong_the_answer_is_short(query: str) -> None:
    answer = await ask(http_app(await failed_session()), f"/v1/sessions/{S}/frames?{query}")
    assert answer.status == 400
    assert len(answer.body) < 8_000
    assert 1 <= len(answer.json["issues"]) <= 20


@pytest.mark.parametrize(
    "path",
    [
        f"/v1/sessions/{S}/frames?after={E1}-1&before={E1}-2",
        f"/v1/sessions/{S}/items?after={E1}-1&before={E1}-2",
        "/v1/sessions/-no-id",
    ],
)
async def test_what_an_operation_does_not_take_is_unsupported_input(path: str) -> None:
    answer = await ask(http_app(await failed_session()), path)
    assert (answer.status, answer.json["code"]) == (422, "unsupported_input")


async def test_a_cursor_above_what_is_stored_is_a_conflict() -> None:
    log = MemoryLog(ahead_s=0.01)
    await log.open(S, E1)
    for route in ("frames", "events"):
        answer = await ask(http_app(log), f"/v1/sessions/{S}/{route}?after={E1}-99")
        assert (answer.status, answer.json["code"]) == (409, "conflict")


@pytest.mark.parametrize("path", ["/v1", "/v1/sessions/", "/v1/sessions/a/b/c", "/v2/info"])
async def test_a_route_that_is_none_is_told_without_a_code(path: str) -> None:
    answer = await ask(http_app(MemoryLog()), path)
    assert (answer.status, "code" in answer.json) == (404, False)
    assert answer.json["error"] == "There is no such route."


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
async def test_only_reading_is_served(method: str) -> None:
    answer = await ask(http_app(await failed_session()), "/v1/sessions", method=method)
    assert answer.status == 405
    assert set(answer.headers["allow"].split(", ")) == {"GET", "HEAD"}


async def test_asking_for_the_headers_of_a_stream_opens_none() -> None:
    app = http_app(await failed_session())
    async with opened(app, f"/v1/sessions/{S}/events", method="HEAD") as answer:
        assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
        assert await answer.rest() == b""


async def test_it_can_be_mounted_in_another_application() -> None:
    app = Starlette(routes=[Mount("/compass", http_app(await failed_session(), token="x" * 16))])
    assert (await ask(app, "/compass/healthz")).status == 200
    assert (await ask(app, "/compass/v1/sessions")).status == 401
    bearer = {"Authorization": f"Bearer {'x' * 16}"}
    assert (await ask(app, f"/compass/v1/sessions/{S}", headers=bearer)).status == 200
