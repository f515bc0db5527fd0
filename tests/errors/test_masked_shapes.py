"""Each shape of a secret is masked: in a text, in nested values, in lines of a log, in results."""

from __future__ import annotations

import json
import logging

import pytest

from compass_agent.errors import (
    ApiError,
    ErrorCode,
    OperationError,
    classify_operation_error,
    describe_failure,
    format_operation_error,
    format_tool_error,
    problem_json,
    redact,
    redact_value,
)
from masked_shapes import SHAPES

EACH = pytest.mark.parametrize(("text", "gone", "kept"), SHAPES.values(), ids=SHAPES)


@EACH
def test_a_text_loses_the_secret_and_keeps_the_rest(text: str, gone: str, kept: str) -> None:
    assert gone in text
    masked = redact(f"It said: {text}")
    assert gone not in masked
    assert "[redacted]" in masked
    assert kept in masked
    assert masked.startswith("It said: ")
    assert redact(masked) == masked


@EACH
def test_nested_values_lose_it_too(text: str, gone: str, kept: str) -> None:
    value = {"a": [{"b": (text, 1, None, True)}, {text: 2.5}], "c": json.dumps({"d": text})}
    masked = repr(redact_value(value))
    assert gone not in masked
    assert masked.count(kept) >= 2


@EACH
def test_a_described_failure_has_it_nowhere(text: str, gone: str, kept: str) -> None:
    inner = ConnectionError(text)
    outer = RuntimeError("the call failed")
    outer.__cause__ = inner
    for failure in (
        text,
        RuntimeError(text),
        outer,
        ExceptionGroup("tasks", [ValueError("x"), RuntimeError(text)]),
        {"status": 401, "body": json.dumps({"error": {"message": text, "code": "bad"}})},
        {"status": 401, "body": {"error": {"message": "x", "code": text, "request_id": text}}},
        {"status": 502, "body": f"<html><title>{text}</title></html>", "headers": {"x": text}},
        {"status": 200, "transport": "sse", "body": f"event: error\ndata: {text}\n\n"},
    ):
        assert gone not in repr(describe_failure(failure)), failure
    assert kept in describe_failure(text).message


@EACH
def test_a_log_line_has_it_nowhere(
    text: str, gone: str, kept: str, caplog: pytest.LogCaptureFixture
) -> None:
    error = RuntimeError(f"It said: {text}")
    error.__cause__ = ValueError(f"because {text}")
    error.add_note(f"noted {text}")
    assert classify_operation_error(error).code is ErrorCode.INTERNAL
    assert len(caplog.records) == 1
    line = logging.Formatter().format(caplog.records[0])
    assert gone not in line
    assert line.count(kept) >= 3


@EACH
def test_what_a_caller_is_told_has_nothing_of_a_cause(text: str, gone: str, kept: str) -> None:
    error = OperationError(ErrorCode.INTERNAL)
    error.__cause__ = RuntimeError(text)
    assert gone not in repr(format_operation_error(error)) + repr(problem_json(error))
    tool = format_tool_error(ApiError(500, "SERVER_ERROR", text))
    assert gone not in repr(tool)
    assert kept in repr(tool)
    assert gone not in repr(format_tool_error(RuntimeError(text)))
