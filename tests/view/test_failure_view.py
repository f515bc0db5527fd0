"""What a SessionError says to a person, and how a session stands after it."""

from __future__ import annotations

import pytest

from compass_agent.frames import (
    AgentSessionState,
    FrameBuilder,
    SessionError,
    SessionErrorKind,
    SessionFrame,
)
from compass_agent.view.failure import FailureKind, explain
from compass_agent.view.outcome import Outcome
from compass_agent.view.words import duration, state_word
from compass_agent.wire import End, FrameItem, Reset, ResetReason, StateSignal

EPOCH = "0123456789abcdef"
ERROR = SessionErrorKind.SESSION_ERROR_KIND_ERROR
ABORTED = SessionErrorKind.SESSION_ERROR_KIND_ABORTED
WORKING = AgentSessionState.AGENT_SESSION_STATE_WORKING
ERRORED = AgentSessionState.AGENT_SESSION_STATE_ERRORED
DISCONNECTED = AgentSessionState.AGENT_SESSION_STATE_DISCONNECTED
STOPPED = AgentSessionState.AGENT_SESSION_STATE_STOPPED

build = FrameBuilder(lambda: 1)


def outcome_of(*frames: SessionFrame) -> Outcome:
    outcome = Outcome()
    for seq, frame in enumerate(frames, 1):
        outcome.push(FrameItem(EPOCH, seq, frame.SerializeToString(), priority=True))
    return outcome


def test_absent_facts_stay_absent_and_zero_is_a_status() -> None:
    cause = explain(SessionError(kind=ERROR, message="x"))
    assert (cause.status, cause.retry_after_ms, cause.http) == (None, None, "")
    zero = explain(SessionError(kind=ERROR, message="x", status=0))
    assert (zero.status, zero.http) == (0, "HTTP 0")


def test_a_rate_limit_is_retryable_and_an_abort_has_no_advice() -> None:
    cause = explain(SessionError(kind=ERROR, message="slow down", status=429))
    assert cause.retryable is True
    assert cause.title
    assert cause.guidance
    aborted = explain(SessionError(kind=ABORTED, message="x", status=429))
    assert (aborted.kind, aborted.retryable, aborted.guidance) == (FailureKind.ABORTED, None, "")


@pytest.mark.parametrize(
    ("message", "line"),
    [
        ('429 {"type":"error","error":{"message":"slow\\ndown"}}', "slow"),
        ('{"message":"flat"}', "flat"),
        ('{"error":"text"}', '{"error":"text"}'),
        ("[1]", "[1]"),
        ("\n\n  second line \nthird", "second line"),
        ("", "the agent reported no message"),
        ("x" * 300, "x" * 159 + "…"),
        ("{" * 5000 + "}", "{" * 159 + "…"),
    ],
)
def test_the_headline_is_one_short_line(message: str, line: str) -> None:
    assert explain(SessionError(kind=ERROR, message=message)).headline == line


def test_later_work_clears_the_failure_before_it() -> None:
    failed = outcome_of(
        build.lifecycle(WORKING), build.session_error(ERROR, "x"), build.lifecycle(ERRORED)
    )
    assert failed.state == ERRORED
    assert failed.error is not None
    assert failed.error.message == "x"
    cleared = outcome_of(build.session_error(ERROR, "x"), build.lifecycle(WORKING))
    assert (cleared.state, cleared.error) == (WORKING, None)


def test_late_frames_and_other_epochs_do_not_count() -> None:
    outcome = outcome_of(build.lifecycle(WORKING))
    late = build.session_error(ERROR, "old").SerializeToString()
    outcome.push(FrameItem("f" * 16, 3, late, priority=True, late=True))
    assert outcome.error is None
    outcome = outcome_of(build.session_error(ERROR, "x"), build.lifecycle(ERRORED))
    outcome.push(Reset("f" * 16, ResetReason.NEW_EPOCH))
    assert (outcome.state, outcome.error) == (None, None)


def test_a_lost_link_does_not_hide_a_failure() -> None:
    outcome = outcome_of(build.lifecycle(ERRORED))
    outcome.push(StateSignal(EPOCH, DISCONNECTED))
    assert outcome.state == ERRORED
    outcome = outcome_of(build.lifecycle(WORKING))
    outcome.push(StateSignal(EPOCH, DISCONNECTED))
    assert outcome.state == DISCONNECTED
    outcome.push(End(EPOCH, 9, STOPPED))
    assert (outcome.state, outcome.ended) == (STOPPED, True)


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [
        (0, "0 ms"),
        (999, "999 ms"),
        (1000, "1 s"),
        (12_345, "12.3 s"),
        (185_000, "3 min 5 s"),
        (7_440_000, "2 h 4 min"),
        (7_200_000, "2 h"),
    ],
)
def test_a_span_of_time_reads_as_people_say_it(milliseconds: int, text: str) -> None:
    assert duration(milliseconds) == text


def test_a_state_that_is_not_known_keeps_its_number() -> None:
    assert (state_word(5), state_word(42)) == ("ERRORED", "UNKNOWN (42)")
