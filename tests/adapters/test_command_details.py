"""Lines of agents' commands that recordings do not show, and what must not come of them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from compass_agent.adapters import adapter_for
from compass_agent.events import Noticed
from compass_agent.mapping import EventMapper
from reading_frames import described, errors_of, frames_of

CLAUDE = {"session_id": "s", "parent_tool_use_id": None}
INIT = {"type": "system", "subtype": "init", **CLAUDE}
THREAD = ({"type": "thread.started", "thread_id": "t"}, {"type": "turn.started"})
GEMINI = {"timestamp": "2026-01-01T00:00:00Z"}
GEMINI_INIT = {"type": "init", "session_id": "s", "model": "m", **GEMINI}


def told(agent: str, *values: Any, secrets: tuple[str, ...] = (), exit_code: int = 0) -> list[Any]:
    """Return the frames of these objects and of the end after them."""
    adapter, mapper = adapter_for(agent, secrets), EventMapper(now=lambda: 0)
    events = [event for value in values for event in adapter.feed(json.dumps(value) + "\n")]
    events += adapter.end(exit_code)
    return frames_of([frame for event in events for frame in mapper.map(event)])


def lines(agent: str, *values: Any) -> list[str]:
    return described(told(agent, *values))


def claude(content: list[Any], name: str = "m1", **fields: Any) -> dict[str, Any]:
    message = {"id": name, "role": "assistant", "content": content}
    return {"type": "assistant", "message": message, **CLAUDE, **fields}


def text(words: str) -> dict[str, str]:
    return {"type": "text", "text": words}


def result(**fields: Any) -> dict[str, Any]:
    return {"type": "result", "subtype": "success", "is_error": False, **CLAUDE, **fields}


def test_claude_whose_words_come_in_blocks_tells_each_once() -> None:
    tool = {"type": "tool_use", "id": "t1", "name": "Grep", "input": {"pattern": "x"}}
    content = [{"type": "tool_result", "tool_use_id": "t1", "content": [text("found")]}]
    user = {"type": "user", "message": {"role": "user", "content": content}, **CLAUDE}
    values = (claude([text("one")]), claude([tool]), user, claude([text("two")], "m2"))
    assert lines("claude-code", INIT, *values, result(result="two"))[1:-3] == [
        "text 1 one",
        "tool t1 IN_PROGRESS Grep: x",
        "update t1 COMPLETED found",
        "text 2 two",
    ]


def test_claude_whose_answer_is_only_in_the_result_tells_it() -> None:
    assert "text 1 Cleared" in lines("claude-code", INIT, result(result="Cleared"))


def test_claude_that_failed_with_subtype_success_says_why() -> None:
    failed = result(
        is_error=True, errors=[], result="API Error: idle timeout", api_error_status=504
    )
    (error,) = errors_of(told("claude-code", INIT, failed, exit_code=1))
    assert (error.message, error.status) == ("idle timeout", 504)


def test_claude_whose_synthetic_message_is_all_there_is_tells_it() -> None:
    message = claude([text("API Error: Overloaded")], error="rate_limit", api_error_status=529)
    frames = told("claude-code", INIT, message, exit_code=1)
    assert [(e.message, e.status) for e in errors_of(frames)] == [("Overloaded", 529)]
    assert not any(line.startswith("text") for line in described(frames))


@pytest.mark.parametrize("within", ["T", None])
def test_claude_that_went_on_after_a_failed_request_has_not_failed(within: str | None) -> None:
    message = {"model": "<synthetic>", "id": "x", "content": [text("API Error: 529 Overloaded")]}
    failed = {"type": "assistant", "message": message, "error": "server_error", **CLAUDE}
    failed["parent_tool_use_id"] = within
    task = {"type": "tool_use", "id": "T", "name": "Task", "input": {"description": "look"}}
    ended = {"type": "tool_result", "tool_use_id": "T", "content": "no", "is_error": True}
    user = {"type": "user", "message": {"role": "user", "content": [ended]}, **CLAUDE}
    values = (INIT, claude([task]), failed, user, claude([text("It is 42.")], "m2"))
    seen = lines("claude-code", *values, result(result="It is 42."))
    assert not any(line.startswith("ERROR") for line in seen)
    assert "text 2 It is 42." in seen
    assert "state READY" in seen
    # Also when the answer stands in the result alone.
    assert "text 2 It is 42." in lines("claude-code", *values[:-1], result(result="It is 42."))
    (error,) = errors_of(told("claude-code", *values[:-1], result(is_error=True), exit_code=1))
    assert error.message != "It is 42."


def test_claude_that_went_on_with_a_tool_alone_has_not_failed() -> None:
    failed = claude([text("API Error: 529 Overloaded")], "x", error="server_error")
    tool: dict[str, Any] = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {}}
    begun = {"type": "message_start", "message": {"id": "m2"}}
    streamed = {"type": "stream_event", "event": begun, **CLAUDE}
    ended = {"type": "tool_result", "tool_use_id": "t1", "content": "ok"}
    user = {"type": "user", "message": {"role": "user", "content": [ended]}, **CLAUDE}
    seen = lines("claude-code", INIT, failed, streamed, claude([tool], "m2"), user, result())
    assert "update t1 COMPLETED ok" in seen
    assert not any(line.startswith("ERROR") for line in seen)


def test_an_answer_of_claude_in_the_result_alone_is_told_after_a_run_that_failed() -> None:
    failed = result(is_error=True, result="API Error: 500 boom")
    seen = lines("claude-code", INIT, claude([text("one")]), failed, INIT, result(result="two"))
    assert [line for line in seen if line.startswith(("text", "ERROR"))] == [
        "text 1 one",
        "ERROR 500 boom",
        "text 2 two",
    ]


@pytest.mark.parametrize(
    ("fields", "told_as"),
    [
        ({"subtype": "error_max_turns"}, "ERROR - The run ended: max turns"),
        ({"subtype": "error_max_turns", "result": "one"}, "ERROR - The run ended: max turns"),
        (
            {"subtype": "error_during_execution", "terminal_reason": "aborted_tools"},
            "ABORTED - Interrupted by user",
        ),
    ],
)
def test_a_result_of_claude_whose_kind_is_an_error_is_no_success(
    fields: dict[str, Any], told_as: str
) -> None:
    assert told_as in lines("claude-code", INIT, claude([text("one")]), result(**fields))


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"subtype": "error_max_turns"}, "The run ended: max turns"),
        ({"subtype": "error_max_turns", "errors": ["Reached 3 turns"]}, "Reached 3 turns"),
        ({"result": ""}, "The run ended as failed, without a reason"),
    ],
)
def test_claude_that_failed_without_a_text_says_what_it_can(
    fields: dict[str, Any], said: str
) -> None:
    (error,) = errors_of(told("claude-code", INIT, result(is_error=True, **fields)))
    assert error.message == said


def test_a_refused_tool_of_claude_is_failed_when_the_run_goes_on() -> None:
    tool = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "rm x"}}
    refused = {"type": "tool_result", "tool_use_id": "t1", "is_error": True}
    refused["content"] = "The user doesn't want to proceed with this tool use. Stop."
    user = {"type": "user", "message": {"role": "user", "content": [refused]}, **CLAUDE}
    shown = lines("claude-code", INIT, claude([tool]), user, claude([text("fine")], "m2"), result())
    assert shown[2].startswith("update t1 FAILED The user doesn't want")
    assert shown[3] == "text 2 fine"


def test_what_a_subagent_of_claude_says_is_its_calls_output() -> None:
    tool = {"type": "tool_use", "id": "t1", "name": "Task", "input": {"description": "Look"}}
    inner = claude([text("looking")], "m9", parent_tool_use_id="t1")
    shown = lines("claude-code", INIT, claude([tool]), inner, result())
    assert shown[1:4] == [
        "tool t1 IN_PROGRESS Task: Look",
        "update t1 IN_PROGRESS looking",
        "update t1 FAILED The run ended without this tool's result",
    ]


@pytest.mark.parametrize(
    ("fields", "old", "new"),
    [
        ({"originalFile": "a b a", "oldString": "a", "newString": "c"}, "a b a", "c b a"),
        (
            {"originalFile": "a b a", "oldString": "a", "newString": "c", "replaceAll": True},
            "a b a",
            "c b c",
        ),
        ({"originalFile": "a", "content": "b"}, "a", "b"),
        ({"oldString": "a", "newString": "c"}, "a", "c"),
    ],
)
def test_an_edit_by_claude_is_told_as_a_diff(fields: dict[str, Any], old: str, new: str) -> None:
    tool: Any = {"type": "tool_use", "id": "t1", "name": "Edit", "input": {}}
    content = [{"type": "tool_result", "tool_use_id": "t1", "content": "ok"}]
    user: dict[str, Any] = {"type": "user", "message": {"content": content}, **CLAUDE}
    user["tool_use_result"] = {"filePath": "f", **fields}
    frames = told("claude-code", INIT, claude([tool]), user, result())
    (diff,) = [d for f in frames for d in f.typed_event.tool_call_update.diffs]
    assert (diff.path, diff.old_text, diff.new_text) == ("f", old, new)


def test_a_codex_error_that_ended_nothing_is_a_notice() -> None:
    warned = {"type": "error", "message": "The stream was slow"}
    done: Any = {"type": "turn.completed", "usage": {}}
    frames = told("codex", *THREAD, warned, done)
    assert errors_of(frames) == []
    assert "notice The stream was slow" in described(frames)


def test_a_codex_error_that_is_all_there_is_is_the_failure() -> None:
    (error,) = errors_of(told("codex", *THREAD, {"type": "error", "message": "gone"}, exit_code=1))
    assert error.message == "gone"


def test_a_failed_turn_of_codex_without_a_text_still_has_one() -> None:
    (error,) = errors_of(told("codex", *THREAD, {"type": "turn.failed", "error": {}}))
    assert error.message == "The turn failed, without a reason"


def test_a_body_in_a_codex_error_is_read() -> None:
    body = '{"error": {"message": "No such model", "code": "model_not_found"}}'
    said = f"unexpected status 404 Not Found: {body}, url: http://127.0.0.1/x, request id: r-1"
    (error,) = errors_of(
        told("codex", *THREAD, {"type": "turn.failed", "error": {"message": said}})
    )
    assert (error.message, error.status, error.request_id) == ("No such model", 404, "r-1")
    assert error.code == "model_not_found"


def test_a_gemini_error_that_ended_nothing_is_a_notice() -> None:
    warned = {"type": "error", "severity": "error", "message": "quota is low", **GEMINI}
    message = {"type": "message", "role": "assistant", "content": "hi", "delta": True, **GEMINI}
    done = {"type": "result", "status": "success", **GEMINI}
    frames = told("gemini", GEMINI_INIT, warned, message, done)
    assert errors_of(frames) == []
    assert "notice quota is low" in described(frames)


@pytest.mark.parametrize("status", ["success", "error"])
def test_a_gemini_error_that_comes_last_is_the_failure(status: str) -> None:
    warned = {"type": "error", "severity": "error", "message": "too many turns", **GEMINI}
    done = {"type": "result", "status": status, **GEMINI}
    (error,) = errors_of(told("gemini", GEMINI_INIT, warned, done))
    assert error.message == "too many turns"


def test_gemini_that_says_it_was_cancelled_was_stopped() -> None:
    error = {"type": "FatalCancellationError", "message": "Operation cancelled."}
    shown = lines("gemini", GEMINI_INIT, {"type": "result", "status": "error", "error": error})
    assert "ABORTED - Operation cancelled." in shown
    assert "state ERRORED" not in shown


@pytest.mark.parametrize("agent", ["claude-code", "codex", "gemini"])
def test_unknown_lines_and_words_are_notices(agent: str) -> None:
    adapter = adapter_for(agent)
    assert adapter.feed('{"type": "new", "a": 1}\nwords\n') == [
        Noticed('Line 1 is not known: {"type": "new", "a": 1}'),
        Noticed("Line 2 is no JSON: words"),
    ]


@pytest.mark.parametrize("agent", ["claude-code", "codex", "gemini"])
def test_a_secret_in_a_failure_is_masked(agent: str) -> None:
    why = "the key hunter2-hunter2 is not valid"
    failed = {
        "claude-code": [INIT, result(is_error=True, result=why)],
        "codex": [*THREAD, {"type": "turn.failed", "error": {"message": why}}],
        "gemini": [GEMINI_INIT, {"type": "result", "status": "error", "error": {"message": why}}],
    }[agent]
    (error,) = errors_of(told(agent, *failed, secrets=("hunter2-hunter2",)))
    assert "hunter2" not in error.message
    assert "is not valid" in error.message


def test_separators_of_lines_other_than_the_line_feed_are_text() -> None:
    words = "a\u2028b\u2029c\u0085d\re\x0bf"
    message = {"type": "message", "role": "assistant", "content": words, "delta": True, **GEMINI}
    adapter = adapter_for("gemini")
    data = json.dumps(message, ensure_ascii=False).encode() + b"\n"
    events = [event for byte in data for event in adapter.feed(bytes([byte]))]
    assert getattr(events[-1], "text", "") == words


def test_halves_of_a_code_point_are_joined() -> None:
    halves = [
        {"type": "message", "role": "assistant", "content": half, "delta": True, **GEMINI}
        for half in ("\ud83d", "\udc4b")
    ]
    assert "text 1 👋" in lines("gemini", GEMINI_INIT, *halves)


def test_there_is_no_adapter_of_an_unknown_name() -> None:
    with pytest.raises(ValueError, match="auto, pi, claude-code, codex, gemini, text"):
        adapter_for("nobody")
