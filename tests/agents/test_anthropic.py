"""Streams of the real `anthropic` library, against the provider on the loopback."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
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

from compass_agent.adapters.anthropic import Run, events

anthropic: Any = import_module("anthropic")

PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}}
TOOLS = [{"name": "weather", "description": "Tell the weather", "input_schema": PARAMETERS}]


def client(stage: Stage) -> Any:
    return anthropic.AsyncAnthropic(base_url=stage.url, api_key="sk-loopback", max_retries=0)


async def messages(stage: Stage) -> AsyncGenerator[Any, None]:
    """Be a host with a loop and a tool."""
    run = Run()
    told: list[Any] = [{"role": "user", "content": "hi"}]
    async with client(stage) as provider:
        while True:
            create = provider.messages.create
            request = create(model="m", max_tokens=99, messages=told, tools=TOOLS, stream=True)
            async for event in run.request(stage.watch(request)):
                yield event
            if not run.goes_on:
                return
            for call in run.calls:
                arguments = json.loads(call.arguments)
                said = await stage.weather(arguments["city"])
                yield run.ended(call, said)
                use = {"type": "tool_use", "id": call.tool_call_id, "name": call.name}
                result = {"type": "tool_result", "tool_use_id": call.tool_call_id, "content": said}
                told.append({"role": "assistant", "content": [{**use, "input": arguments}]})
                told.append({"role": "user", "content": [result]})


async def helper(stage: Stage) -> AsyncGenerator[Any, None]:
    """Be a host that uses the library's helper, for one request."""
    told = [{"role": "user", "content": "hi"}]
    async with client(stage) as provider:
        stream = provider.messages.stream(model="m", max_tokens=99, messages=told, tools=TOOLS)
        async for event in events(stream):
            yield event


AGENT = Agent("anthropic", messages)


async def test_the_table_is_what_comes_of_the_scenes(provider: Provider) -> None:
    await check_table(AGENT, provider)


async def test_words_thoughts_and_tools_come_as_they_are(provider: Provider) -> None:
    played = await play(messages, provider, "tool")
    assert played.text() == "".join(TEXT[:2] + TEXT)
    assert f"thinking 2 {THOUGHT}" in played.described()
    assert "update toolu_1 COMPLETED sunny in Oulu" in played.described()


async def test_what_the_helper_says_twice_is_told_once(provider: Provider) -> None:
    played = await play(helper, provider, "ok")
    assert (played.text(), played.described()[2]) == ("".join(TEXT), f"thinking 1 {THOUGHT}")
    assert not [line for line in played.described() if line.startswith("notice")]
    handed = await play(helper, provider, "tool")
    assert "update toolu_1 COMPLETED Handed over to the host" in handed.described()
    assert handed.frames.states()[-2:] == ["READY", "STOPPED"]


async def test_failures_are_told_once_and_handed_on(provider: Provider) -> None:
    runs = await check_failures(AGENT, provider)
    assert isinstance(runs["429"].raised, anthropic.RateLimitError)
    assert isinstance(runs["500"].raised, anthropic.InternalServerError)
    assert isinstance(runs["mid"].raised, anthropic.APIStatusError)
    assert isinstance(runs["cut"].raised, Exception)


async def test_an_answer_without_its_end_is_no_success(provider: Provider) -> None:
    await check_cut_off(AGENT, provider)


async def test_a_loop_that_is_left_in_a_tool_leaves_none_open(provider: Provider) -> None:
    await check_left_early(AGENT, provider)


@pytest.mark.parametrize("stop_at", STOPS)
async def test_a_stop_is_never_a_failure(provider: Provider, stop_at: str) -> None:
    await check_stops(AGENT, provider, stop_at)


def test_the_sample_works(provider: Provider) -> None:
    settings = {"ANTHROPIC_BASE_URL": f"{provider.url}/tool", "ANTHROPIC_API_KEY": "sk-x"}
    (told,) = run_samples("anthropic", **settings)
    assert told[-6:-2] == [f"text 2 {text}" for text in TEXT]
    assert told[-2:] == ["state READY", "state STOPPED"]
