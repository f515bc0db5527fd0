"""`check_adapter` passes what keeps its promises, and names what does not."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from command_runs import CommandRun, command_run, command_runs
from compass_agent.adapters import adapter_for
from compass_agent.adapters.codex import Adapter
from compass_agent.events import (
    AgentExited,
    Failure,
    InnerEvent,
    MessageFailed,
    RunEnded,
    RunStarted,
    TextDelta,
    ToolStarted,
    ToolUpdated,
    Unknown,
)
from compass_agent.testing import check_adapter, check_events
from recordings import DATA

if TYPE_CHECKING:
    from collections.abc import Mapping

    from compass_agent.adapters import AgentAdapter

CODEX = command_run("codex", "tools").data
PI = ("pi/text-plain", "pi/tools-parallel", "pi/err-429", "omp/tool-fails", "omp/err-sse-mid")
STOPPED = MessageFailed(Failure(aborted=True, message=""))
FAILED = MessageFailed(Failure(aborted=False, message="no"))
OTHER = MessageFailed(Failure(aborted=False, message="other"))


@pytest.mark.parametrize("run", command_runs(), ids=lambda run: f"{run.agent}/{run.scenario}")
@pytest.mark.requirement("G-AGENT-1")
def test_the_adapters_of_commands_keep_it(run: CommandRun) -> None:
    # Gemini exits with 0 when it is interrupted; its run did not end by itself.
    interrupted = run.agent == "gemini" and run.scenario.startswith("sigint")
    exit_code = -2 if interrupted else run.meta["exit_code"]
    check_adapter(lambda: adapter_for(run.agent), run.data, exit_code=exit_code)


@pytest.mark.parametrize("name", PI)
@pytest.mark.requirement("G-AGENT-1")
def test_the_adapter_of_pi_keeps_it(name: str) -> None:
    check_adapter(lambda: adapter_for("pi"), (DATA / f"{name}.jsonl").read_bytes())


@pytest.mark.parametrize("agent", ["claude-code", "codex", "gemini", "pi"])
def test_so_does_one_that_looks_for_the_format(agent: str) -> None:
    data = (DATA / "pi/text-plain.jsonl").read_bytes() if agent == "pi" else b""
    check_adapter(lambda: adapter_for("auto"), data or command_run(agent, "tools").data)


class Broken(Adapter):
    """An adapter with a fault: `how` says which."""

    def __init__(self, how: str) -> None:
        super().__init__()
        self._how = how

    def feed(self, data: bytes | str | Mapping[str, object]) -> list[InnerEvent]:
        if self._how == "raises" and data == b"plain text\n":
            raise KeyError("type")
        if self._how == "always raises":
            raise KeyError("type")
        if self._how == "forgets" and isinstance(data, bytes) and len(data) == 7:
            return []
        events = super().feed(data)
        if self._how == "hides":
            return [event for event in events if not isinstance(event, RunEnded)]
        if self._how == "swallows":
            return [event for event in events if "nobody.knows" not in str(event)]
        if self._how == "gives a tuple":
            gives: Any = tuple(events)
            return gives
        return events

    def end(self, *args: Any, **fields: Any) -> list[InnerEvent]:
        events = super().end(*args, **fields)
        if self._how == "ends twice":
            self._ended = False
        if self._how == "fails at a stop" and fields.get("stopped_by"):
            return [Unknown("x", "y"), AgentExited(exit_code=1), AgentExited(exit_code=1)]
        if self._how == "raises at its end":
            raise KeyError("exit_code")
        if self._how == "never says that it is over":
            return [replace(e, unfinished=True) for e in events if isinstance(e, AgentExited)]
        return [] if self._how == "never ends" else events


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("raises", "Damage is told as a notice and the stream goes on.*KeyError"),
        ("forgets", "Bytes that are cut anywhere give the same text.*7 bytes"),
        ("ends twice", "A stream ends once"),
        ("never ends", "The last event says how the agent ended"),
        ("always raises", "An adapter never raises.*KeyError"),
        ("raises at its end", "An adapter never raises.*KeyError"),
        ("gives a tuple", "An adapter gives a list of inner events.*tuple"),
        ("swallows", "A line that is not known is told as a notice"),
        ("never says that it is over", "A .* is .*over"),
    ],
)
def test_a_broken_adapter_is_told_what_it_breaks(how: str, said: str) -> None:
    def make() -> AgentAdapter:
        return Broken(how)

    with pytest.raises(AssertionError, match=said):
        check_adapter(make, CODEX)


def test_a_recording_of_nothing_is_none() -> None:
    with pytest.raises(AssertionError, match="A recording holds a run"):
        check_adapter(Adapter, b"\n")


@pytest.mark.parametrize(
    ("events", "said"),
    [
        ([RunStarted()], "A stream that ended is over"),
        ([], "A run has events"),
        ([RunStarted(), RunEnded(), TextDelta("late")], "Words come before the end"),
        ([RunStarted(), RunEnded(), ToolStarted("t", "x")], "Every tool call ends before its run"),
        ([RunStarted(), FAILED, OTHER, RunEnded()], "A failure is told once.*'other' after: 'no'"),
        ([RunStarted(), FAILED, RunEnded(), OTHER, RunEnded()], "A failure is told once"),
        ([RunStarted(), ToolStarted("t", "x"), RunEnded()], "Every tool call ends before its run"),
        ([RunStarted(), ToolUpdated("t", "x"), RunEnded()], "A tool call has a start"),
        ([RunStarted(), FAILED, TextDelta("more"), RunEnded()], "Words come before the end"),
        ([RunStarted(), FAILED, RunStarted(), RunEnded(), Unknown("x", "y")], "Every event is one"),
        ([RunStarted(), STOPPED, FAILED, RunEnded()], "A stop is told as a stop"),
        (
            [RunStarted(), TextDelta("Hello "), TextDelta("world"), TextDelta("Hello world")],
            "A text is told once",
        ),
        (["text"], "An adapter gives inner events"),
        (
            [RunStarted(), MessageFailed(Failure(aborted=False, message="")), RunEnded()],
            "A failure says why",
        ),
        (
            [RunStarted(), MessageFailed(Failure(aborted=False, message='{"a": 1}')), RunEnded()],
            "A failure is a text for a person",
        ),
    ],
)
def test_events_that_break_a_promise_are_told(events: list[object], said: str) -> None:
    with pytest.raises(AssertionError, match=said):
        check_events(events)


def test_a_run_that_failed_and_one_that_was_stopped_are_fine() -> None:
    check_events([RunStarted(), TextDelta("half"), FAILED, RunEnded()])
    stopped = MessageFailed(Failure(aborted=True, message=""))
    check_events([RunStarted(), ToolStarted("t", "x"), stopped, RunEnded(), AgentExited(0)])
    check_events([{"type": "agent_start"}, {"type": "agent_end", "messages": []}])
