"""The real openai-agents, with its scripted model and against the provider on the loopback."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from importlib import import_module
from typing import Any

import anyio
import pytest
from provider_server import TEXT, THOUGHT, Provider
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

from compass_agent import open_session
from compass_agent.adapters.openai_agents import events
from compass_agent.testing import capture_frames
from reading_frames import described

agents: Any = import_module("agents")
scripts: Any = import_module("agents.testing")
openai: Any = import_module("openai")

agents.set_tracing_disabled(disabled=True)
CHAT, RESPONSES = agents.OpenAIChatCompletionsModel, agents.OpenAIResponsesModel


def begun(stage: Stage, client: Any, kind: Any) -> Any:
    """Return a run that has begun."""
    weather = agents.function_tool(stage.weather, name_override="weather")
    agent = agents.Agent(name="a", model=kind("m", openai_client=client), tools=[weather])
    return agents.Runner.run_streamed(agent, "hi")


def client(stage: Stage) -> Any:
    return openai.AsyncOpenAI(base_url=f"{stage.url}/v1", api_key="sk-x", max_retries=0)


async def on_responses(stage: Stage) -> AsyncGenerator[Any, None]:
    async with client(stage) as provider:
        async for event in events(begun(stage, provider, RESPONSES)):
            yield event


async def on_chat(stage: Stage) -> AsyncGenerator[Any, None]:
    async with client(stage) as provider:
        async for event in events(begun(stage, provider, CHAT)):
            yield event


async def by_itself(stage: Stage) -> AsyncGenerator[Any, None]:
    """Be a host that stops the run by the SDK's own means."""
    async with client(stage) as provider:
        run = begun(stage, provider, RESPONSES)
        if stage.stop_at == "before the request":
            run.cancel()
        stage.stop = run.cancel
        async for event in events(run):
            yield event


AGENTS = [
    Agent("openai-agents, Responses", on_responses),
    Agent("openai-agents, Chat Completions", on_chat),
]
both = pytest.mark.parametrize("agent", AGENTS, ids=lambda agent: agent.title)


@both
async def test_the_table_is_what_comes_of_the_scenes(agent: Agent, provider: Provider) -> None:
    await check_table(agent, provider)


@both
async def test_words_thoughts_and_tools_come_as_they_are(agent: Agent, provider: Provider) -> None:
    played = await play(agent.run, provider, "tool")
    assert played.text() == "".join(TEXT[:2] + TEXT)
    assert f"thinking 2 {THOUGHT}" in played.described()
    assert "update call_1 COMPLETED sunny in Oulu" in played.described()


@both
async def test_failures_are_told_once_and_handed_on(agent: Agent, provider: Provider) -> None:
    runs = await check_failures(agent, provider)
    assert isinstance(runs["429"].raised, openai.RateLimitError)
    assert isinstance(runs["500"].raised, openai.InternalServerError)
    assert isinstance(runs["mid"].raised, agents.AgentsException | openai.APIError)
    assert isinstance(runs["cut"].raised, openai.APIConnectionError)


@both
async def test_a_loop_that_is_left_in_a_tool_leaves_none_open(
    agent: Agent, provider: Provider
) -> None:
    await check_left_early(agent, provider)


@both
@pytest.mark.parametrize("stop_at", STOPS)
async def test_a_stop_is_never_a_failure(agent: Agent, provider: Provider, stop_at: str) -> None:
    await check_stops(agent, provider, stop_at)


@pytest.mark.parametrize("stop_at", STOPS)
async def test_a_stop_by_its_own_means_is_never_a_failure(provider: Provider, stop_at: str) -> None:
    await check_stops(Agent("", by_itself), provider, stop_at)


def driven(agent: Any) -> list[str]:
    """Return what a run tells."""

    async def main() -> None:
        async with open_session("s1") as session:
            await session.drive(events(agents.Runner.run_streamed(agent, "hi")))

    with capture_frames() as frames:
        anyio.run(main)
    return described(frames)


def test_an_agent_that_hands_over_says_to_whom() -> None:
    second = agents.Agent(
        name="second", model=scripts.ScriptedModel([[scripts.assistant_message("done")]])
    )
    call = scripts.function_call("transfer_to_second", {}, call_id="c1")
    first = agents.Agent(name="first", model=scripts.ScriptedModel([[call]]), handoffs=[second])
    told = driven(first)
    assert "update c1 COMPLETED Handed over to second" in told
    assert "notice The agent is now second" in told
    assert told[-2:] == ["state READY", "state STOPPED"]


def test_a_call_whose_item_has_the_same_id_begins_and_ends() -> None:
    def weather(city: str) -> str:
        return f"sunny in {city}"

    tool = agents.function_tool(weather)
    call = scripts.function_call("weather", {"city": "Oulu"}, call_id="c1")
    script = scripts.ScriptedModel([[call], [scripts.assistant_message("done")]])
    told = driven(agents.Agent(name="a", model=script, tools=[tool]))
    assert call.id == call.call_id
    assert "tool c1 IN_PROGRESS weather" in told
    assert "update c1 COMPLETED sunny in Oulu" in told


async def test_a_tool_that_needs_an_approval_is_left_to_the_host(provider: Provider) -> None:
    async def asks(stage: Stage) -> AsyncGenerator[Any, None]:
        tool = agents.function_tool(stage.weather, name_override="weather", needs_approval=True)
        async with client(stage) as asked:
            agent = agents.Agent(name="a", model=CHAT("m", openai_client=asked), tools=[tool])
            async for event in events(agents.Runner.run_streamed(agent, "hi")):
                yield event

    played = await play(asks, provider, "tool")
    assert played.stage.cities == []
    assert played.described()[-5:] == [
        "tool call_1 IN_PROGRESS weather",
        "notice Waits for an approval: weather",
        "update call_1 COMPLETED Handed over to the host",
        "state READY",
        "state STOPPED",
    ]


def test_the_sample_works(provider: Provider) -> None:
    settings = {"OPENAI_BASE_URL": f"{provider.url}/ok/v1", "OPENAI_API_KEY": "sk-x"}
    settings["OPENAI_AGENTS_DISABLE_TRACING"] = "1"
    (told,) = run_samples("openai-agents", **settings)
    assert told[-6:-2] == [f"text 1 {text}" for text in TEXT]
    assert told[-2:] == ["state READY", "state STOPPED"]
