"""One failure is told once, a stop is no failure, and ERRORED stays until work starts."""

from __future__ import annotations

from typing import Any

import pytest

from compass_agent.events import AgentExited, MessageStarted, RunStarted
from compass_agent.frames import SessionErrorKind
from compass_agent.mapping import EventMapper
from inner_events import assistant_end, delta, message_start, run_end, tool_start
from reading_frames import described, frames_of, states_of

FAILED = assistant_end("error", errorMessage="503 Overloaded", errorStatus=503)
ABORTED = assistant_end("aborted", errorMessage="Request was aborted")
TOLD = ["ERROR 503 503 Overloaded", "state ERRORED"]
RUN = {"type": "agent_start"}
TURN = {"type": "turn_start"}
RETRY = {"type": "auto_retry_start", "attempt": 1, "maxAttempts": 2, "delayMs": 100}


def new_mapper(*events: Any) -> EventMapper:
    mapper = EventMapper(now=lambda: 0)
    for event in events:
        mapper.map(event)
    return mapper


def turn_end(end: dict[str, Any]) -> dict[str, Any]:
    return {"type": "turn_end", "message": end["message"], "toolResults": []}


def gave_up(text: str | None) -> dict[str, Any]:
    return {"type": "auto_retry_end", "success": False, "attempt": 2, "finalError": text}


def inner_failure(text: str) -> dict[str, Any]:
    error = {"errorMessage": text}
    step = {"type": "error", "reason": "error", "error": error}
    return {"type": "message_update", "assistantMessageEvent": step}


@pytest.mark.requirement("G-TURN-1")
def test_a_failure_is_told_once_a_message() -> None:
    mapper = new_mapper(RUN, TURN, message_start())

    assert described(mapper.map(inner_failure("503 Overloaded"))) == [
        "ERROR - 503 Overloaded",
        "state ERRORED",
    ]
    for event in (FAILED, turn_end(FAILED), run_end(FAILED), gave_up("503 Overloaded")):
        lines = described(mapper.map(event))
        assert [line for line in lines if not line.startswith("notice")] == []


def test_the_same_failure_of_the_next_message_is_told_again() -> None:
    mapper = new_mapper(RUN, message_start(), FAILED, RETRY, RUN, message_start())

    assert described(mapper.map(FAILED)) == TOLD


@pytest.mark.requirement("G-TURN-1")
@pytest.mark.parametrize("last_chance", [turn_end(FAILED), run_end(FAILED)])
def test_a_failure_that_nothing_told_is_told_at_the_end(last_chance: dict[str, Any]) -> None:
    mapper = new_mapper(RUN, TURN)

    assert described(mapper.map(last_chance)) == TOLD


def test_the_failed_message_may_stand_before_tool_results_in_the_run() -> None:
    mapper = new_mapper(RUN)
    result = {"role": "toolResult", "isError": True}

    assert described(mapper.map(run_end(FAILED, result))) == TOLD


@pytest.mark.requirement("G-TURN-2")
def test_an_abort_that_nothing_told_is_told_at_the_end() -> None:
    mapper = new_mapper(RUN, TURN)

    assert described(mapper.map(run_end(ABORTED))) == [
        "ABORTED - Request was aborted",
        "state READY",
    ]


def test_a_failed_run_stays_errored_until_work_starts_again() -> None:
    mapper = new_mapper(RUN, TURN, message_start(), FAILED)

    assert mapper.map(turn_end(FAILED)) == []
    assert mapper.map(run_end(FAILED)) == []
    assert mapper.map(message_start("toolResult")) == []
    assert described(mapper.map(RUN)) == ["state WORKING"]


@pytest.mark.requirement("G-TURN-1")
def test_every_error_has_an_errored_frame_of_its_own() -> None:
    mapper = new_mapper(message_start(), FAILED)
    frames = frames_of(
        mapper.session_error(SessionErrorKind.SESSION_ERROR_KIND_ERROR, "another", status=None)
    )

    assert described(frames) == ["ERROR - another", "state ERRORED"]


@pytest.mark.requirement("G-TURN-2")
def test_an_aborted_run_is_ready_afterwards() -> None:
    mapper = new_mapper(RUN, TURN, message_start(), ABORTED)

    assert described(mapper.map(run_end(ABORTED))) == ["state READY"]


def test_a_retry_goes_back_to_working_and_a_success_ends_ready() -> None:
    mapper = new_mapper(RUN, message_start(), FAILED)
    frames = [
        frame
        for event in (RETRY, RUN, message_start(), delta("ok"), assistant_end(text="ok"), run_end())
        for frame in frames_of(mapper.map(event))
    ]

    assert states_of(frames) == ["WORKING", "READY"]


def test_giving_up_after_a_told_failure_is_a_notice_and_errored() -> None:
    mapper = new_mapper(RUN, message_start(), FAILED, RETRY)

    assert described(mapper.map(gave_up("503 Overloaded"))) == [
        "notice No further retry: the agent gave up",
        "state ERRORED",
    ]
    assert mapper.map(run_end()) == []


@pytest.mark.parametrize("text", ["503 Overloaded", "gave up: 503 Overloaded (2 attempts)"])
def test_a_final_error_that_contains_a_told_text_is_told_already(text: str) -> None:
    mapper = new_mapper(RUN, message_start(), FAILED)

    assert not any(line.startswith("ERROR") for line in described(mapper.map(gave_up(text))))


def test_a_final_error_that_no_message_told_is_told() -> None:
    mapper = new_mapper(RUN, message_start(), assistant_end())

    assert described(mapper.map(gave_up("empty stop after retry cap")))[1:] == [
        "ERROR - empty stop after retry cap",
        "state ERRORED",
    ]


def test_a_final_error_of_later_work_is_told_again() -> None:
    mapper = new_mapper(RUN, message_start(), FAILED, run_end(FAILED), message_start("user"))

    assert described(mapper.map(gave_up("503 Overloaded")))[1:] == [
        "ERROR - 503 Overloaded",
        "state ERRORED",
    ]


def test_giving_up_without_a_reason_is_told_when_nothing_was() -> None:
    assert described(new_mapper(RUN).map(gave_up(None)))[1:] == ["ERROR -", "state ERRORED"]

    mapper = new_mapper(RUN, message_start(), FAILED)
    assert described(mapper.map(gave_up(None)))[1:] == []


def test_a_cancelled_retry_is_an_abort_and_ready() -> None:
    mapper = new_mapper(RUN, message_start(), FAILED, run_end(FAILED), RETRY)

    assert described(mapper.map(gave_up("Retry cancelled"))) == [
        "ABORTED - Retry cancelled",
        "state READY",
    ]
    assert mapper.map(run_end(FAILED)) == []


def test_once_the_runtime_was_asked_to_stop_whatever_comes_is_an_abort() -> None:
    mapper = new_mapper(RUN, message_start())
    mapper.request_stop("user")

    frames = frames_of(mapper.map(FAILED))

    assert described(frames) == ["ABORTED 503 503 Overloaded"]
    assert frames[0].typed_event.session_error.stopped_by == "user"
    assert described(mapper.map(run_end(FAILED))) == ["state READY"]


@pytest.mark.requirement("G-TURN-3")
def test_open_tools_get_their_last_update_before_the_error() -> None:
    mapper = new_mapper(RUN, message_start(), tool_start(call="a"), tool_start(call="b"))

    assert described(mapper.map(FAILED)) == ["update a FAILED", "update b FAILED", *TOLD]


@pytest.mark.requirement("G-TURN-3")
def test_open_tools_are_interrupted_by_an_abort() -> None:
    mapper = new_mapper(RUN, message_start(), tool_start())

    assert described(mapper.map(ABORTED)) == [
        "update t1 INTERRUPTED",
        "ABORTED - Request was aborted",
    ]


def test_a_failure_of_the_runtime_that_was_told_is_not_told_again() -> None:
    error = SessionErrorKind.SESSION_ERROR_KIND_ERROR
    mapper = new_mapper(RUN, message_start(), FAILED)

    assert mapper.session_error(error, "503 Overloaded", status=503) == []
    assert mapper.session_error(error, "RuntimeError: 503 Overloaded") == []
    assert mapper.session_error(error, "the same, in other words", status=503) == []
    assert len(mapper.session_error(error, "a bug of the host")) == 2
    mapper.map(RUN)
    assert len(mapper.session_error(error, "503 Overloaded", status=503)) == 2


@pytest.mark.requirement("G-TURN-2")
def test_a_second_stop_is_not_told_again() -> None:
    aborted = SessionErrorKind.SESSION_ERROR_KIND_ABORTED
    mapper = new_mapper(RUN)

    assert len(mapper.session_error(aborted, "stopped", stopped_by="host")) == 1
    assert mapper.session_error(aborted, "stopped", stopped_by="host") == []


def exited(mapper: EventMapper, code: int | None, **facts: Any) -> list[str]:
    return described(mapper.map(AgentExited(code, **facts)))


def test_a_clean_exit_is_a_notice_and_stopped() -> None:
    mapper = new_mapper(RUN, message_start(), assistant_end(text="hi"), run_end())

    assert exited(mapper, 0) == ["notice The agent exited with code 0", "state STOPPED"]


def test_a_clean_exit_without_the_end_of_the_run_says_so() -> None:
    mapper = new_mapper(RUN, message_start(), assistant_end(text="hi"))

    assert "without the closing event" in exited(mapper, 0)[0]


@pytest.mark.parametrize("code", [0, 1, -9])
def test_an_exit_after_a_told_failure_is_a_notice_and_stays_errored(code: int) -> None:
    mapper = new_mapper(RUN, message_start(), FAILED, run_end(FAILED))

    (line,) = exited(mapper, code)
    assert line.startswith("notice ")


def test_an_exit_while_a_retry_waits_is_errored_again() -> None:
    mapper = new_mapper(RUN, message_start(), FAILED, run_end(FAILED), RETRY)

    assert exited(mapper, 0)[1:] == ["state ERRORED"]


@pytest.mark.parametrize("code", [1, -9])
def test_a_death_while_a_retry_waits_is_a_failure_of_its_own(code: int) -> None:
    mapper = new_mapper(RUN, message_start(), FAILED, run_end(FAILED), RETRY)

    content, state = exited(mapper, code, stderr_tail="out of quota")
    assert content.startswith("ERROR - The agent ")
    assert content.endswith("out of quota")
    assert state == "state ERRORED"


def test_failed_ends_without_their_starts_are_told_each() -> None:
    second = assistant_end("error", errorMessage="another")
    mapper = new_mapper(RUN, TURN, FAILED)

    assert described(mapper.map(second)) == ["ERROR - another", "state ERRORED"]
    mapper.map(RUN)
    assert described(mapper.map(FAILED))[-2:] == TOLD
    assert mapper.map(run_end(FAILED)) == []


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (-9, "killed by SIGKILL, possibly out of memory"),
        (137, "killed by SIGKILL, possibly out of memory"),
        (145, "exited with code 145"),
        (143, "killed by SIGTERM"),
        (1, "exited with code 1"),
        (None, "stream ended"),
    ],
)
def test_a_death_in_the_middle_is_an_error_that_says_how(code: int | None, said: str) -> None:
    mapper = new_mapper(RUN, message_start(), delta("half"))

    content, state = exited(mapper, code, stderr_tail="fatal: boom\n")

    assert said in content
    assert content.startswith("ERROR - ")
    assert content.endswith("in the middle of its work: fatal: boom")
    assert state == "state ERRORED"


def test_an_exit_with_an_open_tool_or_half_a_line_is_an_error() -> None:
    with_tool = new_mapper(RUN, message_start(), assistant_end("toolUse", "x"), tool_start())

    assert [line.split(" ")[0] for line in exited(with_tool, 0)] == ["update", "ERROR", "state"]
    assert exited(new_mapper(), 0, cut_line=True)[-1] == "state ERRORED"


def test_a_failed_start_is_an_error() -> None:
    assert exited(new_mapper(), None, start_failure="Command not found: pi") == [
        "ERROR - Command not found: pi",
        "state ERRORED",
    ]


def test_a_stop_by_the_runtime_is_told_once_and_ends_clean() -> None:
    mapper = new_mapper(RUN, message_start(), FAILED, RETRY)
    mapper.request_stop("user")

    assert exited(mapper, 130) == ["ABORTED - Stopped by user", "state STOPPED"]

    mapper = new_mapper(RUN, message_start())
    mapper.request_stop("user")
    mapper.map(ABORTED)
    assert exited(mapper, 130) == ["state STOPPED"]


@pytest.mark.parametrize(
    "start", [message_start("user", content="more", steering=True), message_start("user")]
)
def test_a_user_message_inside_a_run_is_an_injection_and_a_prompt(start: Any) -> None:
    start["message"]["content"] = "more"
    mapper = new_mapper(RUN, message_start("user"), message_start(), delta("a"))

    assert described(mapper.map(start)) == ["injection STEER", "prompt 3 more"]


def test_the_first_user_message_of_a_run_is_no_injection() -> None:
    mapper = new_mapper(RUN, message_start(), run_end(), RunStarted())

    assert described(mapper.map(MessageStarted("user", text="next"))) == ["prompt 2 next"]
