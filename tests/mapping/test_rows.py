"""Every row of the mapping, one event at a time."""

from __future__ import annotations

from typing import Any

import pytest

from compass_agent.events import TextDelta
from compass_agent.frames import AgentSessionState, SessionInjectionKind
from compass_agent.mapping import EventMapper, UnmappedEvent
from inner_events import (
    assistant_end,
    delta,
    message_start,
    run_end,
    tool_end,
    tool_start,
    tool_update,
)
from reading_frames import described, frames_of

SUCCESS = {"type": "auto_retry_end", "success": True, "attempt": 2}


def new_mapper() -> EventMapper:
    return EventMapper(now=lambda: 1_700_000_000_000)


def mapped(*events: Any) -> list[str]:
    """Map events in order and describe what the last one gave."""
    mapper = new_mapper()
    for event in events[:-1]:
        mapper.map(event)
    return described(mapper.map(events[-1]))


@pytest.mark.parametrize("kind", ["agent_start", "turn_start"])
def test_starting_work_is_working(kind: str) -> None:
    assert mapped({"type": kind}) == ["state WORKING"]


def test_a_state_is_emitted_on_change_only() -> None:
    assert mapped({"type": "agent_start"}, {"type": "turn_start"}) == []


def test_an_assistant_message_is_working() -> None:
    assert mapped(message_start()) == ["state WORKING"]


def test_a_user_message_is_working_and_a_prompt() -> None:
    start = message_start("user", content=[{"type": "text", "text": "Fix it"}])

    assert mapped(start) == ["state WORKING", "prompt 1 Fix it"]


def test_a_message_of_another_role_gives_no_state() -> None:
    assert mapped(message_start("toolResult")) == []


def test_message_ids_count_every_message_start() -> None:
    assert mapped(delta("a")) == ["text 0 a"]
    assert mapped(message_start("toolResult"), message_start(), delta("a")) == ["text 2 a"]


@pytest.mark.parametrize(("kind", "name"), [("text_delta", "text"), ("thinking_delta", "thinking")])
def test_a_delta_is_one_frame_and_an_empty_one_none(kind: str, name: str) -> None:
    assert mapped(delta(" hi\n", kind)) == [f"{name} 0  hi\n"]
    assert mapped(delta("", kind)) == []


@pytest.mark.parametrize(
    "kind",
    [
        "start",
        "text_start",
        "text_end",
        "thinking_start",
        "thinking_end",
        "image_end",
        "toolcall_start",
        "toolcall_delta",
        "toolcall_end",
        "done",
        "what_comes_next_year",
    ],
)
def test_other_steps_of_a_message_give_nothing(kind: str) -> None:
    assert mapped(delta("x", kind)) == []


def inner_error(reason: str = "error", **fields: Any) -> dict[str, Any]:
    error: dict[str, Any] = {"role": "assistant", "content": [], **fields}
    step: dict[str, Any] = {"type": "error", "reason": reason, "error": error}
    return {"type": "message_update", "assistantMessageEvent": step}


def test_an_inner_error_is_content_and_then_errored() -> None:
    event = inner_error(errorMessage="Overloaded", errorStatus=529)

    assert mapped(message_start(), event) == ["ERROR 529 Overloaded", "state ERRORED"]


@pytest.mark.requirement("G-TURN-2")
def test_an_inner_abort_is_content_alone() -> None:
    event = inner_error("aborted", errorMessage="Request was aborted")

    assert mapped(message_start(), event) == ["ABORTED - Request was aborted"]


def test_a_failed_message_end_is_content_and_then_errored() -> None:
    end = assistant_end("error", errorMessage="Rate limit", errorStatus=429)

    assert mapped(message_start(), end) == ["ERROR 429 Rate limit", "state ERRORED"]


@pytest.mark.requirement("G-TURN-2")
def test_an_aborted_message_end_is_content_alone() -> None:
    end = assistant_end("aborted", errorMessage="Interrupted by user")

    assert mapped(message_start(), end) == ["ABORTED - Interrupted by user"]


@pytest.mark.requirement("G-TURN-4")
@pytest.mark.parametrize("missing", [{}, {"errorMessage": None, "errorStatus": None}])
def test_what_a_failure_lacks_stays_absent(missing: dict[str, Any]) -> None:
    assert mapped(message_start(), assistant_end("error", **missing)) == [
        "ERROR -",
        "state ERRORED",
    ]


@pytest.mark.requirement("G-TURN-4")
def test_status_0_is_a_status() -> None:
    end = assistant_end("error", errorMessage="x", errorStatus=0)

    assert mapped(end) == ["ERROR 0 x", "state ERRORED"]


@pytest.mark.parametrize("status", ["429", True, 1.5, 2**40, [429], -1])
def test_a_status_that_is_none_is_left_out(status: Any) -> None:
    assert mapped(assistant_end("error", errorStatus=status))[0] == "ERROR -"


def test_a_failed_message_of_another_role_is_no_failure() -> None:
    end = {"type": "message_end", "message": {"role": "toolResult", "stopReason": "error"}}

    assert mapped(end) == []


def test_an_answer_cut_at_the_limit_gives_a_notice() -> None:
    end = assistant_end("length", "half an answer")

    assert mapped(message_start(), delta("half"), end) == [
        "notice The answer was cut at the token limit"
    ]


def test_a_good_message_end_gives_nothing() -> None:
    assert mapped(message_start(), delta("hi"), assistant_end(text="hi")) == []


def test_an_empty_answer_gives_a_notice() -> None:
    assert mapped(message_start(), assistant_end()) == ["notice The answer was empty"]


def test_an_empty_answer_without_its_start_gives_nothing() -> None:
    assert mapped(assistant_end()) == []


def test_an_empty_answer_that_calls_tools_gives_nothing() -> None:
    assert mapped(message_start(), assistant_end("toolUse")) == []


def test_a_run_that_ends_well_is_ready() -> None:
    assert mapped({"type": "agent_start"}, run_end()) == ["state READY"]


def test_a_run_that_goes_on_by_itself_is_not_ready() -> None:
    assert mapped({"type": "agent_start"}, run_end(isTerminal=False)) == []


@pytest.mark.parametrize(("intent", "title"), [("  Run tests ", "Run tests"), ("  ", "bash")])
def test_a_tool_call_is_titled_by_its_intent_else_its_name(intent: str, title: str) -> None:
    assert mapped(tool_start(intent=intent)) == [f"tool t1 IN_PROGRESS {title}"]


def test_a_tool_call_goes_on_and_ends() -> None:
    output = {"content": [{"type": "text", "text": " 1 passed\n"}]}

    assert mapped(tool_start(), tool_update(output)) == ["update t1 IN_PROGRESS 1 passed"]
    assert mapped(tool_start(), tool_end(output)) == ["update t1 COMPLETED 1 passed"]
    assert mapped(tool_start(), tool_end(output, failed=True)) == ["update t1 FAILED 1 passed"]


def test_a_todo_tool_gives_its_plan() -> None:
    tasks = [{"content": "a", "status": "in_progress"}, {"content": "b", "status": "abandoned"}]
    result = {"details": {"phases": [{"tasks": tasks}]}}

    assert mapped(tool_end(result, name="todo"))[1:] == ["plan IN_PROGRESS a, COMPLETED b"]
    assert mapped(tool_end(result, name="todo", failed=True))[1:] == []
    assert mapped(tool_end(result, name="bash"))[1:] == []


def test_reminders_give_the_plan_and_clearing_an_empty_one() -> None:
    reminder = {"type": "todo_reminder", "todos": [{"content": "a", "status": "blocked"}]}

    assert mapped(reminder) == ["plan PENDING a"]
    assert mapped({"type": "todo_auto_clear"}) == ["plan "]


def test_a_retry_is_a_notice_and_working() -> None:
    start = {
        "type": "auto_retry_start",
        "attempt": 1,
        "maxAttempts": 3,
        "delayMs": 1500.0,
        "errorMessage": "Overloaded",
    }

    assert mapped(start) == ["notice Retry 1 of 3 in 1.5 s: Overloaded", "state WORKING"]
    assert mapped(SUCCESS) == ["notice The retry succeeded after 2 attempts"]


@pytest.mark.parametrize(
    ("event", "text"),
    [
        ({"type": "auto_compaction_start", "reason": "threshold"}, "Compacting"),
        ({"type": "auto_compaction_end", "errorMessage": "no room"}, "failed: no room"),
        ({"type": "compaction_start", "reason": "manual"}, "(manual)"),
        ({"type": "compaction_end", "aborted": True}, "was stopped"),
        ({"type": "retry_fallback_applied", "from": "a", "to": "b"}, "b instead of a"),
        ({"type": "retry_fallback_succeeded", "model": "b"}, "b answered"),
        ({"type": "notice", "level": "warning", "message": "low disk"}, "warning: low disk"),
        ({"type": "model_changed"}, "The model was changed"),
        ({"type": "thinking_level_changed", "level": "high"}, "now high"),
        ({"type": "ttsr_triggered", "rules": [{"name": "no-rm"}]}, "no-rm"),
        ({"type": "extension_error", "error": "boom"}, "boom"),
    ],
    ids=map(str, range(11)),
)
def test_announcements_are_notices(event: dict[str, Any], text: str) -> None:
    (line,) = mapped(event)

    assert line.startswith("notice ")
    assert text in line


@pytest.mark.parametrize(
    "kind",
    [
        "session",
        "ready",
        "response",
        "queue_update",
        "available_commands_update",
        "extension_ui_request",
        "session_info_changed",
        "tool_stream_update",
        "rpc_chunk",
        "rpc_frame_error",
        "prompt_result",
        "subagent_lifecycle",
        "subagent_progress",
        "subagent_event",
        "command_output",
        "session_info_update",
        "config_update",
        "host_tool_call",
        "host_tool_cancel",
        "host_uri_request",
        "host_uri_cancel",
    ],
)
def test_transport_talk_gives_nothing_and_is_not_unmapped(kind: str) -> None:
    mapper = new_mapper()

    assert mapper.map({"type": kind}) == []
    assert not mapper.unmapped


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ({"type": "goal_updated"}, "goal_updated"),
        ({"type": 5}, ""),
        ({}, ""),
        ([], "list"),
        ("agent_start", "str"),
        (None, "NoneType"),
        (object(), "object"),
    ],
)
def test_anything_else_is_unmapped_with_its_type(value: object, kind: str) -> None:
    (item,) = new_mapper().map(value)

    assert isinstance(item, UnmappedEvent)
    assert item.event_type == kind


def test_unmapped_events_are_counted_and_logged_once_a_type(
    caplog: pytest.LogCaptureFixture,
) -> None:
    mapper = new_mapper()
    for _ in range(3):
        mapper.map({"type": "goal_updated"})

    assert mapper.unmapped == {"goal_updated": 3}
    assert len(caplog.records) == 1


def test_classes_of_events_are_taken_as_well() -> None:
    assert mapped(TextDelta("hi")) == ["text 0 hi"]


def test_event_ids_and_times_are_stamped_on_events_alone() -> None:
    mapper = new_mapper()
    frames = frames_of(
        [*mapper.map(delta("a")), *mapper.map({"type": "agent_start"}), *mapper.map(delta("b"))]
    )

    assert [frame.typed_event.event_id for frame in frames] == ["1", "", "2"]
    assert frames[0].typed_event.at_unix_ms == 1_700_000_000_000
    assert not frames[1].HasField("typed_event")


def test_an_injection_is_one_frame_on_the_same_counter() -> None:
    mapper = new_mapper()
    mapper.map(delta("a"))
    frame = mapper.session_injection(
        SessionInjectionKind.SESSION_INJECTION_KIND_DELIVER, "m7", "ops", "00-ab-cd-01"
    )

    injection = frame.typed_event.session_injection
    assert frame.typed_event.event_id == "2"
    assert (injection.message_id, injection.from_handle) == ("m7", "ops")
    assert injection.traceparent == "00-ab-cd-01"


def test_the_runtime_moves_the_state_on_change_only() -> None:
    mapper = new_mapper()

    assert len(mapper.lifecycle(AgentSessionState.AGENT_SESSION_STATE_STARTING)) == 1
    assert mapper.lifecycle(AgentSessionState.AGENT_SESSION_STATE_STARTING) == []
