"""The real pydantic-ai, with its own models and against the provider on the loopback."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from dataclasses import make_dataclass
from importlib import import_module
from typing import Any

import anyio
import pytest
from provider_server import TEXT, THOUGHT, Provider
from scenes import (
    STOPS,
    Agent,
    Stage,
    check_cut_off,
    check_failures,
    check_left_early,
    check_stops,
    check_table,
    play,
    run_samples,
)

from compass_agent import open_session
from compass_agent.adapters.pydantic_ai import events
from compass_agent.testing import capture_frames
from reading_frames import described

ai: Any = import_module("pydantic_ai")
models: Any = import_module("pydantic_ai.models.function")
openai_models: Any = import_module("pydantic_ai.models.openai")
openai_providers: Any = import_module("pydantic_ai.providers.openai")
anthropic_models: Any = import_module("pydantic_ai.models.anthropic")
anthropic_providers: Any = import_module("pydantic_ai.providers.anthropic")
openai: Any = import_module("openai")
anthropic: Any = import_module("anthropic")


def openai_model(client: Any) -> Any:
    provider = openai_providers.OpenAIProvider(openai_client=client)
    return openai_models.OpenAIChatModel("m", provider=provider)


def anthropic_model(client: Any) -> Any:
    provider = anthropic_providers.AnthropicProvider(anthropic_client=client)
    return anthropic_models.AnthropicModel("m", provider=provider)


async def on_openai(stage: Stage) -> AsyncGenerator[Any, None]:
    client = openai.AsyncOpenAI(base_url=f"{stage.url}/v1", api_key="sk-x", max_retries=0)
    async with client:
        agent = ai.Agent(openai_model(client), tools=[stage.weather])
        async for event in events(agent.run_stream_events("hi")):
            yield event


async def on_anthropic(stage: Stage) -> AsyncGenerator[Any, None]:
    client = anthropic.AsyncAnthropic(base_url=stage.url, api_key="sk-x", max_retries=0)
    async with client:
        agent = ai.Agent(anthropic_model(client), tools=[stage.weather])
        async for event in events(agent.run_stream_events("hi")):
            yield event


async def by_itself(stage: Stage) -> AsyncGenerator[Any, None]:
    """Be a host that stops the run by the SDK's own means."""
    client = openai.AsyncOpenAI(base_url=f"{stage.url}/v1", api_key="sk-x", max_retries=0)
    async with client:
        agent = ai.Agent(openai_model(client), tools=[stage.weather])
        async with agent.run_stream_events("hi") as run:
            if stage.stop_at == "before the request":
                run.cancel()
            stage.stop = run.cancel
            async for event in events(run):
                yield event


AGENTS = [Agent("pydantic-ai, OpenAI", on_openai), Agent("pydantic-ai, Anthropic", on_anthropic)]
both = pytest.mark.parametrize("agent", AGENTS, ids=lambda agent: agent.title)


@both
async def test_the_table_is_what_comes_of_the_scenes(agent: Agent, provider: Provider) -> None:
    await check_table(agent, provider)


@both
async def test_words_thoughts_and_tools_come_as_they_are(agent: Agent, provider: Provider) -> None:
    played = await play(agent.run, provider, "tool")
    assert played.text() == "".join(TEXT[:2] + TEXT)
    assert f"thinking 2 {THOUGHT}" in played.described()
    (update,) = [line for line in played.described() if line.startswith("update")]
    assert update.endswith(" COMPLETED sunny in Oulu")


@both
async def test_failures_are_told_once_and_handed_on(agent: Agent, provider: Provider) -> None:
    runs = await check_failures(agent, provider)
    for played in runs.values():
        assert isinstance(played.raised, ai.exceptions.ModelAPIError)


@both
async def test_an_answer_without_its_end_is_no_success(agent: Agent, provider: Provider) -> None:
    await check_cut_off(agent, provider)


@both
async def test_a_loop_that_is_left_in_a_tool_leaves_none_open(
    agent: Agent, provider: Provider
) -> None:
    await check_left_early(agent, provider)


@pytest.mark.parametrize("stop_at", STOPS)
@both
async def test_a_stop_is_never_a_failure(agent: Agent, provider: Provider, stop_at: str) -> None:
    await check_stops(agent, provider, stop_at)


@pytest.mark.parametrize("stop_at", STOPS)
async def test_a_stop_by_its_own_means_is_never_a_failure(provider: Provider, stop_at: str) -> None:
    await check_stops(Agent("", by_itself), provider, stop_at)


async def test_a_stop_by_its_own_means_is_handed_on(provider: Provider) -> None:
    played = await play(by_itself, provider, "hold-deltas", stop_at="between deltas")
    assert isinstance(played.raised, ai.exceptions.RunCancelled)
    assert [error.message for error in played.frames.errors()] == [str(played.raised)]


def driven(model: Any, *, tools: list[Callable[..., Any]] | None = None) -> list[str]:
    """Return what a run tells with a model of functions."""
    agent = ai.Agent(models.FunctionModel(stream_function=model), tools=tools or [])

    async def main() -> None:
        async with open_session("s1") as session:
            await session.drive(events(agent.run_stream_events("hi")))

    with capture_frames() as frames:
        anyio.run(main)
    return described(frames)


def calling(name: str, args: str) -> Any:
    async def model(messages: list[Any], info: Any) -> AsyncIterator[Any]:
        del info
        if len(messages) == 1:
            yield {0: models.DeltaToolCall(name=name, json_args=args, tool_call_id="c1")}
        else:
            yield "done"

    return model


def test_a_tool_that_asks_for_another_try_has_failed() -> None:
    def look(path: str) -> str:
        raise ai.ModelRetry(f"no {path}")

    told = driven(calling("look", '{"path": "a.txt"}'), tools=[look])
    assert told[2] == "tool c1 IN_PROGRESS look: a.txt"
    assert told[3].startswith("update c1 FAILED no a.txt")
    assert told[-2:] == ["state READY", "state STOPPED"]


def test_a_change_of_a_file_and_words_of_a_tool_are_told() -> None:
    progress = make_dataclass("ProgressEvent", [("done", int)], bases=(ai.CustomEvent,))

    async def edit(ctx: Any) -> Any:
        await ctx.emit(progress(done=1))
        change = {"path": "a.txt", "oldText": "a", "newText": "b"}
        return ai.ToolReturn("edited", metadata=change)

    edit.__annotations__["ctx"] = ai.RunContext
    told = driven(calling("edit", "{}"), tools=[edit])
    assert told[3:5] == ['update c1 IN_PROGRESS progress: {"done":1}', "update c1 COMPLETED edited"]


def test_the_sample_works(provider: Provider) -> None:
    settings = {"OPENAI_BASE_URL": f"{provider.url}/ok/v1", "OPENAI_API_KEY": "sk-x"}
    (told,) = run_samples("pydantic-ai", **settings)
    assert told[-6:-2] == [f"text 1 {text}" for text in TEXT]
    assert told[-2:] == ["state READY", "state STOPPED"]
