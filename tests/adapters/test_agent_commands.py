"""The adapters of Claude Code, Codex and Gemini, on what the installed commands wrote."""

from __future__ import annotations

import pytest

from command_runs import AGENTS, CommandRun, command_run, command_runs
from compass_agent.errors.shapes import is_object
from compass_agent.events import (
    AgentExited,
    InnerEvent,
    PlanChanged,
    PlanEntry,
    RunEnded,
    TextDelta,
    ThinkingDelta,
    ToolEnded,
)
from compass_agent.frames import SessionErrorKind
from reading_frames import described, errors_of, states_of, updates_of

RUNS = command_runs()
HELLO = "Hello wörld 👋"
ERROR = SessionErrorKind.SESSION_ERROR_KIND_ERROR
ABORTED = SessionErrorKind.SESSION_ERROR_KIND_ABORTED
FAILURES = {
    ("claude-code", "err-401"): ("The API key is not valid", 401, "authentication_error"),
    ("claude-code", "err-429"): ("Rate limit reached for loopback", 429, "rate_limit_error"),
    ("claude-code", "err-500"): ("The server had an error.", 500, "api_error"),
    ("claude-code", "err-cut"): (
        "Connection to the API was lost (ECONNRESET).",
        None,
        "connection_failed",
    ),
    ("codex", "err-401"): ("The API key is not valid", 401, ""),
    ("codex", "err-429"): ("exceeded retry limit, last status: 429 Too Many Requests", 429, ""),
    ("codex", "err-500"): (
        "We\u2019re currently experiencing high demand, which may cause temporary errors.",
        None,
        "",
    ),
    ("codex", "err-mid"): (
        "Selected model is at capacity. Please try a different model.",
        None,
        "",
    ),
    ("codex", "err-cut"): (
        (
            "stream disconnected before completion: Transport error: network error: "
            "error decoding response body"
        ),
        None,
        "",
    ),
    ("gemini", "err-401"): ("The API key is not valid", 401, "UNAUTHENTICATED"),
    ("gemini", "err-429"): ("Rate limit reached for loopback", 429, ""),
    ("gemini", "err-500"): ("The server had an error", 500, "INTERNAL"),
    ("gemini", "err-mid"): ("Model stream ended without a finish reason.", None, ""),
    ("gemini", "err-cut"): ("terminated", None, ""),
}


def named(run: CommandRun) -> str:
    return f"{run.agent}/{run.scenario}"


def text_of(events: list[InnerEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


@pytest.mark.parametrize("agent", AGENTS)
def test_an_answer_comes_whole_and_once(agent: str) -> None:
    run = command_run(agent, "text")
    events = run.events()
    assert text_of(events) == HELLO
    thinking = "".join(e.text for e in events if isinstance(e, ThinkingDelta))
    assert (
        thinking
        == {
            "claude-code": "Let me think.",
            "codex": "**Thought** Let me think.",
            "gemini": "",
        }[agent]
    ), "Gemini tells no thinking"
    assert states_of(run.frames()) == ["WORKING", "READY", "STOPPED"]
    assert errors_of(run.frames()) == []


@pytest.mark.parametrize("agent", AGENTS)
def test_tools_begin_and_end_as_they_did(agent: str) -> None:
    run = command_run(agent, "tools")
    frames = run.frames()
    titles = [line.split(" ", 3)[3] for line in described(frames) if line.startswith("tool ")]
    ends = [update.rpartition(" ")[2] for update in updates_of(frames)]
    assert (titles, ends) == {
        "claude-code": (
            ["Write: /home/user/out.txt", "Read: /home/user/missing.txt", "Bash: Print two lines"],
            ["COMPLETED", "FAILED", "COMPLETED"],
        ),
        "codex": (
            [
                "Change files: add /home/user/out.txt",
                "Run: echo one; echo two",
                "Run: ls missing; exit 3",
            ],
            ["COMPLETED", "COMPLETED", "FAILED"],
        ),
        "gemini": (
            [
                "write_file: /home/user/out.txt",
                "write_todos",
                "read_file: /home/user/missing.txt",
                "run_shell_command: echo one; echo two",
            ],
            ["COMPLETED", "COMPLETED", "FAILED", "COMPLETED"],
        ),
    }[agent]
    outputs = [frame.typed_event.tool_call_update.output for frame in frames]
    assert "one\ntwo" in outputs
    assert states_of(frames) == ["WORKING", "READY", "STOPPED"]


def test_a_written_file_is_told_with_its_text() -> None:
    frames = command_run("claude-code", "tools").frames()
    (diff,) = [diff for f in frames for diff in f.typed_event.tool_call_update.diffs]
    assert (diff.path, diff.new_text) == ("/home/user/out.txt", "hello from the model\n")
    assert not diff.HasField("old_text")


@pytest.mark.parametrize(("agent", "scenario"), [("claude-code", "plan"), ("gemini", "tools")])
def test_a_plan_is_told_as_it_changes(agent: str, scenario: str) -> None:
    events = command_run(agent, scenario).events()
    plans = [event.entries for event in events if isinstance(event, PlanChanged)]
    assert plans[-1] == (PlanEntry("Write it", "in_progress"), PlanEntry("Read it", "pending"))


def test_codex_tells_plans_and_calls_while_they_grow() -> None:
    run = command_run("codex", "plan")
    assert "built" in run.meta, "no command wrote it"
    assert described(run.frames())[1:-3] == [
        "plan PENDING Write it, PENDING Read it",
        "plan COMPLETED Write it, PENDING Read it",
        "tool item_1 IN_PROGRESS files.read: a.txt",
        "update item_1 COMPLETED a line",
        "tool item_2 IN_PROGRESS files.read: b.txt",
        "update item_2 FAILED no such file",
        "tool item_3 IN_PROGRESS Run: make",
        "update item_3 IN_PROGRESS compiling",
        "update item_3 COMPLETED compiling\ndone",
        "tool item_4 IN_PROGRESS Search the web: weather in Oulu",
        "update item_4 COMPLETED",
        "plan COMPLETED Write it, COMPLETED Read it",
        "text 1 All ",
        "text 1 done",
        "text 1 .",
    ]


@pytest.mark.parametrize(("agent", "scenario"), FAILURES)
@pytest.mark.requirement("G-TURN-1")
def test_a_failure_is_told_once_in_the_providers_words(agent: str, scenario: str) -> None:
    run = command_run(agent, scenario)
    frames = run.frames()
    (error,) = errors_of(frames)
    message, status, code = FAILURES[agent, scenario]
    assert (error.kind, error.message, error.code) == (ERROR, message, code)
    assert (error.status if error.HasField("status") else None) == status
    assert states_of(frames)[-1] == "ERRORED"
    shown = [line for line in described(frames) if line.startswith("text")]
    assert not any(message in line for line in shown), "a failure is no answer"
    wait = 7_000 if (agent, scenario) == ("gemini", "err-429") else 0
    assert error.retry_after_ms == wait, "the others keep it to themselves"


@pytest.mark.parametrize(
    ("agent", "notice"),
    [
        ("claude-code", "notice Retry 1 of 1 in 8.186 s: HTTP 429, rate limit"),
        ("codex", "notice Retry 1 of 1: exceeded retry limit, last status: 429 Too Many Requests"),
    ],
)
def test_an_announced_retry_is_a_notice(agent: str, notice: str) -> None:
    lines = described(command_run(agent, "err-429").frames())
    assert lines.index(notice) < lines.index("state ERRORED")
    assert lines[-2] == "notice No further retry: the agent gave up"


def test_an_answer_that_is_made_anew_is_a_message_of_its_own() -> None:
    run = command_run("claude-code", "err-mid")
    lines = described(run.frames())
    assert lines[1:5] == [
        "text 1 Hel",  # codespell:ignore
        "text 1 lo ",
        "notice The answer broke off",
        f"text 2 {HELLO}",
    ]
    assert errors_of(run.frames()) == []


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("scenario", ["sigint-streaming", "sigint-tool"])
@pytest.mark.requirement("G-TURN-2")
def test_a_stop_is_told_as_a_stop_and_closes_its_tools(agent: str, scenario: str) -> None:
    frames = command_run(agent, scenario).frames()
    (error,) = errors_of(frames)
    assert error.kind == ABORTED
    assert "ERRORED" not in states_of(frames)
    assert states_of(frames)[-1] == "STOPPED"
    interrupted = [update for update in updates_of(frames) if update.endswith("INTERRUPTED")]
    assert len(interrupted) == (scenario == "sigint-tool")
    lines = described(frames)
    assert not any("COMPLETED" in line or "FAILED" in line for line in lines)


def test_claude_code_says_itself_that_it_was_stopped() -> None:
    for scenario in ("sigint-streaming", "sigint-tool"):
        run = command_run("claude-code", scenario)
        events = [event for event in run.events() if not isinstance(event, AgentExited)]
        (error,) = errors_of(run.frames(events))
        assert (error.kind, error.message) == (ABORTED, "Interrupted by user")


@pytest.mark.parametrize("run", RUNS, ids=named)
def test_bytes_that_are_cut_anywhere_give_the_same_events(run: CommandRun) -> None:
    whole = run.events()
    data = run.data
    assert run.events(data[i : i + 1] for i in range(len(data))) == whole
    assert run.events(data.splitlines(keepends=True)) == whole
    assert run.events(data.split(b"\n")) == whole, "one line for each call, without its end"


@pytest.mark.parametrize("run", RUNS, ids=named)
@pytest.mark.requirement("G-TURN-3")
def test_a_stream_that_ends_early_is_no_success(run: CommandRun) -> None:
    lines = run.data.splitlines(keepends=True)
    for cut in range(1, len(lines)):
        part = CommandRun(run.agent, "cut", b"".join(lines[:cut]), {"exit_code": 0})
        events = part.events()
        frames = part.frames(events)
        done = any(isinstance(event, RunEnded) for event in events)
        begun = "WORKING" in states_of(frames)
        told = errors_of(frames)
        assert len(told) == (1 if begun and not done else len(errors_of(run.frames())) * done)
        if begun and not done:
            assert states_of(frames)[-1] == "ERRORED"
            assert updates_of(frames).count("IN_PROGRESS") == 0


@pytest.mark.parametrize("run", RUNS, ids=named)
def test_no_tool_ends_without_its_start(run: CommandRun) -> None:
    frames = run.frames()
    started = [line.split()[1] for line in described(frames) if line.startswith("tool ")]
    updates = [update.split() for update in updates_of(frames)]
    ended = [call for call, status in updates if status != "IN_PROGRESS"]
    assert sorted(started) == sorted(ended)
    for event in run.events():
        if isinstance(event, ToolEnded):
            assert is_object(event.result) or isinstance(event.result, str)
