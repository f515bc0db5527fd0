"""What SDKs give, as plain mappings: what the real ones say too rarely to be played."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compass_agent import open_session
from compass_agent.adapters import anthropic, openai, openai_agents, pydantic_ai
from compass_agent.adapters.sdk_run import SdkRun
from compass_agent.events import MessageFailed
from compass_agent.mapping import EventMapper
from compass_agent.testing import capture_frames
from provider_streams import chunk, openai_run, told
from reading_frames import frames_of

MAKERS: list[Callable[[], SdkRun]] = [
    openai.Run,
    anthropic.Run,
    pydantic_ai.Adapter,
    openai_agents.Adapter,
]
NAMES_OF_SDKS = ["openai", "anthropic", "pydantic-ai", "openai-agents"]
sdks = pytest.mark.parametrize(
    "events",
    [openai.events, anthropic.events, pydantic_ai.events],
    ids=NAMES_OF_SDKS[:3],
)
KINDS = [
    *("response.output_text.delta", "response.output_item.added", "response.output_item.done"),
    *("response.created", "response.failed", "response.incomplete", "error", "chunk"),
    *("content_block_start", "content_block_delta", "content_block_stop", "message_delta"),
    *("raw_response_event", "run_item_stream_event", "agent_updated_stream_event"),
    *("message_stop", "function_call", "tool_use", "text_delta", "web_search_call", "message"),
]
EVENTS = [
    *("part_start", "part_delta", "part_end", "function_tool_call", "function_tool_result"),
    *("enqueued_messages", "deferred_tool_requests", "custom", "agent_run_result"),
]
NAMES = [
    *("type", "event_kind", "delta", "item", "data", "part", "index", "id", "call_id", "name"),
    *("content", "content_block", "choices", "arguments", "args", "raw_item", "output", "text"),
    *("response", "error", "messages", "requests", "approvals", "metadata", "output_index"),
]
leaves = st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.sampled_from(KINDS)
values = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(NAMES), inner, max_size=4)
        | st.dictionaries(st.sampled_from(NAMES), inner, max_size=4).map(
            lambda each: SimpleNamespace(**each)
        )
    ),
    max_leaves=12,
)


@st.composite
def items(draw: st.DrawFn) -> dict[str, Any]:
    """Draw an object that is almost one of an SDK's."""
    rest = draw(st.dictionaries(st.sampled_from(NAMES), values, max_size=5))
    kinds = {"type": st.sampled_from(KINDS), "event_kind": st.sampled_from(EVENTS)}
    return {**rest, **{name: draw(kind) for name, kind in kinds.items()}}


@pytest.mark.requirement("G-AGENT-3")
@pytest.mark.parametrize("make", MAKERS, ids=NAMES_OF_SDKS)
@given(stream=st.lists(items() | values, max_size=6))
def test_nothing_that_a_stream_holds_stops_it(
    make: Callable[[], SdkRun], stream: list[Any]
) -> None:
    run, mapper = make(), EventMapper(now=lambda: 0)
    for item in stream:
        for event in run.feed(item):
            frames_of(mapper.map(event))


def test_only_the_first_of_several_answers_is_told() -> None:
    other = chunk({"content": "other"}, "stop", index=1)
    assert openai_run(chunk({"content": "first"}), other, chunk({}, "stop"))[1:] == [
        "text 1 first",
        "state READY",
    ]


def test_a_code_point_that_was_torn_apart_is_whole() -> None:
    halves = "\ud83d", "\udc4b"
    assert "text 1 👋" in openai_run(
        *(chunk({"content": half}) for half in halves), chunk({}, "stop")
    )


def test_a_failure_without_a_reason_is_a_failure() -> None:
    failed: dict[str, Any] = {"type": "response.failed", "response": {"error": None}}
    assert openai_run(failed)[1:] == ["ERROR - No reason was given", "state ERRORED"]


def test_an_error_event_tells_status_and_code() -> None:
    error = {"type": "error", "code": "rate_limit_exceeded", "message": "Slow down"}
    assert "ERROR 429 Slow down" in openai_run(error)


def test_the_wait_of_a_field_counts_before_one_in_the_text() -> None:
    said = {"message": "Please try again in 20s", "code": "rate_limit_exceeded", "retry_after": 7}
    run = openai.Run()
    events = run.feed({"type": "error", "error": said})
    waits = [event.failure.retry_after_ms for event in events if isinstance(event, MessageFailed)]
    assert waits == [7000]


def test_an_answer_that_was_cut_off_has_failed() -> None:
    cut = ["ERROR - The agent's stream ended in the middle of its work", "state ERRORED"]
    assert openai_run(chunk({"content": "Good"}))[-2:] == cut
    run = anthropic.Run()
    begun = run.feed({"type": "message_start", "message": {}})
    assert told([*begun, *run.end()])[-2:] == cut
    assert run.end() == []


def test_an_answer_without_deltas_is_told_when_it_is_whole() -> None:
    message = {"type": "message", "content": [{"type": "output_text", "text": "hello"}]}
    done = {"type": "response.output_item.done", "output_index": 0, "item": message}
    assert "text 1 hello" in openai_run(done, {"type": "response.completed", "response": {}})


def test_what_the_provider_looks_up_itself_is_a_tool() -> None:
    search = {"type": "web_search_call", "id": "ws1", "action": {"query": "oulu"}}
    lines = openai_run(
        {"type": "response.output_item.added", "item": {**search, "status": "in_progress"}},
        {"type": "response.web_search_call.searching", "item_id": "ws1"},
        {"type": "response.output_item.done", "item": {**search, "status": "failed"}},
        {"type": "response.completed", "response": {}},
    )
    assert lines[1:3] == ["tool ws1 IN_PROGRESS web search: oulu", "update ws1 FAILED"]
    run = anthropic.Run()
    use = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "oulu"}}
    found = [{"type": "web_search_result", "title": "Oulu"}]
    result = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": found}
    stream: list[dict[str, Any]] = [
        {"type": "content_block_start", "index": 0, "content_block": use},
        {"type": "content_block_stop", "index": 0},
        {"type": "content_block_start", "index": 1, "content_block": result},
        {"type": "message_stop"},
    ]
    lines = told([event for item in stream for event in run.feed(item)] + run.end())
    assert lines[1:2] == ["tool s1 IN_PROGRESS web_search: oulu"]
    assert lines[2].startswith("update s1 COMPLETED")


def test_an_answer_that_pauses_is_no_end() -> None:
    run = anthropic.Run()
    pause = {"type": "message_delta", "delta": {"stop_reason": "pause_turn"}}
    events = [*run.feed(pause), *run.feed({"type": "message_stop"}), *run.end()]
    assert run.goes_on
    events += [*run.begin(), *run.feed({"type": "message_stop"}), *run.end()]
    assert not run.goes_on
    assert told(events)[-1] == "state READY"


def test_what_is_not_known_is_told_once() -> None:
    odd = {"type": "song"}
    lines = openai_run(odd, odd, chunk({}, "stop"))
    assert [line for line in lines if "song" in line] == [
        "notice The stream holds what is not known: song"
    ]


@pytest.mark.requirement("G-AGENT-3")
@sdks
async def test_a_stream_that_just_ends_is_no_success(events: Callable[[Any], Any]) -> None:
    async def stream() -> AsyncIterator[object]:
        for _ in ():
            yield

    with capture_frames() as frames:
        async with open_session("s1") as session:
            await session.drive(events(stream()))
    (error,) = frames.errors()
    assert (error.code, frames.states()[-1]) == ("adapter.no_terminal", "ERRORED")


@pytest.mark.requirement("G-AGENT-3")
@sdks
async def test_what_a_call_raises_before_its_stream_is_told(
    events: Callable[[Any], Any],
) -> None:
    failure = ConnectionResetError("nobody answered")

    async def create() -> AsyncIterator[object]:
        raise failure

    with capture_frames() as frames, pytest.raises(ConnectionResetError) as raised:
        async with open_session("s1") as session:
            await session.drive(events(create()))
    assert raised.value is failure
    assert [error.message for error in frames.errors()] == ["nobody answered"]


def agents_events(kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": "raw_response_event", "data": {"type": kind, **fields}}


def test_a_failed_answer_that_is_asked_for_again_is_a_retry() -> None:
    adapter = openai_agents.Adapter()
    failed = {"error": {"code": "server_error", "message": "Overloaded"}}
    stream = [
        agents_events("response.created"),
        agents_events("response.failed", response=failed),
        agents_events("response.created"),
        agents_events("response.output_text.delta", delta="hello", output_index=0),
        agents_events("response.completed", response={}),
    ]
    events = adapter.begin() + [event for item in stream for event in adapter.feed(item)]
    events += adapter.ended({"is_complete": True, "final_output": "hello"})
    lines = told(events)
    assert "notice Retry 1: Overloaded" in lines or "notice Retry: Overloaded" in lines
    assert not [line for line in lines if line.startswith("ERROR")]
    assert lines[-1] == "state READY"


@pytest.mark.parametrize(
    ("result", "last"),
    [
        ({"is_complete": True, "final_output": None, "_cancel_mode": "none"}, "state READY"),
        ({"is_complete": True, "final_output": None}, "ABORTED - The run was cancelled"),
        (
            {"is_complete": True, "final_output": "x", "_cancel_mode": "after_turn"},
            "ABORTED - The run was cancelled",
        ),
    ],
)
def test_a_run_that_was_cancelled_is_told_as_stopped(result: dict[str, Any], last: str) -> None:
    adapter = openai_agents.Adapter()
    assert last in told([*adapter.begin(), *adapter.ended(result)])


class Endless:
    """A stream, and a run of openai-agents, that never ends by itself."""

    def __init__(self) -> None:
        self.closed = 0
        self.cancelled = 0

    def __aiter__(self) -> AsyncIterator[dict[str, Any]]:
        return self

    async def __anext__(self) -> dict[str, Any]:
        return chunk({"content": "more"})

    async def aclose(self) -> None:
        self.closed += 1

    def stream_events(self) -> Endless:
        return self

    def cancel(self) -> None:
        self.cancelled += 1


@pytest.mark.parametrize(
    ("events", "count"),
    [(openai.events, 4), (anthropic.events, 3), (pydantic_ai.events, 2)],
    ids=NAMES_OF_SDKS[:3],
)
async def test_a_stream_that_is_left_early_is_closed(
    events: Callable[[Any], Any], count: int
) -> None:
    stream = Endless()
    told = events(stream)
    for _ in range(count):
        await anext(told)
    await told.aclose()
    assert stream.closed == 1


async def test_a_run_of_openai_agents_that_is_left_early_is_cancelled() -> None:
    run = Endless()
    told = openai_agents.events(run)
    for _ in range(2):
        await anext(told)
    await told.aclose()
    assert (run.cancelled, run.closed) == (1, 1)


@pytest.mark.requirement("G-AGENT-3")
async def test_what_a_run_of_openai_agents_raises_is_told_once_and_handed_on() -> None:
    failure = RuntimeError("the run broke: response.failed")

    class Failing(Endless):
        async def stream(self) -> AsyncIterator[dict[str, Any]]:
            error = {"code": "server_is_overloaded", "message": "Overloaded"}
            yield agents_events("response.failed", response={"error": error})
            raise failure

        def stream_events(self) -> Any:
            return self.stream()

    with capture_frames() as frames, pytest.raises(RuntimeError) as raised:
        async with open_session("s1") as session:
            await session.drive(openai_agents.events(Failing()))
    assert raised.value is failure
    assert [(error.message, error.status) for error in frames.errors()] == [("Overloaded", 503)]


@pytest.mark.parametrize(
    ("reason", "last"),
    [
        ("stop", "state READY"),
        ("length", "notice The answer was cut at the token limit"),
        ("content_filter", "ERROR - The provider's filter stopped the answer"),
    ],
)
def test_why_the_last_answer_of_pydantic_ai_ended_is_told(reason: str, last: str) -> None:
    adapter = pydantic_ai.Adapter()
    words = {"part_kind": "text", "content": "Good"}
    result = {"response": {"finish_reason": reason}}
    stream: list[dict[str, Any]] = [
        {"event_kind": "part_start", "index": 0, "part": words},
        {"event_kind": "agent_run_result", "result": result},
    ]
    events = adapter.begin() + [event for item in stream for event in adapter.feed(item)]
    assert told(events)[2] == last


def test_what_a_tool_of_pydantic_ai_adds_is_told_with_its_call() -> None:
    adapter = pydantic_ai.Adapter()
    call = {"tool_name": "edit", "tool_call_id": "c1", "args": '{"path": "a.txt"}'}
    change = {"path": "a.txt", "oldText": "a", "newText": "b"}
    result = {"part_kind": "tool-return", "tool_call_id": "c1", "outcome": "interrupted"}
    stream: list[dict[str, Any]] = [
        {"event_kind": "function_tool_call", "part": call},
        {"event_kind": "custom", "name": "progress", "tool_call_id": "c1", "done": 1},
        {"event_kind": "function_tool_result", "part": {**result, "metadata": change}},
        {"event_kind": "custom", "name": "note", "tool_call_id": "c1"},
        {"event_kind": "enqueued_messages", "messages": [{"parts": [{"content": "wait"}]}]},
        {"event_kind": "agent_run_result"},
    ]
    events = adapter.begin() + [event for item in stream for event in adapter.feed(item)]
    assert told(events)[1:] == [
        "tool c1 IN_PROGRESS edit: a.txt",
        'update c1 IN_PROGRESS progress: {"done":1}',
        "update c1 FAILED",
        "notice note",
        "injection STEER",
        "prompt 1 wait",
        "state READY",
    ]
    mapper = EventMapper(now=lambda: 0)
    frames = frames_of([frame for event in events for frame in mapper.map(event)])
    (diff,) = (diff for frame in frames for diff in frame.typed_event.tool_call_update.diffs)
    assert (diff.path, diff.old_text, diff.new_text) == ("a.txt", "a", "b")
