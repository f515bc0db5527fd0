"""Runs of the real `langgraph`, whose model asks the provider on the loopback."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from functools import partial
from importlib import import_module
from typing import Any, TypeAlias

import anyio
import pytest
from provider_server import TEXT, Provider
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

from compass_agent.adapters.langgraph import STREAM, events
from compass_agent.events import PlanChanged, PlanEntry, ToolStarted

os.environ["LANGSMITH_TRACING"] = "false"
httpx: Any = import_module("httpx")
checkpoints: Any = import_module("langgraph.checkpoint.memory")
config: Any = import_module("langgraph.config")
graphs: Any = import_module("langgraph.graph")
langchain_openai: Any = import_module("langchain_openai")
openai: Any = import_module("openai")
prebuilt: Any = import_module("langgraph.prebuilt")
tools: Any = import_module("langchain_core.tools")
types: Any = import_module("langgraph.types")

INPUT = {"messages": [{"role": "user", "content": "hi"}]}
THREAD = {"configurable": {"thread_id": "t1"}}


Weather: TypeAlias = Callable[[str], Awaitable[object]]
Use: TypeAlias = Callable[[Any], AsyncGenerator[Any, None]]


def graph_of(stage: Stage, weather: Weather, client: Any) -> Any:
    """Return a graph of a model and a tool, which remembers."""
    tool = tools.StructuredTool.from_function(
        coroutine=weather, name="weather", description="Tell the weather"
    )
    model = langchain_openai.ChatOpenAI(
        model="m",
        base_url=f"{stage.url}/v1",
        api_key="sk-loopback",
        max_retries=0,
        streaming=True,
        http_async_client=client,
    ).bind_tools([tool])

    async def think(state: Any) -> Any:
        return {"messages": [await model.ainvoke(state["messages"])]}

    graph = graphs.StateGraph(graphs.MessagesState)
    graph.add_node("model", think)
    graph.add_node("tools", prebuilt.ToolNode([tool], handle_tool_errors=False))
    graph.add_edge(graphs.START, "model")
    graph.add_conditional_edges("model", prebuilt.tools_condition)
    graph.add_edge("tools", "model")
    return graph.compile(checkpointer=checkpoints.InMemorySaver())


def once(graph: Any) -> AsyncGenerator[Any, None]:
    """Run a graph once."""
    return events(graph.astream(INPUT, THREAD, **STREAM))


async def host(
    stage: Stage, weather: Weather | None = None, use: Use = once
) -> AsyncGenerator[Any, None]:
    """Be a host with a graph; the tool is the stage's, unless another is given."""

    told = anyio.Event()

    async def looked(city: str) -> object:
        # The graph tells of the tool while it runs.
        await told.wait()
        return await (weather or stage.weather)(city)

    async with httpx.AsyncClient() as client, aclosing(use(graph_of(stage, looked, client))) as run:
        async for event in run:
            yield event
            if isinstance(event, ToolStarted):
                told.set()


AGENT = Agent("langgraph", host)


async def test_the_table_is_what_comes_of_the_scenes(provider: Provider) -> None:
    await check_table(AGENT, provider)


async def test_words_and_tools_come_as_they_are(provider: Provider) -> None:
    played = await play(host, provider, "tool")
    assert played.text() == "".join(TEXT[:2] + TEXT)
    assert "tool call_1 IN_PROGRESS weather" in played.described()
    assert "update call_1 COMPLETED sunny in Oulu" in played.described()


async def test_failures_are_told_once_and_handed_on(provider: Provider) -> None:
    runs = await check_failures(AGENT, provider)
    assert isinstance(runs["429"].raised, openai.RateLimitError)
    assert isinstance(runs["500"].raised, openai.APIError)
    assert isinstance(runs["cut"].raised, openai.APIConnectionError)


async def test_an_answer_without_its_end_is_no_success(provider: Provider) -> None:
    await check_cut_off(AGENT, provider)


async def test_a_loop_that_is_left_in_a_tool_leaves_none_open(provider: Provider) -> None:
    await check_left_early(AGENT, provider)


@pytest.mark.parametrize("stop_at", STOPS)
async def test_a_stop_is_never_a_failure(provider: Provider, stop_at: str) -> None:
    await check_stops(AGENT, provider, stop_at)


async def test_what_a_tool_raises_is_told_once_and_is_the_same_object(provider: Provider) -> None:
    broken = RuntimeError("the weather station is down")

    async def weather(city: str) -> str:
        del city
        raise broken

    played = await play(partial(host, weather=weather), provider, "tool")
    assert played.raised is broken
    assert [error.message for error in played.frames.errors()] == ["the weather station is down"]
    assert "update call_1 FAILED the weather station is down" in played.described()


async def test_a_graph_that_waits_for_an_answer_has_not_failed(provider: Provider) -> None:
    async def weather(city: str) -> str:
        return f"{types.interrupt({'message': f'May I look at {city}?'})} in {city}"

    async def twice(graph: Any) -> AsyncGenerator[Any, None]:
        async for event in once(graph):
            yield event
        answer = types.Command(resume="rainy")
        async for event in events(graph.astream(answer, THREAD, **STREAM)):
            yield event

    played = await play(partial(host, weather=weather, use=twice), provider, "tool")
    assert played.frames.errors() == []
    told = played.described()
    assert told.count("notice Waits for an answer: May I look at Oulu?") == 1
    assert "update call_1 COMPLETED rainy in Oulu" in told
    assert played.frames.states() == ["STARTING", *["WORKING", "READY"] * 2, "STOPPED"]


async def test_what_a_node_writes_is_told(provider: Provider) -> None:
    plan = PlanChanged((PlanEntry("Look", "in_progress"),))

    async def weather(city: str) -> str:
        write = config.get_stream_writer()
        write({"text": f"Looking at {city}"})
        write(plan)
        return "sunny"

    played = await play(partial(host, weather=weather), provider, "tool")
    assert "notice Looking at Oulu" in played.described()
    assert plan in played.events


async def test_the_words_of_a_graph_within_a_graph_are_told(provider: Provider) -> None:
    def nested(inner: Any) -> AsyncGenerator[Any, None]:
        outer = graphs.StateGraph(graphs.MessagesState)
        outer.add_node("inner", inner)
        outer.add_edge(graphs.START, "inner")
        return once(outer.compile(checkpointer=checkpoints.InMemorySaver()))

    played = await play(partial(host, use=nested), provider, "tool")
    assert played.text() == "".join(TEXT[:2] + TEXT)
    assert played.described().count("update call_1 COMPLETED sunny in Oulu") == 1


def nothing(state: Any) -> Any:
    return {"messages": state["messages"][:0]}


async def test_too_many_steps_are_a_failure(provider: Provider) -> None:
    def endless(unused: Any) -> AsyncGenerator[Any, None]:
        del unused
        graph = graphs.StateGraph(graphs.MessagesState)
        graph.add_node("again", nothing)
        graph.add_edge(graphs.START, "again")
        graph.add_edge("again", "again")
        return events(graph.compile().astream(INPUT, {"recursion_limit": 3}, **STREAM))

    played = await play(partial(host, use=endless), provider, "ok")
    (error,) = played.frames.errors()
    assert type(played.raised).__name__ == "GraphRecursionError"
    assert error.message.startswith("Recursion limit of 3 reached")


def test_the_sample_works() -> None:
    (told,) = run_samples("langgraph")
    assert told[-7:] == [
        *(f"text 1 {letter}" for letter in "Hello"),
        "state READY",
        "state STOPPED",
    ]
