"""A failure that comes again and again is told with its traceback once, then as a count."""

from __future__ import annotations

import json
import logging
import time
from typing import TYPE_CHECKING

from compass_agent.errors import log_cause
from compass_agent.errors.codes import ErrorCode, OperationError
from compass_agent.log.jetstream.faults import DamagedError

if TYPE_CHECKING:
    import pytest


def _read(why: str) -> None:
    raise ValueError(why)


def _fails(session: str, why: str = "its sheet is no JSON") -> OperationError:
    failed = DamagedError(session, why)
    try:
        _read(why)
    except ValueError as error:
        failed.__cause__ = error
    return failed


def test_a_session_that_fails_again_and_again_is_named_with_its_traceback_once(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    with caplog.at_level(logging.INFO, "compass_agent.errors"):
        for _ in range(200):
            log_cause(_fails("bad"))
        log_cause(_fails("worse"))
        now[0] += 60.0
        log_cause(_fails("bad"))
        log_cause(_fails("bad"))
        now[0] += 59.0
        log_cause(_fails("bad"))

    first, other, again = (record.getMessage() for record in caplog.records)
    assert "session bad cannot be read" in first
    assert "Traceback" in first
    assert "session worse cannot be read" in other
    assert "Traceback" in other
    assert "session bad cannot be read" in again
    assert again.endswith(": 200 more times")
    assert len(again.splitlines()) == 1


def test_one_session_that_fails_in_two_ways_has_both_told(
    caplog: pytest.LogCaptureFixture,
) -> None:
    log_cause(_fails("bad", "its sheet is no JSON"))
    log_cause(_fails("bad", "its records have gone"))

    assert [record.getMessage().count("Traceback") for record in caplog.records] == [1, 1]


def test_failures_of_one_text_from_two_places_are_two(caplog: pytest.LogCaptureFixture) -> None:
    here = OperationError(ErrorCode.INTERNAL)
    try:
        json.loads("its sheet is no JSON")
    except ValueError as error:
        here.__cause__ = error
    log_cause(here)
    there = OperationError(ErrorCode.INTERNAL)
    there.__cause__ = _fails("bad", str(here.__cause__)).__cause__
    log_cause(there)

    assert len(caplog.records) == 2
