"""A request that cannot be read is told alike by gRPC, HTTP and MCP, before anything is read."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import grpc
import pytest
from grpc import aio
from mcp import MCPError

from asgi import ask
from compass.v1.compass_pb2 import ListSessionsRequest, SubscribeAgentSessionRequest
from compass_agent.services.requests import KINDS
from compass_agent.wire.relay import SUBSCRIBE
from compass_agent.wire.sessions import LIST_SESSIONS
from ways_in import FailingLog, opened_ways
from writing_logs import E1, S, batch

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from google.protobuf.message import Message

    from ways_in import Ways

LIMIT = "a whole number from 1 to 1000"
STATE = "one of STARTING, READY, WORKING, STOPPED, ERRORED, DISCONNECTED"
PAGE = "what the page before gave, as it was given"
KIND = f"one of {', '.join(sorted(KINDS))}"
CURSOR = "a cursor looks like 0123456789abcdef-42: an epoch and a sequence number"

_Issues = list[tuple[str, str]]


@dataclass
class Slip:
    """One request as each way in is asked, and what is wrong with it by each one's names."""

    http: list[str]
    mcp: list[tuple[str, dict[str, Any]]]
    grpc: list[Message]
    issues: _Issues
    names: dict[str, str] = field(default_factory=dict[str, str])


def listed(**given: Any) -> ListSessionsRequest:
    return ListSessionsRequest(**given)


def frames(query: str) -> list[str]:
    return [f"/v1/sessions/{S}/{route}?{query}" for route in ("frames", "items")]


READ = {"session_id": S}
SLIPS = {
    "a limit too large": Slip(
        ["/v1/sessions?limit=1001", *frames("limit=1001")],
        [("list_sessions", {"limit": 1001}), ("read_session", READ | {"limit": 1001})],
        [listed(limit=1001), listed(limit=2**32 - 1)],
        [("limit", LIMIT)],
    ),
    "a limit too small": Slip(
        ["/v1/sessions?limit=0", "/v1/sessions?limit=-1", *frames("limit=0")],
        [("list_sessions", {"limit": 0}), ("read_session", READ | {"limit": -1})],
        [],  # 0 is what nobody gave
        [("limit", LIMIT)],
    ),
    "a limit that is no number": Slip(
        ["/v1/sessions?limit=many", *frames("limit=1.5")],
        [("list_sessions", {"limit": "5"}), ("read_session", READ | {"limit": 1.5})],
        [],
        [("limit", LIMIT)],
    ),
    "a state that there is not": Slip(
        ["/v1/sessions?state=gone"],
        [("list_sessions", {"state": "gone"})],
        [listed(states=[99]), listed(states=[5, 99])],
        [("state", STATE)],
        {"state": "states"},
    ),
    "a state that is none": Slip(
        ["/v1/sessions?state=UNSPECIFIED", "/v1/sessions?state=AGENT_SESSION_STATE_UNSPECIFIED"],
        [("list_sessions", {"state": "UNSPECIFIED"})],
        [listed(states=[0])],
        [("state", STATE)],
        {"state": "states"},
    ),
    "a page that nobody gave": Slip(
        ["/v1/sessions?page=x"],
        [("list_sessions", {"page": "x"})],
        [listed(page_token="x")],  # noqa: S106 - of a page
        [("page", PAGE)],
        {"page": "page_token"},
    ),
    "all of it at once": Slip(
        ["/v1/sessions?page=x&limit=1001&state=gone"],
        [("list_sessions", {"page": "x", "state": "gone", "limit": 1001})],
        [listed(states=[98, 99], limit=1001, page_token="x")],  # noqa: S106 - of a page
        [("limit", LIMIT), ("page", PAGE), ("state", STATE)],
        {"page": "page_token", "state": "states"},
    ),
    "a kind that there is not": Slip(
        frames("kind=tools"),
        [("read_session", READ | {"kinds": ["tools", "state"]})],
        [
            SubscribeAgentSessionRequest(session_id=S, kinds=["tools"]),
            SubscribeAgentSessionRequest(session_id="-no-id", kinds=["tools", "nonsense"]),
        ],
        [("kind", KIND)],
        {"kind": "kinds"},
    ),
    "a cursor that is none": Slip(
        [*frames("after=7"), f"/v1/sessions/{S}/events?after=7"],
        [("read_session", READ | {"after": "7"}), ("wait_session", READ | {"after": "7"})],
        [],  # has an epoch and a number
        [("after", CURSOR)],
    ),
}


@asynccontextmanager
async def unreadable(place: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[Ways]:
    """Every way in to a log of which nothing may be read."""
    log = FailingLog()
    await log.open(S, E1)
    await log.append(batch(1, trace=[1, 2], through=2))
    async with opened_ways(log, place, monkeypatch) as ways:
        log.error = lambda: AssertionError("it was read")
        yield ways


@pytest.mark.requirement("G-ERR-5")
@pytest.mark.parametrize("name", SLIPS)
async def test_a_request_that_cannot_be_read_is_told_alike_by_every_way_in(
    place: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    slip = SLIPS[name]
    async with unreadable(place, monkeypatch) as ways:
        for path in slip.http:
            answer = await ask(ways.app, path)
            assert (path, answer.status) == (path, 400)
            assert "code" not in answer.json
            assert issues_of(answer.json) == slip.issues
        for tool, arguments in slip.mcp:
            with pytest.raises(MCPError) as refused:
                await ways.client.call_tool(tool, arguments)
            assert (tool, refused.value.code) == (tool, -32602)
            names = {"kind": "kinds"}
            assert issues_of(refused.value.data) == named(slip.issues, names)
        for request in slip.grpc:
            error = await refused_by_grpc(ways.target, request)
            assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
            assert "grpc-status-details-bin" not in dict(error.trailing_metadata() or ())
            told = [tuple(part.split(": ", 1)) for part in (error.details() or "").split("; ")]
            assert sorted(told) == named(slip.issues, slip.names)


async def test_over_grpc_a_limit_of_0_is_the_hubs_own(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = FailingLog()
    await log.open(S, E1)
    async with opened_ways(log, place, monkeypatch) as ways, channel(ways.target) as one:
        for limit in (0, 1, 1000):
            ask: aio.UnaryUnaryMultiCallable[bytes, bytes] = one.unary_unary(
                "/{}/{}".format(*LIST_SESSIONS)
            )
            assert S.encode() in await ask(listed(limit=limit).SerializeToString(), timeout=30)


def issues_of(body: dict[str, Any]) -> _Issues:
    return sorted((one["path"], one["message"]) for one in body["issues"])


def named(issues: _Issues, names: dict[str, str]) -> _Issues:
    return sorted((names.get(path, path), message) for path, message in issues)


@asynccontextmanager
async def channel(target: str) -> AsyncGenerator[aio.Channel]:
    async with aio.insecure_channel(target) as one:
        yield one


async def refused_by_grpc(target: str, request: Message) -> aio.AioRpcError:
    data = request.SerializeToString()
    async with channel(target) as one:
        method = LIST_SESSIONS if isinstance(request, ListSessionsRequest) else SUBSCRIBE
        # Both are asked as a stream is: what comes first is the refusal.
        ask: aio.UnaryStreamMultiCallable[bytes, bytes] = one.unary_stream("/{}/{}".format(*method))
        with pytest.raises(aio.AioRpcError) as caught:
            await ask(data, timeout=30).read()
    return caught.value
