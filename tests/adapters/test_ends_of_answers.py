"""Why an answer ended, by what its provider says of it: well, cut, filtered or failed."""

from __future__ import annotations

from typing import Any

import pytest

from compass_agent.adapters import anthropic, openai, pydantic_ai
from compass_agent.events import ToolStarted
from provider_streams import chunk, openai_run, told


def test_an_answer_that_the_filter_stopped_has_failed() -> None:
    stopped = "ERROR - The provider's filter stopped the answer"
    assert stopped in openai_run(chunk({"content": "Good"}), chunk({}, "content_filter"))
    incomplete = {"status": "incomplete", "incomplete_details": {"reason": "content_filter"}}
    assert stopped in openai_run({"type": "response.incomplete", "response": incomplete})
    run = anthropic.Run()
    events = run.feed({"type": "message_delta", "delta": {"stop_reason": "refusal"}})
    assert stopped in told([*events, *run.feed({"type": "message_stop"}), *run.end()])


SAYS_FAILED = "ERROR - The provider says that the answer failed, without a reason"


def test_an_answer_that_says_that_it_failed_has_failed() -> None:
    good, error = chunk({"content": "Good"}), {"code": 502, "message": "The host is down"}
    assert openai_run(good, chunk({}, "error"))[-2:] == [SAYS_FAILED, "state ERRORED"]
    ended = chunk({}, "error")
    ended["choices"][0]["error"] = error
    assert openai_run(good, ended)[-2:] == ["ERROR 502 The host is down", "state ERRORED"]


@pytest.mark.parametrize(
    "response",
    [
        {"finish_reason": "error", "provider_details": {"finish_reason": "failed"}},
        {"provider_details": {"finish_reason": "error"}},
        {"finish_reason": "error"},
    ],
)
def test_an_answer_of_pydantic_ai_that_says_that_it_failed_has_failed(response: Any) -> None:
    adapter = pydantic_ai.Adapter()
    result = {"event_kind": "agent_run_result", "result": {"response": response}}
    events = [*adapter.begin(), *adapter.feed(result)]
    assert told(events)[-2:] == [SAYS_FAILED, "state ERRORED"]


def test_an_answer_that_was_cut_at_its_limit_says_so() -> None:
    cut = "notice The answer was cut at the token limit"
    assert cut in openai_run(chunk({"content": "Good"}), chunk({}, "length"))
    incomplete = {"incomplete_details": {"reason": "max_output_tokens"}}
    assert cut in openai_run({"type": "response.incomplete", "response": incomplete})


def asked(reason: str, *arguments: str) -> list[openai.Run | anthropic.Run]:
    """Return runs, at their end, that asked for tools with these arguments."""
    chat, calls = openai.Run(), list[Any]()
    for index, written in enumerate(arguments):
        function = {"name": "look", "arguments": written}
        calls.append({"index": index, "id": f"c{index}", "function": function})
    events = [*chat.feed(chunk({"tool_calls": calls})), *chat.feed(chunk({}, reason))]
    response, incomplete = openai.Run(), {"incomplete_details": {"reason": "max_output_tokens"}}
    last = "response.incomplete" if reason == "length" else "response.completed"
    other: list[Any] = []
    message, words = anthropic.Run(), list[Any]()
    for index, written in enumerate(arguments):
        item = {"type": "function_call", "call_id": f"c{index}", "name": "look"}
        done = {"type": "response.output_item.done", "item": {**item, "arguments": written}}
        other += response.feed(done)
        block: dict[str, Any] = {"type": "tool_use", "id": f"c{index}", "name": "look", "input": {}}
        delta = {"type": "input_json_delta", "partial_json": written}
        for kind, part in ("start", {"content_block": block}), ("delta", {"delta": delta}):
            words += message.feed({"type": f"content_block_{kind}", "index": index, **part})
        words += message.feed({"type": "content_block_stop", "index": index})
    other += response.feed({"type": last, "response": incomplete})
    why = {"stop_reason": "max_tokens" if reason == "length" else "tool_use"}
    words += message.feed({"type": "message_delta", "delta": why})
    words += message.feed({"type": "message_stop"})
    runs: list[openai.Run | anthropic.Run] = [chat, response, message]
    for run, said in zip(runs, (events, other, words), strict=True):
        whole = [*said, *run.end()]
        begun = [e.tool_call_id for e in whole if isinstance(e, ToolStarted)]
        assert begun == [call.tool_call_id for call in run.calls]
        lines = told([*whole, *run.hand_over()])
        assert ("notice The answer was cut at the token limit" in lines) == (reason == "length")
        assert lines[-1] == "state READY"
    return runs


@pytest.mark.parametrize("torn", ['{"ci', ""])
def test_a_call_that_the_limit_cut_off_is_none(torn: str) -> None:
    for run in asked("length", torn):
        assert (run.calls, run.goes_on) == ([], False)
    for run in asked("length", '{"city": "Oulu"}', torn):
        assert [call.tool_call_id for call in run.calls] == ["c0"]
        assert run.goes_on
    # What the model itself wrote is the host's to judge.
    for run in asked("tool_calls", torn):
        assert [call.tool_call_id for call in run.calls] == ["c0"]


def test_what_comes_after_a_failure_in_its_stream_begins_nothing() -> None:
    error = {"code": "server_error", "message": "boom"}
    failed = {"type": "response.failed", "response": {"error": error}}
    for stream in ([{"type": "error", **error}, failed], [failed, {"type": "response.unknown"}]):
        lines = openai_run({"type": "response.created"}, *stream)
        assert lines[1:] == ["ERROR 500 boom", "state ERRORED"]
    run = openai.Run()
    events = [*run.feed(failed), *run.feed(failed), *run.end()]
    events += [*run.feed(chunk({"content": "Good"}, "stop")), *run.end()]
    assert told(events)[-2:] == ["text 2 Good", "state READY"]


FREE = {"name": "run", "input": "rm -rf /tm"}


def test_a_call_of_any_text_that_the_limit_cut_off_is_none() -> None:
    response, chat = openai.Run(), openai.Run()
    item = {"type": "custom_tool_call", "call_id": "c0", "status": "incomplete", **FREE}
    incomplete = {"incomplete_details": {"reason": "max_output_tokens"}}
    said = response.feed({"type": "response.output_item.done", "item": item})
    said += response.feed({"type": "response.incomplete", "response": incomplete})
    calls = [{"index": 0, "id": "c0", "custom": FREE}]
    other = [*chat.feed(chunk({"tool_calls": calls})), *chat.feed(chunk({}, "length"))]
    for run, events in (response, said), (chat, other):
        cut = "notice The answer was cut at the token limit"
        assert told([*events, *run.end()])[-2:] == [cut, "state READY"]
        assert (run.calls, run.goes_on) == ([], False)
    whole = openai.Run()
    for event in (chunk({"tool_calls": calls}), chunk({}, "tool_calls")):
        whole.feed(event)
    assert [call.arguments for call in whole.calls] == ["rm -rf /tm"]


@pytest.mark.parametrize(
    "last",
    [
        {"error": {"code": 502, "message": "down"}, **chunk({}, "error")},
        {"error": {"code": 502, "message": "down"}, "choices": []},
        {"error": {"code": 502, "message": "down"}},
    ],
)
def test_what_a_gateway_says_of_a_failure_beside_the_choices_is_told(last: Any) -> None:
    lines = openai_run(chunk({"content": "Good"}), last)
    assert lines[-2:] == ["ERROR 502 down", "state ERRORED"]


def test_a_failure_that_is_told_after_the_end_or_as_its_status_counts() -> None:
    good = chunk({"content": "Good"}, "stop")
    assert openai_run(good, chunk({}, "error"))[-2:] == [SAYS_FAILED, "state ERRORED"]
    error = {"code": "server_error", "message": "boom"}
    completed = {"type": "response.completed", "response": {"status": "failed", "error": error}}
    assert openai_run(completed)[-2:] == ["ERROR 500 boom", "state ERRORED"]


def test_an_answer_that_failed_asks_for_no_tool() -> None:
    run, function = openai.Run(), {"name": "look", "arguments": "{}"}
    events = run.feed(chunk({"tool_calls": [{"index": 0, "id": "c0", "function": function}]}))
    events += [*run.feed(chunk({}, "tool_calls")), *run.feed(chunk({}, "error")), *run.end()]
    assert told(events)[-2:] == [SAYS_FAILED, "state ERRORED"]
    assert (run.calls, run.goes_on) == ([], False)
