"""Every way in to one log at once, and what each of them says of an operation that failed."""

from __future__ import annotations

__all__ = ("FailingLog", "Said", "Ways", "opened_ways", "said_by_grpc")

import io
import json
from contextlib import asynccontextmanager, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from google.rpc.error_details_pb2 import ErrorInfo, RetryInfo
from google.rpc.status_pb2 import Status
from grpc import aio
from mcp import Client

from asgi import ask, opened
from compass_agent.cli import main
from compass_agent.log import where
from compass_agent.log.memory import MemoryLog
from compass_agent.runtime.hub import running_hub
from compass_agent.services.http import Pace, Shared, http_app
from compass_agent.services.mcp import mcp_server
from compass_agent.wire.sessions import (
    GET_SESSION,
    LIST_SESSIONS,
    get_request_to_bytes,
)
from hubs import subscribed
from writing_logs import S

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
    from pathlib import Path

    from mcp.types import CallToolResult

    from compass_agent.log.read import SessionSummary
    from compass_agent.log.reading import Place, View
    from compass_agent.services.http import HttpApp

_PATIENCE_S = 10
_SHARED_NAME = "every-way-in"


class FailingLog(MemoryLog):
    """Raises what it is given, whatever is asked."""

    def __init__(self, error: Callable[[], BaseException] | None = None) -> None:
        super().__init__()
        self.error = error

    async def look(self, session: str, place: Place, page_frames: int) -> View | None:
        if self.error is not None:
            raise self.error()
        return await super().look(session, place, page_frames)

    async def sessions(self) -> list[SessionSummary]:
        if self.error is not None:
            raise self.error()
        return await super().sessions()


@dataclass
class Said:
    """What one way in said: the object of the failed operation, and all of its bytes."""

    told: dict[str, Any]
    raw: str


@dataclass
class Ways:
    """All ways in to one log."""

    log: FailingLog
    target: str
    app: HttpApp
    client: Client

    def all(self, session: str = S) -> dict[str, Callable[[], Awaitable[Said]]]:
        """Each way in by its name. All of them ask for something that fails."""
        return {
            "grpc list": lambda: self._unary(LIST_SESSIONS, b""),
            "http list": lambda: self._http("/v1/sessions"),
            "mcp list_sessions": lambda: self._mcp("list_sessions", {}),
            "cli sessions": lambda: self._command("sessions"),
        } | self.of(session)

    def of(self, session: str) -> dict[str, Callable[[], Awaitable[Said]]]:
        """The ways in that ask for one session."""
        route = f"/v1/sessions/{session}"
        one = {"session_id": session}
        return {
            "grpc get": lambda: self._unary(GET_SESSION, get_request_to_bytes(session)),
            "grpc subscribe": lambda: self._subscribed(session),
            "http get": lambda: self._http(route),
            "http frames": lambda: self._http(f"{route}/frames"),
            "http items": lambda: self._http(f"{route}/items"),
            "http export": lambda: self._http(f"{route}/transcript"),
            "http export md": lambda: self._http(f"{route}/transcript?format=md"),
            "sse at once": lambda: self._http(f"{route}/events"),
            "mcp get_session": lambda: self._mcp("get_session", one),
            "mcp read_session": lambda: self._mcp("read_session", one),
            "mcp wait_session": lambda: self._mcp("wait_session", one | {"timeout_s": 5}),
            "mcp explain_error": lambda: self._mcp("explain_error", one),
            "cli tail": lambda: self._command("tail", session, "--no-follow"),
        }

    def later(self) -> dict[str, Callable[[], Awaitable[Said]]]:
        """The ways in that fail after they have given something."""
        return {
            "grpc subscribe, later": lambda: self._subscribed(S, later=True),
            "sse, later": self._events,
        }

    async def _unary(self, method: tuple[str, str], request: bytes) -> Said:
        async with aio.insecure_channel(self.target) as channel:
            call: aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(
                "/{}/{}".format(*method)
            )
            with pytest.raises(aio.AioRpcError) as caught:
                await call(request, timeout=30)
        return said_by_grpc(caught.value)

    async def _subscribed(self, session: str, *, later: bool = False) -> Said:
        with self._calm(later) as break_it:
            async with subscribed(self.target, session_id=session) as reader:
                if later:
                    assert await reader.next() is not None
                break_it()
                with pytest.raises(aio.AioRpcError) as caught, anyio.fail_after(_PATIENCE_S):
                    await reader.rest()
        return said_by_grpc(caught.value)

    async def _http(self, path: str) -> Said:
        answer = await ask(self.app, path)
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.status == answer.json["status"]
        assert answer.json["detail"] == answer.json["error"]
        return Said(_problem(answer.json), repr((answer.headers, answer.body)))

    async def _events(self) -> Said:
        path = f"/v1/sessions/{S}/events"
        with self._calm(True) as break_it:
            async with opened(self.app, path, patience_s=_PATIENCE_S) as answer:
                assert answer.status == 200
                first = await anext(answer.events())
                break_it()
                rest = [event async for event in answer.events()]
        assert first.name == "message"
        assert rest[-1].name == "error"
        return Said(_problem(rest[-1].json), repr((first, rest)))

    @contextmanager
    def _calm(self, calm: bool) -> Generator[Callable[[], None]]:
        """Let the log be read, if so, until what this gives is called."""
        error = self.log.error
        if calm:
            self.log.error = None

        def break_it() -> None:
            self.log.error = error
            self.log.wake.fire(S)

        try:
            yield break_it
        finally:
            self.log.error = error

    async def _mcp(self, tool: str, arguments: dict[str, Any]) -> Said:
        return said_by_mcp(await self.client.call_tool(tool, arguments))

    async def _command(self, *arguments: str) -> Said:
        return await anyio.to_thread.run_sync(_run, arguments)


def said_by_grpc(error: aio.AioRpcError) -> Said:
    """What a plain client of gRPC is told, out of the details alone."""
    found: dict[str, Any] = dict(error.trailing_metadata())
    status, info, retry = (
        Status.FromString(found["grpc-status-details-bin"]),
        ErrorInfo(),
        RetryInfo(),
    )
    assert status.message == error.details()
    assert status.details[0].Unpack(info)
    told: dict[str, Any] = {
        "code": info.reason.lower(),
        "message": status.message,
        "retryable": {"true": True, "false": False}[info.metadata["retryable"]],
        "guidance": info.metadata["guidance"],
    }
    for detail in status.details:
        if detail.Unpack(retry) and retry.HasField("retry_delay"):
            told["retry_after_s"] = retry.retry_delay.seconds + retry.retry_delay.nanos / 1e9
    return Said(told, repr((error, error.trailing_metadata())))


def said_by_mcp(result: CallToolResult) -> Said:
    """What a tool's result tells, in its text and in its structured content."""
    assert result.is_error
    assert [one.type for one in result.content] == ["text"]
    text = getattr(result.content[0], "text", "")
    told = dict(result.structured_content)
    assert json.loads(text) == told
    assert told.pop("success") is False
    return Said(told, result.model_dump_json())


def _run(arguments: tuple[str, ...]) -> Said:
    """Run the command in this process, on a log that this process has."""
    command, *rest = arguments
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        status = main([command, "--json", "--log", f"memory:{_SHARED_NAME}", *rest])
    assert out.getvalue() == ""
    told = json.loads(err.getvalue().splitlines()[-1])
    assert told.pop("success") is False
    assert status != 0
    return Said(told, err.getvalue())


def _problem(body: dict[str, Any]) -> dict[str, Any]:
    names = ("code", "retryable", "guidance", "retry_after_s")
    told = {name: body[name] for name in names if name in body}
    return told | {"message": body["error"]}


@asynccontextmanager
async def opened_ways(
    log: FailingLog, place: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncGenerator[Ways]:
    """All ways in to `log`; `place` is the path of a socket that is not there yet."""
    monkeypatch.setitem(where._SHARED, _SHARED_NAME, log)  # pyright: ignore[reportPrivateUsage] - how a command in this process gets this very log
    async with running_hub(log, unix=place) as hub, Client(mcp_server(log)) as client:
        # Without a pause what is there is sent before what fails is looked at.
        app = http_app(log, shared=Shared(Pace(linger_s=0.0)))
        yield Ways(log, hub.targets[0], app, client)
