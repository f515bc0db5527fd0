"""Turns of the real `agent-client-protocol`, both sides of it, over its memory transport."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import anyio
import pytest
from provider_server import THOUGHT, Provider
from scenes import (
    STOPS,
    Agent,
    Stage,
    check_failures,
    check_left_early,
    check_stops,
    check_table,
    play,
    run_samples,
)

from clis.dialects import TEXT
from compass_agent.adapters.acp import Updates

acp: Any = import_module("acp")
agent_side: Any = import_module("acp.agent.connection")
client_side: Any = import_module("acp.client.connection")
schema: Any = import_module("acp.schema")
transport: Any = import_module("acp._transport")

# It prints a trace of each failure that it answers with.
logging.getLogger().setLevel(logging.CRITICAL)


SECRET = f"sk-ant-{'x1' * 16}"


class Peer:
    """An agent that plays the scenes of the provider in its own words."""

    answers = True

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._scene = stage.url.rsplit("/", 1)[1]
        self.cancelled = asyncio.Event()
        self.close: Any = None
        self._link: Any = None

    def on_connect(self, link: Any) -> None:
        self._link = link

    async def initialize(self, protocol_version: int, **_: Any) -> Any:
        return schema.InitializeResponse(protocol_version=protocol_version)

    async def new_session(self, **_: Any) -> Any:
        return schema.NewSessionResponse(session_id="s1")

    async def cancel(self, session_id: str, **_: Any) -> None:
        del session_id
        self.cancelled.set()

    async def tell(self, update: Any) -> None:
        await self._link.session_update(session_id="s1", update=update)

    async def say(self, texts: tuple[str, ...]) -> None:
        for text in texts:
            await self.tell(acp.update_agent_message_text(text))

    async def hold(self) -> Any:
        """Do nothing until the client asks to stop."""
        await self.cancelled.wait()
        if not self.answers:
            await anyio.sleep_forever()
        return schema.PromptResponse(stop_reason="cancelled")

    async def prompt(self, **_: Any) -> Any:
        match self._scene:
            case "429":
                data = {"status": 429, "retry_after": 7}
                raise acp.RequestError(-32603, "Rate limit reached for loopback", data)
            case "500":
                raise RuntimeError("The server had an error")
            case "hold-connect":
                await self._stage.stop_soon()
                return await self.hold()
            case "mid" | "cut" | "close" | "hold-deltas":
                await self.say(TEXT[:2])
                return await self._break_off()
            case "tool" | "hold-next":
                if (ended := await self._use_tool()) is not None:
                    return ended
            case _:
                pass
        await self.tell(acp.update_agent_thought_text(THOUGHT))
        await self.say(TEXT)
        if self._scene == "hold-last":
            return await self.hold()
        return schema.PromptResponse(stop_reason="end_turn")

    async def _break_off(self) -> Any:
        if self._scene == "hold-deltas":
            return await self.hold()
        if self._scene == "mid":
            raise acp.RequestError(-32603, "Overloaded in the middle of the answer")
        await self.close()
        return await self.hold()

    async def _use_tool(self) -> Any:
        await self.tell(acp.update_plan([acp.plan_entry("Look", status="in_progress")]))
        await self.say(TEXT[:2])
        await self.tell(acp.start_tool_call("call_1", "weather", kind="fetch", status="pending"))
        await self.tell(acp.update_tool_call("call_1", status="in_progress"))
        looking = asyncio.ensure_future(self._stage.weather("Oulu"))
        stopping = asyncio.ensure_future(self.cancelled.wait())
        try:
            await asyncio.wait({looking, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if not looking.done():
                return await self.hold()
            said = acp.tool_content(acp.text_block(looking.result()))
        finally:
            looking.cancel()
            stopping.cancel()
        diff = acp.tool_diff_content("sky.txt", "sunny\n", "cloudy\n")
        update = acp.update_tool_call("call_1", status="completed", content=[said, diff])
        await self.tell(update)
        return await self.hold() if self._scene == "hold-next" else None


class Client:
    """A client whose handler takes its time."""

    def on_connect(self, link: Any) -> None:
        """It needs no link."""

    async def session_update(self, **_: Any) -> None:
        await anyio.lowlevel.checkpoint()

    async def request_permission(self, options: list[Any], **_: Any) -> Any:
        outcome = schema.AllowedOutcome(outcome="selected", option_id=options[0].option_id)
        return schema.RequestPermissionResponse(outcome=outcome)


async def turn(
    stage: Stage,
    *,
    kind: type[Peer] = Peer,
    client: Callable[[Stage], Any] = lambda _: Client(),
    by_protocol: bool = False,
    grace: float = 2.0,
) -> AsyncGenerator[Any, None]:
    """Be a host with one prompt."""
    here, there = transport.memory_transport_pair()
    peer = kind(stage)
    updates = Updates(grace=grace)
    serving = agent_side.AgentSideConnection(peer, there)
    peer.close = there.close
    link = client_side.ClientSideConnection(client(stage), here, observers=[updates])
    stopping: list[asyncio.Future[Any]] = []
    if by_protocol:
        stop = link.cancel
        stage.stop = lambda: stopping.append(asyncio.ensure_future(stop(session_id="s1")))
    try:
        await link.initialize(protocol_version=acp.PROTOCOL_VERSION)
        made = await link.new_session(cwd="/", mcp_servers=[])
        prompt = [acp.text_block("hi")]
        asked = updates.turn(link, session_id=made.session_id, prompt=prompt)
        async with aclosing(asked):
            async for event in asked:
                yield event
    finally:
        with anyio.CancelScope(shield=True):
            # One that comes when all is over finds nobody to stop.
            await asyncio.gather(*stopping, return_exceptions=True)
            await link.close()
            await serving.close()


AGENT = Agent("ACP", turn)
BY_PROTOCOL = Agent("ACP", partial(turn, by_protocol=True))


async def test_the_table_is_what_comes_of_the_scenes(provider: Provider) -> None:
    await check_table(BY_PROTOCOL, provider)


async def test_words_thoughts_tools_plans_and_diffs_come_as_they_are(provider: Provider) -> None:
    played = await play(turn, provider, "tool")
    assert played.described()[2:-2] == [
        "prompt 1 hi",
        "plan IN_PROGRESS Look",
        *(f"text 2 {text}" for text in TEXT[:2]),
        "tool call_1 IN_PROGRESS weather",
        "update call_1 COMPLETED sunny in Oulu",
        f"thinking 3 {THOUGHT}",
        *(f"text 3 {text}" for text in TEXT),
    ]
    ((diff,),) = (
        [*frame.typed_event.tool_call_update.diffs]
        for frame in played.frames
        if frame.typed_event.tool_call_update.diffs
    )
    assert (diff.path, diff.old_text, diff.new_text) == ("sky.txt", "cloudy\n", "sunny\n")


async def test_failures_are_told_once_and_handed_on(provider: Provider) -> None:
    runs = await check_failures(AGENT, provider)
    for scene in ("429", "500", "mid"):
        assert isinstance(runs[scene].raised, acp.RequestError)
    assert isinstance(runs["cut"].raised, ConnectionError)


async def test_a_loop_that_is_left_in_a_tool_leaves_none_open(provider: Provider) -> None:
    await check_left_early(AGENT, provider)


@pytest.mark.parametrize("stop_at", STOPS)
@pytest.mark.parametrize("agent", [AGENT, BY_PROTOCOL], ids=["cancel", "protocol"])
async def test_a_stop_is_never_a_failure(provider: Provider, agent: Agent, stop_at: str) -> None:
    await check_stops(agent, provider, stop_at)


async def test_an_agent_that_does_not_answer_a_stop_is_not_waited_for(provider: Provider) -> None:
    class Deaf(Peer):
        answers = False

    run = partial(turn, kind=Deaf, by_protocol=True, grace=0.1)
    with anyio.fail_after(10):
        played = await play(run, provider, "tool", stop_at="in a tool")
    assert played.described()[-4:-2] == [
        "update call_1 INTERRUPTED",
        "ABORTED - Stopped by the client; the agent did not answer",
    ]


async def test_an_agent_that_answers_a_stop_with_an_error_was_stopped(provider: Provider) -> None:
    class Rude(Peer):
        async def hold(self) -> Any:
            await super().hold()
            raise acp.RequestError(-32000, "The operation was aborted")

    run = partial(turn, kind=Rude, by_protocol=True)
    played = await play(run, provider, "hold-deltas", stop_at="between deltas")
    assert isinstance(played.raised, acp.RequestError)
    assert played.described()[-3] == "ABORTED - Stopped by the client"


@pytest.mark.parametrize(
    ("reason", "told"),
    [
        ("max_tokens", ["notice The answer was cut at the token limit", "state READY"]),
        ("refusal", ["ERROR - The agent refused to go on", "state ERRORED"]),
        (
            "max_turn_requests",
            ["ERROR - The agent made as many requests as one turn may make", "state ERRORED"],
        ),
    ],
)
async def test_how_a_turn_ends_is_told(provider: Provider, reason: str, told: list[str]) -> None:
    class Ending(Peer):
        async def prompt(self, **_: Any) -> Any:
            await self.say(TEXT)
            return schema.PromptResponse(stop_reason=reason)

    run = partial(turn, kind=Ending)
    played = await play(run, provider, "ok")
    after = played.described()[3 + len(TEXT) :]
    assert after[:2] == told


class Asking(Peer):
    """An agent that asks for permission, and waits."""

    async def prompt(self, **_: Any) -> Any:
        await self.tell(acp.start_tool_call("call_1", "write sky.txt", kind="edit"))
        option = schema.PermissionOption(option_id="yes", name="Yes", kind="allow_once")
        call = schema.ToolCallUpdate(tool_call_id="call_1", title="write sky.txt")
        await self._link.request_permission(session_id="s1", tool_call=call, options=[option])
        await self.tell(acp.update_tool_call("call_1", status="completed"))
        return schema.PromptResponse(stop_reason="end_turn")


async def test_a_request_for_permission_and_its_answer_are_told(provider: Provider) -> None:
    run = partial(turn, kind=Asking)
    played = await play(run, provider, "ok")
    assert played.described()[3:-2] == [
        "tool call_1 IN_PROGRESS write sky.txt",
        "notice Asks for permission: write sky.txt (call_1)",
        "notice Answered with yes: write sky.txt (call_1)",
        "update call_1 COMPLETED",
    ]


@pytest.mark.parametrize(
    ("by_protocol", "aborted"),
    [
        (True, "ABORTED - Stopped by the client; the agent did not answer"),
        (False, "ABORTED - The host stopped the work"),
    ],
)
async def test_a_stop_withdraws_the_request_for_permission(
    provider: Provider, by_protocol: bool, aborted: str
) -> None:
    class Undecided(Client):
        def __init__(self, stage: Stage) -> None:
            self._stage = stage

        async def request_permission(self, options: list[Any], **_: Any) -> Any:
            del options
            await self._stage.stop_soon()
            await anyio.sleep_forever()

    run = partial(turn, kind=Asking, client=Undecided, by_protocol=by_protocol, grace=0.1)
    played = await play(run, provider, "ok", stop_at="in a question")
    told = played.described()
    assert told[4 : told.index(aborted) + 1] == [
        "notice Asks for permission: write sky.txt (call_1)",
        "notice The request for permission was withdrawn: write sky.txt (call_1)",
        "update call_1 INTERRUPTED",
        aborted,
    ]


async def test_an_agent_whose_turn_is_left_is_asked_to_stop(provider: Provider) -> None:
    asked: list[Peer] = []

    class Heard(Peer):
        async def cancel(self, session_id: str, **more: Any) -> None:
            asked.append(self)
            await super().cancel(session_id, **more)

    await play(partial(turn, kind=Heard), provider, "hold-deltas", stop_at="between deltas")
    assert len(asked) == 1


async def test_what_an_agent_made_of_an_exception_holds_no_secret(provider: Provider) -> None:
    class Leaking(Peer):
        async def prompt(self, **_: Any) -> Any:
            raise RuntimeError(json.dumps({"api_key": SECRET, "x": 1}))

    run = partial(turn, kind=Leaking)
    played = await play(run, provider, "ok")
    assert not any(SECRET in str(frame) for frame in played.frames)
    assert [error.message for error in played.frames.errors()] == ["Internal error"]


PEER = """
import asyncio, acp
from acp import schema


class Peer(acp.Agent):
    def on_connect(self, conn):
        self.client = conn

    async def initialize(self, protocol_version, **_):
        return schema.InitializeResponse(protocol_version=protocol_version)

    async def new_session(self, **_):
        return schema.NewSessionResponse(session_id="s1")

    async def prompt(self, **_):
        said = acp.update_agent_message_text("hello")
        await self.client.session_update(session_id="s1", update=said)
        return schema.PromptResponse(stop_reason="end_turn")


asyncio.run(acp.run_agent(Peer()))
"""


def test_the_sample_works(tmp_path: Path) -> None:
    command = tmp_path / "my-agent"
    command.write_text(f"#!{sys.executable}\n{PEER}", "utf-8")
    command.chmod(0o700)
    (told,) = run_samples("ACP", PATH=f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assert "text 2 hello" in told
    assert told[-2:] == ["state READY", "state STOPPED"]
