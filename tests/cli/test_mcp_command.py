"""`compass mcp` as clients start it: the official client, and plain lines, over real pipes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Literal, TextIO

import anyio
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from commands import COMPASS, compass
from compass_agent import open_session
from compass_agent.errors.codes import ErrorCode, OperationError
from compass_agent.errors.told import format_operation_error
from compass_agent.runtime.hub import running_hub
from hubs import short_folder
from inner_events import assistant_end, delta, message_start
from ways_in import FailingLog

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

SECRET = "sk-ant-api03-" + "a1B2c3D4" * 6


@asynccontextmanager
async def connected(
    log: str, errors: TextIO, mode: Literal["auto", "legacy"] = "auto"
) -> AsyncGenerator[Client]:
    """The official client, at the real command."""
    server = StdioServerParameters(command=COMPASS, args=["mcp", "--log", log], env={**os.environ})
    with anyio.fail_after(40):
        async with Client(stdio_client(server, errors), mode=mode) as client:
            yield client


def failed_session(log: str) -> None:
    with open_session("s1", log=log, title="Fix it", agent="pi") as session:
        session.feed(message_start())
        session.feed(delta("Looking"))
        session.feed(assistant_end("error", errorMessage="Overloaded", errorStatus=529))


@pytest.mark.requirement("G-MCP-2")
async def test_the_official_client_reads_a_failed_session_from_a_file(tmp_path: Path) -> None:
    log = f"sqlite:{tmp_path / 'log.db'}"
    failed_session(log)
    with (tmp_path / "errors").open("w+") as errors:
        async with connected(log, errors) as client:
            why = await client.call_tool("explain_error", {"session_id": "s1"})
            given = {"session_id": "s1", "until": "ended", "timeout_s": 5}
            waited = await client.call_tool("wait_session", given)
            absent = await client.call_tool("read_session", {"session_id": "nobody"})
        errors.seek(0)
        assert errors.read() == ""
    assert (why.is_error, waited.is_error, absent.is_error) == (False, False, True)
    error = why.structured_content["error"]
    assert (error["message"], error["status"], error["retryable"]) == ("Overloaded", 529, True)
    assert waited.structured_content["reason"] == "ended"
    assert absent.structured_content == format_operation_error(OperationError(ErrorCode.NOT_FOUND))


@pytest.mark.requirement("G-ERR-4")
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_every_code_crosses_a_hub_and_the_real_command_as_it_is() -> None:
    log = FailingLog()
    told: dict[ErrorCode, Any] = {}
    with short_folder() as folder, (folder / "errors").open("w+") as errors:
        async with (
            running_hub(log, unix=folder / "hub.sock") as hub,
            connected(hub.targets[0], errors, "legacy") as client,
        ):
            for code in ErrorCode:
                log.error = lambda code=code: OperationError(code, retry_after_s=7.25)
                result = await client.call_tool("list_sessions", {})
                assert result.is_error
                told[code] = result.structured_content
            log.error = lambda: RuntimeError(SECRET)
            result = await client.call_tool("list_sessions", {})
        errors.seek(0)
        said = errors.read()
    for code, one in told.items():
        assert one == format_operation_error(OperationError(code, retry_after_s=7.25))
    internal = format_operation_error(OperationError(ErrorCode.INTERNAL))
    assert result.structured_content == internal
    assert SECRET not in said + result.model_dump_json()
    # Once for each that is logged: `unavailable`, `storage_failed`, `internal`; the last is, to
    # this process, the third again.
    assert said.count("an operation failed") == 3


def started(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [COMPASS, "mcp", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def request(number: int, method: str, **params: Any) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + "\n"


INITIALIZE = request(
    1,
    "initialize",
    protocolVersion="2025-06-18",
    capabilities={},
    clientInfo={"name": "test", "version": "1"},
)


@pytest.mark.requirement("G-MCP-3")
def test_standard_output_holds_the_protocol_alone_and_the_end_of_input_is_the_end(
    tmp_path: Path,
) -> None:
    log = f"sqlite:{tmp_path / 'log.db'}"
    failed_session(log)
    lines = [
        INITIALIZE,
        '{"jsonrpc": "2.0", "method": "notifications/initialized"}\n',
        "this is no message\n",
        request(2, "tools/list"),
        request(3, "tools/call", name="read_session", arguments={"session_id": "s1"}),
        request(4, "tools/call", name="read_session", arguments={"session_id": 1}),
    ]
    with started("--log", log) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("".join(lines))
        process.stdin.flush()
        answers: dict[int, Any] = {}
        while not {1, 2, 3, 4} <= set(answers):
            answer = json.loads(process.stdout.readline())
            assert answer["jsonrpc"] == "2.0"
            answers[answer.get("id")] = answer
        process.stdin.close()
        assert process.stdout.read() == ""
        assert process.wait(20) == 0
    assert answers[1]["result"]["serverInfo"]["name"] == "compass"
    assert len(answers[2]["result"]["tools"]) == 5
    assert "Overloaded" in json.dumps(answers[3]["result"])
    assert answers[4]["error"]["code"] == -32602


def test_it_can_be_interrupted_at_once(tmp_path: Path) -> None:
    with started("--log", f"sqlite:{tmp_path / 'log.db'}") as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(INITIALIZE)
        process.stdin.flush()
        assert process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == -signal.SIGINT


def test_a_log_that_is_none_is_told_before_anything_is_served() -> None:
    done = compass("mcp", "--log", "nonsense:x")
    assert (done.returncode, done.stdout) == (65, "")
    assert done.stderr.startswith("compass: ")
