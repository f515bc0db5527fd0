"""Runs of the real `claude-agent-sdk`: its bundled command asks the provider on the loopback."""

from __future__ import annotations

import asyncio
import json
import math
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import anyio
import pytest
from provider_server import TEXT, THOUGHT, Provider
from scenes import (
    STOPS,
    Agent,
    Stage,
    check_left_early,
    check_stops,
    check_table,
    play,
    run_samples,
)

from compass_agent import open_session
from compass_agent.adapters.claude_agent_sdk import events
from compass_agent.frames import SessionErrorKind
from compass_agent.testing import CapturedFrames, capture_frames
from compass_agent.testing.told import Told
from recordings import COMMANDS

sdk: Any = import_module("claude_agent_sdk")

# Each run starts a command, which takes seconds where much else runs.
pytestmark = pytest.mark.timeout(300)

ABORTED = SessionErrorKind.SESSION_ERROR_KIND_ABORTED
ENVIRONMENT = {
    "ANTHROPIC_API_KEY": "sk-ant-loopback",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "CLAUDE_CODE_MAX_RETRIES": "0",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "DISABLE_TELEMETRY": "1",
    "NO_PROXY": "127.0.0.1",
}


@asynccontextmanager
async def options_of(stage: Stage) -> AsyncGenerator[Any, None]:
    """Give the options of an agent with one tool and a home of its own."""

    async def weather(arguments: dict[str, Any]) -> dict[str, Any]:
        return {"content": [{"type": "text", "text": await stage.weather(arguments["city"])}]}

    tool = sdk.tool("weather", "Tell the weather", {"city": str})(weather)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        places = {"HOME": home, "CLAUDE_CONFIG_DIR": home, "ANTHROPIC_BASE_URL": stage.url}
        yield sdk.ClaudeAgentOptions(
            allowed_tools=["mcp__sky__weather"],
            cwd=home,
            env={**ENVIRONMENT, **places},
            include_partial_messages=True,
            mcp_servers={"sky": sdk.create_sdk_mcp_server("sky", tools=[tool])},
            model="claude-sonnet-4-5",
            setting_sources=[],
            tools=[],
        )


async def host(stage: Stage) -> AsyncGenerator[Any, None]:
    """Be a host with one question."""
    async with options_of(stage) as options:
        messages = sdk.query(prompt="hi", options=options)
        async with aclosing(events(messages)) as run:
            async for event in run:
                yield event


async def client(stage: Stage) -> AsyncGenerator[Any, None]:
    """Be a host with a client, which stops the turn in the SDK's own way."""
    stopping: list[asyncio.Future[Any]] = []
    async with options_of(stage) as options, sdk.ClaudeSDKClient(options) as talk:
        stage.stop = lambda: stopping.append(asyncio.ensure_future(talk.interrupt()))
        await talk.query("hi")
        async with aclosing(events(talk.receive_response())) as run:
            async for event in run:
                yield event
        await asyncio.gather(*stopping, return_exceptions=True)


AGENT = Agent("claude-agent-sdk", host)
CLIENT = Agent("claude-agent-sdk", client)
OWN_STOPS = ("between deltas", "in a tool", "between tool and next request", "after the last delta")


async def test_the_table_is_what_comes_of_the_scenes(provider: Provider) -> None:
    await check_table(CLIENT, provider)


async def test_words_thoughts_and_tools_come_as_they_are(provider: Provider) -> None:
    played = await play(host, provider, "tool")
    assert played.text() == "".join(TEXT[:2] + TEXT)
    assert f"thinking 2 {THOUGHT}" in played.described()
    assert "update toolu_1 COMPLETED sunny in Oulu" in played.described()


async def test_failures_are_told_once_and_handed_on(provider: Provider) -> None:
    statuses: list[int] = []
    for scene in ("429", "500", "cut"):
        played = await play(host, provider, scene)
        (error,) = played.frames.errors()
        assert "success" not in error.message
        assert isinstance(played.raised, sdk.ResultError)
        assert played.frames.states()[-1] == "ERRORED"
        statuses.append(error.status)
    assert statuses == [429, 500, 0]


async def test_an_answer_that_was_begun_again_is_a_new_message(provider: Provider) -> None:
    played = await play(host, provider, "mid")
    assert played.frames.errors() == []
    texts = [line for line in played.described() if line.startswith("text")]
    assert texts == [f"text 1 {TEXT[0]}", f"text 1 {TEXT[1]}", f"text 2 {''.join(TEXT)}"]


async def test_a_loop_that_is_left_in_a_tool_leaves_none_open(provider: Provider) -> None:
    await check_left_early(CLIENT, provider)


@pytest.mark.parametrize("stop_at", STOPS)
async def test_a_stop_is_never_a_failure(provider: Provider, stop_at: str) -> None:
    # The SDK gives its command five seconds to go: more rounds are below, without a command.
    await check_stops(AGENT, provider, stop_at, rounds=1)


@pytest.mark.parametrize("stop_at", OWN_STOPS)
async def test_its_own_stop_is_never_a_failure(provider: Provider, stop_at: str) -> None:
    await check_stops(CLIENT, provider, stop_at)


async def test_its_own_stop_interrupts_the_tool(provider: Provider) -> None:
    played = await play(client, provider, "tool", stop_at="in a tool")
    assert played.described()[-4:-2] == [
        "update toolu_1 INTERRUPTED",
        "ABORTED - Interrupted by user",
    ]


class Said(sdk.Transport):
    """Stands where the command is: says lines, and answers what the SDK asks of it."""

    def __init__(self, lines: list[dict[str, Any]]) -> None:
        self._lines = lines
        self._send, self._take = anyio.create_memory_object_stream[dict[str, Any]](math.inf)
        self.interrupts = 0

    async def connect(self) -> None:
        """There is nothing to start."""

    async def write(self, data: str) -> None:
        for line in data.splitlines():
            message = json.loads(line)
            if message["type"] == "control_request":
                self.interrupts += message["request"]["subtype"] == "interrupt"
                empty: dict[str, Any] = {}
                told = {"subtype": "success", "request_id": message["request_id"]}
                answer = {"type": "control_response", "response": {**told, "response": empty}}
                self._send.send_nowait(answer)
            elif message["type"] == "user":
                for each in self._lines:
                    self._send.send_nowait(each)

    async def read_messages(self) -> AsyncIterator[dict[str, Any]]:
        async for message in self._take:
            yield message

    async def close(self) -> None:
        self._send.close()
        self._take.close()

    def is_ready(self) -> bool:
        return True

    async def end_input(self) -> None:
        """It may go on."""


def result(**fields: Any) -> dict[str, Any]:
    whole = {"type": "result", "duration_ms": 1, "duration_api_ms": 1, "num_turns": 1}
    return {**whole, "session_id": "s", "is_error": True, "subtype": "success", **fields}


def told_of(frames: CapturedFrames) -> object:
    """Return what is broken in what was told."""
    told = Told()
    return next(filter(None, [*map(told.take, frames), told.end()]), None)


async def told(lines: list[dict[str, Any]]) -> CapturedFrames:
    """Return the frames of a turn in which the command says `lines`."""
    with capture_frames() as frames, anyio.fail_after(10):
        async with (
            open_session("s1") as session,
            sdk.ClaudeSDKClient(sdk.ClaudeAgentOptions(), transport=Said(lines)) as talk,
        ):
            await talk.query("hi")
            await session.drive(events(talk.receive_response()))
    return frames


async def test_a_result_that_failed_is_told_by_its_text() -> None:
    frames = await told([result(errors=[], result="API Error: idle timeout", api_error_status=504)])
    (error,) = frames.errors()
    assert (error.message, error.status) == ("idle timeout", 504)


async def test_a_failed_request_is_no_answer() -> None:
    text = {"type": "text", "text": "API Error: Request rejected (429) · Slow down"}
    message = {"model": "<synthetic>", "content": [text]}
    said = {"type": "assistant", "message": message, "error": "rate_limit"}
    frames = await told([said, result(result=text["text"], api_error_status=429)])
    assert frames.texts() == []
    assert [(error.message, error.status) for error in frames.errors()] == [("Slow down", 429)]


async def test_a_stop_needs_no_text() -> None:
    subtype, reason = "error_during_execution", "aborted_streaming"
    frames = await told([result(subtype=subtype, terminal_reason=reason)])
    (error,) = frames.errors()
    assert error.message == "Interrupted by user"
    assert frames.states()[-2:] == ["READY", "STOPPED"]


async def test_the_sdk_is_read_at_full_speed_so_that_a_stop_gets_its_answer() -> None:
    def delta(number: int) -> dict[str, Any]:
        said = {"type": "text_delta", "text": f"{number} "}
        event = {"type": "content_block_delta", "index": 0, "delta": said}
        return {"type": "stream_event", "uuid": "u", "session_id": "s", "event": event}

    transport = Said([delta(number) for number in range(500)])
    with capture_frames() as frames:
        async with (
            open_session("s1") as session,
            sdk.ClaudeSDKClient(sdk.ClaudeAgentOptions(), transport=transport) as talk,
            anyio.create_task_group() as group,
        ):
            await talk.query("hi")
            group.start_soon(session.drive, events(talk.receive_response()))
            with anyio.fail_after(1):
                await talk.interrupt()
            group.cancel_scope.cancel()
    assert transport.interrupts == 1
    assert len(frames.texts()) > 350


def recorded(name: str) -> list[dict[str, Any]]:
    lines = (COMMANDS / "claude-code" / f"{name}.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines if line]


async def stopped_after(lines: list[dict[str, Any]]) -> CapturedFrames:
    """Return the frames of a turn that is cancelled when the command has said `lines`."""
    transport = Said(lines)
    with capture_frames() as frames:
        async with (
            open_session("s1") as session,
            sdk.ClaudeSDKClient(sdk.ClaudeAgentOptions(), transport=transport) as talk,
            anyio.create_task_group() as group,
        ):
            group.start_soon(session.drive, events(talk.receive_response()))
            await anyio.wait_all_tasks_blocked()
            await talk.query("hi")
            await anyio.wait_all_tasks_blocked()
            group.cancel_scope.cancel()
    return frames


@pytest.mark.parametrize("name", ["tools", "err-mid"])
async def test_a_stop_after_any_message_is_never_a_failure(name: str) -> None:
    lines = recorded(name)
    for count in range(len(lines) + 1):
        frames = await stopped_after(lines[:count])
        kinds = [error.kind for error in frames.errors()]
        complete = not kinds and frames.states()[-2:] == ["READY", "STOPPED"]
        assert kinds == [ABORTED] or complete, f"after {count} messages: {kinds}"
        assert complete == (count == len(lines))
        broken = told_of(frames)
        assert broken is None, f"after {count} messages: {broken}"


@pytest.mark.parametrize("name", ["text", "tools", "plan"])
async def test_recordings_of_the_command_give_the_same_through_the_sdk(name: str) -> None:
    frames = await told(recorded(name))
    assert "".join(frames.texts()).endswith("".join(TEXT))
    kinds = {frame.typed_event.WhichOneof("event") for frame in frames}
    assert kinds >= {"text": {"thinking"}, "tools": {"tool_call"}, "plan": {"plan"}}[name]
    diffs = [diff.path for frame in frames for diff in frame.typed_event.tool_call_update.diffs]
    assert bool(diffs) == (name == "tools")


def test_the_sample_works(provider: Provider, tmp_path: Path) -> None:
    places = {"HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": str(tmp_path)}
    address = {"ANTHROPIC_BASE_URL": f"{provider.url}/ok"}
    (told,) = run_samples("claude-agent-sdk", **ENVIRONMENT, **places, **address)
    assert [line for line in told if line.startswith("text ")] == [
        f"text 1 {text}" for text in TEXT
    ]
    assert told[-2:] == ["state READY", "state STOPPED"]
