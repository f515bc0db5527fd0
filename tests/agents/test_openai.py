"""Streams of the real `openai` library, against the provider on the loopback."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import suppress
from importlib import import_module
from typing import Any

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
from compass_agent.adapters.openai import Run
from compass_agent.testing import CapturedFrames, capture_frames

openai: Any = import_module("openai")

PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}}
TOOL = {"name": "weather", "description": "Tell the weather", "parameters": PARAMETERS}


def client(stage: Stage) -> Any:
    return openai.AsyncOpenAI(base_url=f"{stage.url}/v1", api_key="sk-loopback", max_retries=0)


async def chat(stage: Stage) -> AsyncGenerator[Any, None]:
    """Be a host with a loop and a tool, on Chat Completions."""
    run = Run()
    messages: list[Any] = [{"role": "user", "content": "hi"}]
    tools = [{"type": "function", "function": TOOL}]
    async with client(stage) as provider:
        while True:
            create = provider.chat.completions.create
            request = create(model="m", messages=messages, tools=tools, stream=True)
            async for event in run.request(stage.watch(request)):
                yield event
            if not run.goes_on:
                return
            asked = [
                {
                    "id": call.tool_call_id,
                    "type": "function",
                    "function": {"name": call.name, "arguments": call.arguments},
                }
                for call in run.calls
            ]
            messages.append({"role": "assistant", "tool_calls": asked})
            for call in run.calls:
                said = await stage.weather(json.loads(call.arguments)["city"])
                yield run.ended(call, said)
                messages.append(
                    {"role": "tool", "tool_call_id": call.tool_call_id, "content": said}
                )


async def responses(stage: Stage) -> AsyncGenerator[Any, None]:
    """Be a host with a loop and a tool, on Responses."""
    run: Run = Run()
    told: list[Any] = [{"role": "user", "content": "hi"}]
    tools = [{"type": "function", **TOOL}]
    async with client(stage) as provider:
        while True:
            request = provider.responses.create(model="m", input=told, tools=tools, stream=True)
            async for event in run.request(stage.watch(request)):
                yield event
            if not run.goes_on:
                return
            for call in run.calls:
                said = await stage.weather(json.loads(call.arguments)["city"])
                yield run.ended(call, said)
                told.append(
                    {"type": "function_call_output", "call_id": call.tool_call_id, "output": said}
                )


AGENTS = [Agent("openai, Chat Completions", chat), Agent("openai, Responses", responses)]
both = pytest.mark.parametrize("agent", AGENTS, ids=lambda agent: agent.title)


@both
async def test_the_table_is_what_comes_of_the_scenes(agent: Agent, provider: Provider) -> None:
    await check_table(agent, provider)


@both
async def test_words_thoughts_and_tools_come_as_they_are(agent: Agent, provider: Provider) -> None:
    played = await play(agent.run, provider, "tool")
    assert played.text() == "".join(TEXT[:2] + TEXT)
    assert played.described()[:2] == ["state STARTING", "state WORKING"]
    assert f"thinking 2 {THOUGHT}" in played.described()
    assert "update call_1 COMPLETED sunny in Oulu" in played.described()


@both
async def test_failures_are_told_once_and_handed_on(agent: Agent, provider: Provider) -> None:
    runs = await check_failures(agent, provider)
    assert isinstance(runs["429"].raised, openai.RateLimitError)
    assert isinstance(runs["500"].raised, openai.InternalServerError)
    assert isinstance(runs["cut"].raised, openai.APIConnectionError)


@both
async def test_an_answer_without_its_end_is_no_success(agent: Agent, provider: Provider) -> None:
    await check_cut_off(agent, provider)


@both
async def test_a_loop_that_is_left_in_a_tool_leaves_none_open(
    agent: Agent, provider: Provider
) -> None:
    await check_left_early(agent, provider)


@both
@pytest.mark.parametrize("stop_at", STOPS)
async def test_a_stop_is_never_a_failure(agent: Agent, provider: Provider, stop_at: str) -> None:
    await check_stops(agent, provider, stop_at)


def test_a_host_without_an_event_loop_tells_the_same(provider: Provider) -> None:
    def told(scene: str) -> CapturedFrames:
        url = f"{provider.url}/{scene}/v1"
        with (
            capture_frames() as frames,
            suppress(openai.OpenAIError),
            open_session("s1") as session,
        ):
            run, settings = Run(), {"api_key": "sk-x", "max_retries": 0, "base_url": url}
            with openai.OpenAI(**settings) as host:
                asked = [{"role": "user", "content": "hi"}]
                for event in run.begin():
                    session.feed(event)
                stream = host.chat.completions.create(model="m", messages=asked, stream=True)
                for item in stream:
                    for event in run.feed(item):
                        session.feed(event)
                for event in run.end():
                    session.feed(event)
        return frames

    assert told("ok").texts() == [*TEXT]
    (refused,) = told("429").errors()
    assert (refused.status, refused.retry_after_ms) == (429, 7000)
    (cut,) = told("mid").errors()
    assert (cut.status, cut.message) == (503, "Overloaded in the middle of the answer")


def test_the_sample_works(provider: Provider) -> None:
    settings = {"OPENAI_BASE_URL": f"{provider.url}/ok/v1", "OPENAI_API_KEY": "sk-x"}
    (told,) = run_samples("openai", **settings)
    assert told[-6:-2] == [f"text 1 {text}" for text in TEXT]
    assert told[-2:] == ["state READY", "state STOPPED"]
