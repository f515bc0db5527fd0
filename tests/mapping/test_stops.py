"""A stop counts for the work that it was asked for, and is told once in it."""

from __future__ import annotations

from typing import Any

import pytest

from compass_agent.events import AgentExited
from compass_agent.frames import SessionErrorKind
from compass_agent.mapping import EventMapper
from inner_events import assistant_end, message_start, run_end, tool_end, tool_start
from reading_frames import described

FAILED = assistant_end("error", errorMessage="503 Overloaded", errorStatus=503)
ABORTED = assistant_end("aborted", errorMessage="Request was aborted")
TOLD = ["ERROR 503 503 Overloaded", "state ERRORED"]
RUN = {"type": "agent_start"}
RETRY = {"type": "auto_retry_start", "attempt": 1, "maxAttempts": 2, "delayMs": 100}
STOPPED = ["ABORTED 503 503 Overloaded", "state READY"]


def new_mapper(*events: Any) -> EventMapper:
    mapper = EventMapper(now=lambda: 0)
    for event in events:
        mapper.map(event)
    return mapper


def test_a_stop_of_one_run_is_none_of_the_next() -> None:
    mapper = new_mapper(RUN, message_start())
    mapper.request_stop("user")

    assert described([*mapper.map(FAILED), *mapper.map(run_end(FAILED))]) == STOPPED
    assert described([*mapper.map(RUN), *mapper.map(message_start()), *mapper.map(FAILED)]) == [
        "state WORKING",
        *TOLD,
    ]


def test_a_stop_that_came_too_late_for_its_run_is_none_of_the_next() -> None:
    mapper = new_mapper(RUN, message_start())
    mapper.request_stop("user")
    mapper.map(assistant_end())
    mapper.map(run_end())
    mapper.map(RUN)

    assert described(mapper.map(FAILED)) == TOLD


def test_a_stop_for_good_is_one_of_whatever_begins_after_it() -> None:
    mapper = new_mapper(RUN, message_start())
    mapper.request_stop("user", for_good=True)
    for event in (FAILED, run_end(FAILED), RUN, message_start()):
        mapper.map(event)

    assert described(mapper.map(FAILED)) == ["ABORTED 503 503 Overloaded"]
    assert described(mapper.map(AgentExited(exit_code=130))) == ["state STOPPED"]


def test_a_stop_before_its_run_or_its_retry_is_one_of_that() -> None:
    mapper = new_mapper()
    mapper.request_stop("user")
    mapper.map(RUN)
    assert described(mapper.map(FAILED)) == ["ABORTED 503 503 Overloaded"]

    mapper = new_mapper(RUN, message_start(), FAILED, run_end(FAILED), RETRY)
    mapper.request_stop("user")
    mapper.map(RUN)
    assert described(mapper.map(FAILED)) == ["ABORTED 503 503 Overloaded"]


@pytest.mark.requirement("G-TURN-2")
@pytest.mark.parametrize("start", [RUN, message_start()])
def test_a_stop_of_later_work_is_told_like_the_first(start: Any) -> None:
    aborted = SessionErrorKind.SESSION_ERROR_KIND_ABORTED
    mapper = new_mapper(start)

    assert len(mapper.session_error(aborted, "stopped", stopped_by="host")) == 1
    mapper.map(start)
    assert len(mapper.session_error(aborted, "stopped", stopped_by="host")) == 1
    assert mapper.session_error(aborted, "stopped", stopped_by="host") == []


def test_a_result_that_comes_after_its_turn_is_dropped_and_counted() -> None:
    mapper = new_mapper(RUN, message_start(), tool_start(call="a"), tool_start(call="b"), ABORTED)

    assert mapper.map(tool_end("late", call="a")) == []
    assert mapper.map(tool_end("late", call="a")) == []
    assert mapper.late_results == 1
    mapper.map(tool_start(call="c"))
    assert len(mapper.map(tool_end("late", call="c"))) == 1
    assert mapper.map(tool_end("late", call="c")) == []
    assert mapper.late_results == 1
