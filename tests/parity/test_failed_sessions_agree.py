"""A stored failure is shown alike by every way in: what the agent told and what follows."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stderr, redirect_stdout
from typing import TYPE_CHECKING, Any, NamedTuple

import anyio
import pytest
from google.protobuf.json_format import ParseDict

from asgi import ask
from compass_agent.cli import main
from compass_agent.frames import FrameBuilder, SessionError, SessionErrorKind
from compass_agent.services import read_session
from compass_agent.services.as_json import cause_to_dict
from compass_agent.services.grpc import HubReader
from compass_agent.view.failure import explain
from compass_agent.wire import FrameItem, SessionMeta, decode_frame
from hubs import subscribed
from ways_in import FailingLog, Ways, opened_ways
from writing_logs import E1, S, batch, end, state

if TYPE_CHECKING:
    from pathlib import Path

KIND = SessionErrorKind
BUILD = FrameBuilder(lambda: 1_700_000_000_000)


class Case(NamedTuple):
    """A failure, what is shown of it, and the exit status of a tail."""

    frame: Any
    shown: dict[str, Any]
    exit_status: int


CASES = {
    "429": Case(
        BUILD.session_error(
            KIND.SESSION_ERROR_KIND_ERROR,
            "Slow down",
            status=429,
            retry_after_ms=20_000,
            code="rate_limit_error",
            request_id="req_011",
        ),
        {
            "kind": "SESSION_ERROR_KIND_ERROR",
            "message": "Slow down",
            "status": 429,
            "retryAfterMs": "20000",
            "code": "rate_limit_error",
            "requestId": "req_011",
            "title": "Rate limited",
            "retryable": True,
        },
        75,
    ),
    "empty": Case(
        BUILD.session_error(KIND.SESSION_ERROR_KIND_ERROR, ""),
        {"kind": "SESSION_ERROR_KIND_ERROR", "message": "", "retryable": None},
        3,
    ),
    "aborted": Case(
        BUILD.session_error(KIND.SESSION_ERROR_KIND_ABORTED, "Stopped", stopped_by="user"),
        {
            "kind": "SESSION_ERROR_KIND_ABORTED",
            "message": "Stopped",
            "stoppedBy": "user",
            "title": "Turn aborted",
            "retryable": None,
            "guidance": "",
        },
        0,
    ),
}


async def stored(case: Case) -> FailingLog:
    log = FailingLog()
    await log.open(S, E1, SessionMeta("Fix it", "pi", "1"))
    after = 4 if "ABORTED" in case.shown["kind"] else 5
    priority = {2: case.frame.SerializeToString(), 3: state(after)}
    await log.append(batch(1, priority=priority, trace=[1], through=3))
    await log.append(end(2, 3, prev_priority=3))
    return log


def derived(error: SessionError) -> dict[str, Any]:
    """What a reader of raw frames makes of one."""
    return cause_to_dict(explain(error))


def from_json(told: dict[str, Any]) -> dict[str, Any]:
    return derived(ParseDict(told, SessionError()))


def command(*arguments: str) -> tuple[int, str]:
    """Run the command in this process; no word may be on standard error."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        status = main([*arguments, "--log", "memory:every-way-in"])
    assert err.getvalue() == ""
    return status, out.getvalue()


async def by_grpc(ways: Ways) -> dict[str, dict[str, Any]]:
    reader = HubReader(ways.target)
    try:
        listed = (await reader.sessions())[0].last_error
        got = (await reader.session(S)).last_error
        page = await read_session(reader, S, kinds=("session_error",))
    finally:
        await reader.aclose()
    assert listed is not None
    assert got is not None
    frames = [decode_frame(one.data) for one in page.items if isinstance(one, FrameItem)]
    async with subscribed(ways.target, session_id=S, kinds=["session_error"]) as plain:
        events = [one.event for one in await plain.rest() if one.HasField("event")]
    told = [one.session_error for one in events if one.HasField("session_error")]
    return {
        "grpc list": derived(listed),
        "grpc get": derived(got),
        "grpc read": derived(frames[0].typed_event.session_error),
        "grpc subscribe": derived(told[0]),
    }


async def by_http(ways: Ways) -> dict[str, dict[str, Any]]:
    route = f"/v1/sessions/{S}"
    listed = (await ask(ways.app, "/v1/sessions")).json["sessions"]
    items = (await ask(ways.app, f"{route}/items?kind=sessionError")).json["items"]
    frames = (await ask(ways.app, f"{route}/frames?kind=sessionError")).json["frames"]
    export = (await ask(ways.app, f"{route}/transcript")).body.decode().splitlines()
    stream = (await ask(ways.app, f"{route}/events")).body.decode().splitlines()
    sent = [json.loads(line[6:]) for line in stream if "sessionError" in line]
    return {
        "http list": listed[0]["lastError"],
        "http get": (await ask(ways.app, route)).json["lastError"],
        "http items": items[0]["sessionError"],
        "http frames": from_json(frames[0]["event"]["sessionError"]),
        "http export": from_json(json.loads(export[1])["event"]["sessionError"]),
        "sse": from_json(sent[0]["event"]["sessionError"]),
    }


async def by_mcp(ways: Ways) -> tuple[dict[str, dict[str, Any]], str]:
    told: dict[str, Any] = {}
    texts: list[str] = []
    for tool, more in {
        "list_sessions": {},
        "get_session": {"session_id": S},
        "read_session": {"session_id": S, "kinds": ["sessionError"]},
        "wait_session": {"session_id": S, "until": "ended", "timeout_s": 5},
        "explain_error": {"session_id": S},
    }.items():
        result = await ways.client.call_tool(tool, more)
        assert not result.is_error
        told[tool] = result.structured_content
        texts += [getattr(one, "text", "") for one in result.content]
    shown = {
        "mcp list_sessions": told["list_sessions"]["sessions"][0]["lastError"],
        "mcp get_session": told["get_session"]["lastError"],
        "mcp read_session": told["read_session"]["items"][0]["sessionError"],
        "mcp wait_session": told["wait_session"]["lastError"],
        "mcp explain_error": told["explain_error"]["error"],
    }
    return shown, texts[-1]


async def by_command() -> tuple[dict[str, dict[str, Any]], int, str]:
    run = anyio.to_thread.run_sync
    _, listed = await run(command, "sessions", "--json")
    status, tailed = await run(command, "tail", S, "--json")
    _, text = await run(command, "tail", S)
    frames = [json.loads(line) for line in tailed.splitlines()]
    told = [one["event"]["sessionError"] for one in frames if "sessionError" in str(one)]
    shown = {
        "cli sessions": json.loads(listed)["lastError"],
        "cli tail": from_json(told[0]),
    }
    return shown, status, text


@pytest.mark.requirement("G-ERR-4")
@pytest.mark.parametrize("name", CASES)
async def test_a_stored_failure_is_shown_alike_by_every_way_in(
    place: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    case = CASES[name]
    log = await stored(case)
    async with opened_ways(log, place, monkeypatch) as ways:
        by_tool, explained = await by_mcp(ways)
        by_line, status, tailed = await by_command()
        shown = await by_grpc(ways) | await by_http(ways) | by_tool | by_line
    first = shown["http get"]
    assert case.shown.items() <= first.items()
    assert {"title", "retryable", "guidance"} <= set(first)
    assert shown == dict.fromkeys(shown, first)
    assert len(shown) == 17
    assert status == case.exit_status
    for text in (tailed, explained):
        assert first["title"] in text
        assert (first["message"] or "no message") in text
        assert first["guidance"] in text
