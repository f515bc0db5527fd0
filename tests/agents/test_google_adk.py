"""Runs of the real `google-adk`, whose model asks the provider on the loopback."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from functools import partial
from importlib import import_module
from typing import Any, TypeAlias

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

from compass_agent.adapters.google_adk import events

os.environ |= {"GOOGLE_API_KEY": "loopback", "OTEL_SDK_DISABLED": "true"}
# It prints a trace of each failure that it raises too.
logging.getLogger("google_adk").setLevel(logging.CRITICAL)
agents: Any = import_module("google.adk.agents")
config: Any = import_module("google.adk.agents.run_config")
errors: Any = import_module("google.genai.errors")
genai: Any = import_module("google.genai")
google_llm: Any = import_module("google.adk.models.google_llm")
httpx: Any = import_module("httpx")
models: Any = import_module("google.adk.models")
runners: Any = import_module("google.adk.runners")
tools: Any = import_module("google.adk.tools")
types: Any = import_module("google.genai.types")

Tool: TypeAlias = Callable[..., Awaitable[object]]


def gemini(stage: Stage, client: Any) -> Any:
    once = types.HttpRetryOptions(attempts=1)
    options = types.HttpOptions(base_url=stage.url, retry_options=once, httpx_async_client=client)
    return google_llm.Gemini(model="gemini-m", client=genai.Client(http_options=options))


async def host(
    stage: Stage,
    *,
    model: Any = None,
    tool: Any = None,
    by_signal: bool = False,
) -> AsyncGenerator[Any, None]:
    """Be a host with an agent; the tool is the stage's, unless another is given."""

    async def weather(city: str) -> str:
        """Tell the weather."""
        return await stage.weather(city)

    signal = asyncio.Event()
    if by_signal:
        stage.stop = signal.set
    async with httpx.AsyncClient() as client:
        agent = agents.LlmAgent(
            name="agent", model=model or gemini(stage, client), tools=[tool or weather]
        )
        runner = runners.InMemoryRunner(agent=agent, app_name="app")
        made = await runner.session_service.create_session(app_name="app", user_id="u")
        invocation = runner.run_async(
            user_id="u",
            session_id=made.id,
            new_message=types.Content(role="user", parts=[types.Part(text="hi")]),
            run_config=config.RunConfig(streaming_mode=config.StreamingMode.SSE),
            abort_signal=signal,
        )
        async with aclosing(events(invocation)) as run:
            async for event in run:
                yield event


AGENT = Agent("google-adk", host)
BY_SIGNAL = Agent("google-adk", partial(host, by_signal=True))


async def test_the_table_is_what_comes_of_the_scenes(provider: Provider) -> None:
    await check_table(AGENT, provider)


async def test_words_thoughts_and_tools_come_as_they_are(provider: Provider) -> None:
    played = await play(host, provider, "tool")
    assert played.text() == "".join(TEXT[:2] + TEXT)
    assert any(line.endswith(THOUGHT) for line in played.described())
    assert any(line.endswith("COMPLETED sunny in Oulu") for line in played.described())


async def test_failures_are_told_once_and_handed_on(provider: Provider) -> None:
    runs = await check_failures(AGENT, provider)
    assert isinstance(runs["429"].raised, errors.ClientError)
    assert isinstance(runs["500"].raised, errors.ServerError)
    assert type(runs["cut"].raised).__name__ == "RemoteProtocolError"


async def test_an_answer_without_its_end_is_no_success(provider: Provider) -> None:
    await check_cut_off(AGENT, provider)


async def test_a_loop_that_is_left_in_a_tool_leaves_none_open(provider: Provider) -> None:
    await check_left_early(AGENT, provider)


@pytest.mark.parametrize("stop_at", STOPS)
@pytest.mark.parametrize("agent", [AGENT, BY_SIGNAL], ids=["cancel", "signal"])
async def test_a_stop_is_never_a_failure(provider: Provider, agent: Agent, stop_at: str) -> None:
    await check_stops(agent, provider, stop_at)


async def test_its_own_stop_interrupts_the_tool(provider: Provider) -> None:
    played = await play(BY_SIGNAL.run, provider, "tool", stop_at="in a tool")
    assert played.described()[-4].endswith("INTERRUPTED")
    assert played.described()[-3] == "ABORTED - Stopped by the host"


class Scripted(models.BaseLlm):
    """A model that says what it is given."""

    answers: list[Any]

    async def generate_content_async(
        self, llm_request: Any, stream: bool = False
    ) -> AsyncGenerator[Any, None]:
        del llm_request, stream
        for answer in self.answers.pop(0):
            if isinstance(answer, Exception):
                raise answer
            yield answer


def said(text: str, **more: Any) -> Any:
    content = types.Content(role="model", parts=[types.Part(text=text)])
    return models.LlmResponse(content=content, **more)


def asked(name: str, **args: Any) -> Any:
    call = types.FunctionCall(id="call_1", name=name, args=args)
    content = types.Content(role="model", parts=[types.Part(function_call=call)])
    return models.LlmResponse(content=content)


def scripted(*answers: list[Any]) -> Any:
    return Scripted(model="scripted", answers=[*answers])


async def test_an_error_that_nobody_raises_is_a_failure(provider: Provider) -> None:
    blocked = models.LlmResponse(error_code="SAFETY", error_message="It was blocked")
    model = scripted([said("Good", partial=True), blocked])
    played = await play(partial(host, model=model), provider, "ok")
    (error,) = played.frames.errors()
    assert (error.message, error.code) == ("It was blocked", "SAFETY")
    assert played.raised is None
    assert played.frames.states()[-1] == "ERRORED"


async def test_what_a_model_raises_is_told_once_and_is_the_same_object(provider: Provider) -> None:
    broken = RuntimeError("the model broke")
    model = scripted([said("Good", partial=True), broken])
    played = await play(partial(host, model=model), provider, "ok")
    assert played.raised is broken
    assert [error.message for error in played.frames.errors()] == ["the model broke"]


async def test_an_answer_that_is_cut_at_the_limit_is_no_failure(provider: Provider) -> None:
    cut = said("Good day", error_code="MAX_TOKENS", finish_reason=types.FinishReason.MAX_TOKENS)
    model = scripted([said("Good", partial=True), cut])
    played = await play(partial(host, model=model), provider, "ok")
    assert played.frames.errors() == []
    assert played.text() == "Good day"
    assert "notice The answer was cut at the token limit" in played.described()


async def test_a_whole_that_differs_from_its_pieces_is_a_new_message(provider: Provider) -> None:
    model = scripted([said("Bad", partial=True), said("Good day", turn_complete=True)])
    played = await play(partial(host, model=model), provider, "ok")
    texts = [line for line in played.described() if line.startswith("text")]
    assert texts == ["text 1 Bad", "text 2 Good day"]


async def test_an_answer_that_was_not_streamed_is_told(provider: Provider) -> None:
    model = scripted([said("Good day", turn_complete=True)])
    played = await play(partial(host, model=model), provider, "ok")
    assert played.text() == "Good day"


async def test_a_tool_that_goes_on_after_the_run_is_told_so(provider: Provider) -> None:
    def order(what: str) -> dict[str, str]:
        """Order something."""
        return {"ticket": what}

    model = scripted([asked("order", what="tea")], [said("It comes", turn_complete=True)])
    tool = tools.LongRunningFunctionTool(order)
    played = await play(partial(host, model=model, tool=tool), provider, "ok")
    told = played.described()
    assert 'update call_1 IN_PROGRESS {"ticket":"tea"}' in told
    assert told[-4:-2] == [
        "notice order goes on beyond this run",
        'update call_1 COMPLETED {"ticket":"tea"}',
    ]


async def test_a_tool_that_needs_permission_is_told_so(provider: Provider) -> None:
    def order(what: str) -> str:
        """Order something."""
        return what

    model = scripted([asked("order", what="tea")], [said("It comes", turn_complete=True)])
    tool = tools.FunctionTool(order, require_confirmation=True)
    played = await play(partial(host, model=model, tool=tool), provider, "ok")
    assert played.frames.errors() == []
    told = [line.split(":")[0] for line in played.described()]
    assert told[2:-2] == [
        "tool call_1 IN_PROGRESS order",
        "notice Asks for permission",
        "update call_1 FAILED This tool call requires confirmation, please approve or reject.",
    ]


def test_the_sample_works(provider: Provider) -> None:
    settings = {"GOOGLE_GEMINI_BASE_URL": f"{provider.url}/ok", "GOOGLE_API_KEY": "x"}
    (told,) = run_samples("google-adk", **settings)
    assert told[-6:-2] == [f"text 1 {text}" for text in TEXT]
    assert told[-2:] == ["state READY", "state STOPPED"]
