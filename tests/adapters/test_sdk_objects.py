"""Adapters of SDKs on objects that look like theirs: what the real ones say too rarely."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compass_agent import open_session
from compass_agent.adapters import claude_agent_sdk, google_adk, langgraph
from compass_agent.adapters.acp_updates import UpdateReader
from compass_agent.adapters.sdk_stream import StreamRun
from compass_agent.events import InnerEvent
from compass_agent.mapping import EventMapper
from compass_agent.testing import capture_frames, check_events
from reading_frames import described, frames_of

CLASSES = [
    *("AIMessage", "AIMessageChunk", "AssistantMessage", "Event", "RateLimitEvent"),
    *("ResultMessage", "StreamEvent", "SystemMessage", "TextBlock", "ToolMessage"),
    *("ToolResultBlock", "ToolUseBlock", "UserMessage"),
]
WORDS = [
    *("messages", "tools", "updates", "custom", "tool-started", "tool-finished", "tool-error"),
    *("tool_call", "tool_call_update", "plan", "agent_message_chunk", "completed", "diff"),
    *("assistant", "text", "thinking", "message_start", "message_stop", "content_block_delta"),
]
NAMES = [
    *("type", "data", "event", "content", "parts", "text", "thought", "function_call", "id"),
    *("function_response", "response", "error_code", "partial", "actions", "args", "name"),
    *("tool_call_id", "tool_use_id", "tool_use_result", "message_id", "input", "is_error"),
    *("sessionUpdate", "toolCallId", "status", "entries", "rawOutput", "delta", "index"),
    *("__interrupt__", "output", "long_running_tool_ids", "subtype", "result", "errors"),
]
MAKERS: list[Callable[[], StreamRun]] = [
    claude_agent_sdk.Adapter,
    langgraph.Adapter,
    google_adk.Adapter,
    lambda: UpdateReader(["hi"]),
]
IDS = ["claude-agent-sdk", "langgraph", "google-adk", "acp"]


def thing(name: str, /, **fields: Any) -> Any:
    """Return an object whose class has this name."""
    return type(name, (SimpleNamespace,), {})(**fields)


leaves = st.none() | st.booleans() | st.integers() | st.text(max_size=4) | st.sampled_from(WORDS)
values = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(NAMES), inner, max_size=5)
        | st.tuples(
            st.sampled_from(CLASSES), st.dictionaries(st.sampled_from(NAMES), inner, max_size=5)
        ).map(lambda made: thing(made[0], **made[1]))
    ),
    max_leaves=14,
)


@pytest.mark.requirement("G-AGENT-3")
@pytest.mark.parametrize("make", MAKERS, ids=IDS)
@given(stream=st.lists(values, max_size=6))
def test_nothing_that_an_sdk_gives_stops_its_stream(
    make: Callable[[], StreamRun], stream: list[Any]
) -> None:
    run, mapper = make(), EventMapper(now=lambda: 0)
    events = [event for item in stream for event in run.feed(item)]
    for event in [*run.begin(), *events, *run.end()]:
        frames_of(mapper.map(event))


def told(run: StreamRun, *items: object) -> list[str]:
    """Return what readers see of a run that gives `items`, and ends."""
    events: list[InnerEvent] = run.begin()
    for item in items:
        events += run.feed(item)
    events += run.end()
    check_events(events)
    mapper = EventMapper(now=lambda: 0)
    return described(frame for event in events for frame in mapper.map(event))


def chunk(text: object, name: str = "m1", **fields: Any) -> dict[str, Any]:
    message = thing("AIMessageChunk", content=text, id=name, **fields)
    return {"type": "messages", "ns": (), "data": (message, {})}


def test_thoughts_of_a_graph_come_in_any_of_their_shapes() -> None:
    shapes = [
        [{"type": "reasoning", "reasoning": "one"}],
        [{"type": "reasoning", "summary": [{"type": "summary_text", "text": "two"}]}],
        [{"type": "thinking", "thinking": "three"}, {"type": "text", "text": "said"}],
    ]
    assert told(langgraph.Adapter(), *map(chunk, shapes))[1:-1] == [
        "thinking 1 one",
        "thinking 1 two",
        "thinking 1 three",
        "text 1 said",
    ]


def test_nodes_of_a_graph_that_work_side_by_side_gave_no_empty_answer() -> None:
    begun = [chunk("", "a"), chunk("", "b"), chunk("one", "a"), chunk("two", "b")]
    over = [chunk("", name, chunk_position="last") for name in ("a", "b")]
    lines = told(langgraph.Adapter(), *begun, *over)
    assert [line.split()[-1] for line in lines[1:-1]] == ["one", "two"]
    alone = told(langgraph.Adapter(), chunk("", "a"), chunk("", "a", chunk_position="last"))
    assert "notice The answer was empty" in alone


def test_an_answer_of_a_graph_that_the_filter_stopped_has_failed() -> None:
    stopped = {"finish_reason": "content_filter"}
    lines = told(langgraph.Adapter(), chunk("Good"), chunk("", response_metadata=stopped))
    assert lines[-2:] == ["ERROR - The provider's filter stopped the answer", "state ERRORED"]


def test_an_answer_of_a_graph_that_failed_before_the_last_one_is_told() -> None:
    stopped = {"finish_reason": "content_filter"}
    last = chunk("fine", "b", chunk_position="last")
    lines = told(langgraph.Adapter(), chunk("Good", response_metadata=stopped), last)
    goes_on = "notice The work goes on after a failure: The provider's filter stopped the answer"
    assert goes_on in lines
    assert lines[-1] == "state READY"


def test_an_answer_of_a_graph_that_broke_off_and_was_tried_again_is_told() -> None:
    broken = (chunk("Good "), chunk("day, key sk-ant-api03-" + "a" * 40))
    last = chunk("fine", "b", chunk_position="last")
    lines = told(langgraph.Adapter(), *broken, last)
    said = "An answer broke off, and its message is not valid: Good day, key [redacted]"
    assert lines[-3:] == ["text 2 fine", f"notice {said}", "state READY"]
    # Of a library that tells no ends, nobody knows.
    lines = told(langgraph.Adapter(), *broken, chunk("fine", "b"))
    assert not any(line.startswith("notice") for line in lines)


@pytest.mark.parametrize("told_by", [{"finish_reason": "error"}, {"status": "failed"}])
def test_an_answer_of_a_graph_that_says_that_it_failed_has_failed(told_by: Any) -> None:
    lines = told(langgraph.Adapter(), chunk("Good"), chunk("", response_metadata=told_by))
    assert lines[-2].startswith("ERROR - The provider says that the answer failed")
    assert lines[-1] == "state ERRORED"


def test_an_answer_of_a_graph_that_its_status_says_was_cut_says_so() -> None:
    details = {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
    lines = told(langgraph.Adapter(), chunk("Good"), chunk("", response_metadata=details))
    assert "notice The answer was cut at the token limit" in lines
    details = {"status": "incomplete", "incomplete_details": {"reason": "content_filter"}}
    lines = told(langgraph.Adapter(), chunk("Good"), chunk("", response_metadata=details))
    assert lines[-2] == "ERROR - The provider's filter stopped the answer"


@pytest.mark.parametrize(
    ("printed", "said"),
    [
        ("ResponseError(code='server_error', message='boom')", ("boom", 500, "server_error")),
        (
            """ResponseError(code='odd_one', message="it's late", a=1)""",
            ("it's late", 0, "odd_one"),
        ),
        ("code='server_error' message='boom'", ("boom", 500, "server_error")),
        (r"code='a' message='\x'", (r"code='a' message='\x'", 0, "")),
        ("ResponseError(code=1)", ("ResponseError(code=1)", 0, "")),
    ],
)
async def test_a_failure_that_a_graph_raises_in_its_printed_form_is_a_text(
    printed: str, said: tuple[str, int, str]
) -> None:
    failure = ValueError(printed)

    async def failing() -> AsyncGenerator[Any, None]:
        yield chunk("Good")
        raise failure

    with capture_frames() as frames, pytest.raises(ValueError, match=r"\(|=") as raised:
        async with open_session("s1") as session:
            await session.drive(langgraph.events(failing()))
    assert raised.value is failure
    assert [(told.message, told.status, told.code) for told in frames.errors()] == [said]


def test_a_graph_that_is_not_called_as_it_should_be_says_how() -> None:
    odd: list[Any] = [{"agent": {"messages": []}}, ("messages", ("x", {})), ((), "updates", {})]
    lines = told(langgraph.Adapter(), *odd)
    assert [line for line in lines if "notice" in line] == [
        "notice The graph's stream cannot be read: pass STREAM to its astream(…, **STREAM)"
    ]


def test_a_change_that_a_tool_of_a_graph_made_is_told() -> None:
    artifact = {"path": "a.txt", "oldText": "a", "newText": "b"}
    fields = {"content": "done", "artifact": artifact, "status": "success", "name": "edit"}
    message = thing("ToolMessage", tool_call_id="c1", **fields)
    run, mapper = langgraph.Adapter(), EventMapper(now=lambda: 0)
    events = run.feed({"type": "messages", "data": (message, None)})
    frames = [frame for event in events for frame in frames_of(mapper.map(event))]
    (diff,) = frames[-1].typed_event.tool_call_update.diffs
    assert (diff.path, diff.old_text, diff.new_text) == ("a.txt", "a", "b")


def test_the_plan_that_a_tool_of_a_graph_takes_is_told() -> None:
    todos = [{"content": "Look", "status": "in_progress"}, {"content": "Tell", "status": "pending"}]
    data = {"event": "tool-started", "tool_call_id": "c1", "tool_name": "write_todos"}
    item = {"type": "tools", "data": {**data, "input": {"todos": todos}}}
    done = {"event": "tool-finished", "tool_call_id": "c1", "output": "ok"}
    assert told(langgraph.Adapter(), item, {"type": "tools", "data": done})[2:-1] == [
        "plan IN_PROGRESS Look, PENDING Tell",
        "update c1 COMPLETED ok",
    ]


def event(**fields: Any) -> Any:
    """Return an event of google-adk."""
    final = fields.pop("final", True)
    author = fields.pop("author", "agent")
    return thing("Event", author=author, is_final_response=lambda: final, **fields)


def test_what_google_adk_hands_over_is_told() -> None:
    actions = SimpleNamespace(transfer_to_agent="writer", artifact_delta={"a.txt": 2})
    lines = told(google_adk.Adapter(), event(actions=actions))
    assert lines[1:3] == ["notice Handed over to writer", "notice Artifact a.txt, version 2"]


def test_agents_of_google_adk_that_work_side_by_side_say_each_word_once() -> None:
    def says(author: str, text: str, *, partial: bool = True) -> Any:
        content = SimpleNamespace(parts=[SimpleNamespace(text=text)])
        return event(author=author, content=content, partial=partial, final=not partial)

    begun = [says("a", "a1"), says("b", "b1"), says("a", "a2"), says("b", "b2")]
    whole = [says("a", "a1a2", partial=False), says("b", "b1b2", partial=False)]
    lines = told(google_adk.Adapter(), *begun, *whole)
    assert [line.split()[-1] for line in lines[1:-1]] == ["a1", "b1", "a2", "b2"]


def test_what_google_adk_says_after_its_stop_begins_nothing() -> None:
    content = SimpleNamespace(parts=[SimpleNamespace(text="late")])
    late = [event(content=content, author="b"), event(error_code="SAFETY")]
    stopped = event(error_code="INVOCATION_ABORTED")
    assert told(google_adk.Adapter(), stopped, *late, stopped)[1:] == [
        "ABORTED - Stopped by the host",
        "state READY",
    ]


def test_an_error_after_which_google_adk_goes_on_is_no_failure() -> None:
    said = SimpleNamespace(parts=[SimpleNamespace(text="Good day")])
    broken = event(error_code="UNAVAILABLE", error_message="Overloaded")
    assert told(google_adk.Adapter(), broken, event(content=said))[1:] == [
        "notice The work goes on after a failure: Overloaded",
        "text 1 Good day",
        "state READY",
    ]


def test_a_failure_that_google_adk_tells_twice_is_no_work_that_goes_on() -> None:
    lines = told(google_adk.Adapter(), *[event(error_code="SAFETY")] * 2)
    assert lines[1:] == ["ERROR - SAFETY", "state ERRORED"]


def test_a_limit_of_google_adk_before_the_first_word_is_told_once() -> None:
    lines = told(google_adk.Adapter(), *[event(error_code="MAX_TOKENS")] * 2)
    assert lines.count("notice The answer was cut at the token limit") == 1
    assert lines[-1] == "state READY"


async def test_an_invocation_that_ends_in_the_middle_has_failed() -> None:
    async def cut() -> AsyncGenerator[Any, None]:
        part = SimpleNamespace(parts=[SimpleNamespace(text="Good")])
        yield event(content=part, partial=True, final=False)

    with capture_frames() as frames:
        async with open_session("s1") as session:
            await session.drive(google_adk.events(cut()))
    assert [error.code for error in frames.errors()] == ["adapter.no_terminal"]


async def test_what_a_command_said_before_it_died_is_the_failure() -> None:
    died = RuntimeError("Command failed with exit code 1")

    async def dying() -> AsyncGenerator[Any, None]:
        text = thing("TextBlock", text="API Error: Request rejected (429) · Slow down")
        yield thing("AssistantMessage", content=[text], error="rate_limit", model="<synthetic>")
        raise died

    with capture_frames() as frames, pytest.raises(RuntimeError) as raised:
        async with open_session("s1") as session:
            await session.drive(claude_agent_sdk.events(dying()))
    assert raised.value is died
    assert [(error.message, error.status) for error in frames.errors()] == [("Slow down", 429)]


def test_what_others_put_into_a_turn_of_claude_is_told() -> None:
    begin = thing("StreamEvent", event={"type": "message_start", "message": {"id": "m1"}})
    news = thing("UserMessage", content="The build is done", origin={"kind": "task-notification"})
    lines = told(claude_agent_sdk.Adapter(), begin, news, thing("ResultMessage", is_error=False))
    assert "injection STEER" in lines
    assert "prompt 2 The build is done" in lines


def test_why_the_last_answer_of_claude_ended_is_told() -> None:
    begin = thing("StreamEvent", event={"type": "message_start", "message": {"id": "m1"}})
    refused = thing("ResultMessage", is_error=False, stop_reason="refusal")
    lines = told(claude_agent_sdk.Adapter(), begin, refused)
    assert lines[-2:] == ["ERROR - The provider's filter stopped the answer", "state ERRORED"]
    cut = thing("ResultMessage", is_error=False, stop_reason="max_tokens")
    lines = told(claude_agent_sdk.Adapter(), begin, cut)
    assert "notice The answer was cut at the token limit" in lines


def update(kind: str, **fields: Any) -> dict[str, Any]:
    return {"sessionUpdate": kind, **fields}


def test_a_tool_call_of_acp_without_a_start_has_one() -> None:
    done = update("tool_call_update", toolCallId="c1", status="failed", rawOutput={"text": "no"})
    reader = UpdateReader(["hi"])
    events = [*reader.begin(), *reader.feed(done), *reader.feed(done), *reader.finish("end_turn")]
    check_events(events)
    mapper = EventMapper(now=lambda: 0)
    lines = described(frame for each in events for frame in mapper.map(each))
    assert lines[2:-1] == ["tool c1 IN_PROGRESS c1", "update c1 FAILED no"]


@pytest.mark.parametrize(
    ("data", "failure"),
    [
        ({"error": {"message": "inner", "status": 529}}, "529 inner"),
        ({"error": {"error": {"message": "deep", "code": "overloaded_error"}}}, "529 deep"),
        ({"details": {"message": "within"}}, "- within"),
        ({"error": {"status": 503}}, "503 HTTP 503 Service Unavailable"),
        ({"error": {}}, "- Internal error"),
        ({"details": "said", "error": {"message": "inner", "status": 529}}, "529 said"),
    ],
)
def test_what_an_error_of_acp_holds_within_is_told(data: Any, failure: str) -> None:
    raised: Any = type("RequestError", (Exception,), {"data": data})("Internal error")
    reader = UpdateReader(["hi"])
    events = [*reader.begin(), *reader.fail(raised)]
    check_events(events)
    mapper = EventMapper(now=lambda: 0)
    lines = described(frame for each in events for frame in mapper.map(each))
    assert lines[2:] == [f"ERROR {failure}", "state ERRORED"]
