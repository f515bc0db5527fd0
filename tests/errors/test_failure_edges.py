"""Failures at the edges: JSON in JSON, several arguments, huge bodies, groups of one, odd waits."""

from __future__ import annotations

import copy
import json
import pickle
import time
from typing import Any

import pytest

from compass_agent.errors import (
    ApiError,
    FailureDetail,
    OperationError,
    describe_failure,
    format_operation_error,
    format_tool_error,
    map_http_status_to_error,
    map_network_error,
    problem_json,
)


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"error_code": "BAD", "message": "Inner text"}, "Inner text"),
        ({"detail": "Inner text"}, "Inner text"),
        ({"external_model_error": {"error": {"message": "Deep text"}}}, "Deep text"),
        ({"error": {"message": json.dumps({"message": "Third text"})}}, "Third text"),
        ({"reasons": "Only this"}, '{"reasons": "Only this"}'),
        (["One", "Two"], "One; Two"),
    ],
)
def test_a_message_that_is_json_gives_its_text(said: object, message: str) -> None:
    body = {"error_code": "BAD_REQUEST", "message": json.dumps(said)}
    assert describe_failure({"status": 400, "body": body}).message == message
    assert describe_failure({"status": 400, "body": json.dumps(body)}).message == message
    assert describe_failure(json.dumps(body)).message == message


def test_json_of_an_unknown_shape_is_still_told() -> None:
    assert describe_failure('{"why": "Nobody knows"}').message == '{"why": "Nobody knows"}'
    assert describe_failure("{}").message == "No reason was given"


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ValueError("first", "second"), "first, second"),
        (ValueError("first", 7, None, {"a": 1}), "first, 7"),
        (ValueError(("first", "second")), "first, second"),
        (ValueError(b"bytes"), "bytes"),
        (ValueError(OSError("inner")), "inner"),
        (ValueError(None), "ValueError"),
        (ValueError({"error": {"message": "of a body"}}), "of a body"),
        (ValueError({"x": 1}), "ValueError"),
        (OSError(2, "No such file"), "[Errno 2] No such file"),
        (ExceptionGroup("tasks", [ValueError("inner", 1)]), "inner, 1"),
    ],
)
def test_the_arguments_of_an_exception_are_told_without_a_repr(
    error: Exception, message: str
) -> None:
    assert describe_failure(error).message == message
    assert format_tool_error(error)["content"] == [
        {"type": "text", "text": f"Unexpected error: {message}"}
    ]


def test_a_group_tells_what_it_holds() -> None:
    refused = ApiError(401, "UNAUTHORIZED", "Unauthorized: x")
    for error, text in (
        (ExceptionGroup("a", [ExceptionGroup("b", [refused])]), "Unauthorized: x"),
        (BaseExceptionGroup("a", [refused]), "Unauthorized: x"),
        (ExceptionGroup("a", [ValueError("x"), KeyError(), ValueError("x")]),
         "Unexpected error: x; KeyError"),
    ):  # fmt: skip
        assert format_tool_error(error)["content"] == [{"type": "text", "text": text}]


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (None, None),
        (1.5, 1.5),
        (30, 30),
        (0, 0),
        (-5, 0),
        (1e300, 86_400.0),
        (10**400, 86_400.0),
        (float("inf"), None),
        (float("-inf"), None),
        (float("nan"), None),
        (True, None),
        ("3", None),
    ],
)
def test_the_wait_of_an_operation_breaks_no_encoder(given: Any, kept: float | None) -> None:
    error = OperationError("unavailable", retry_after_s=given)
    assert error.retry_after_s == kept
    for told in (format_operation_error(error), problem_json(error)):
        assert json.loads(json.dumps(told, allow_nan=False)).get("retry_after_s") == kept
    assert copy.copy(error).retry_after_s == kept
    assert pickle.loads(pickle.dumps(error)).retry_after_s == kept  # noqa: S301 - our own


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("https://user:12?34@h.example/x", "https://h.example/x"),
        ("https://user:12#34@h.example/x", "https://h.example/x"),
        ("https://user:12/34@h.example/x", "https://h.example/x"),
        ("https://user:pa/ss@h.example/x?k=v", "https://h.example/x"),
        ("https://user:/pw@h.example/x", "https://h.example/x"),
        ("https://user@h.example", "https://h.example"),
        ("//user:pw@h.example/x", "//h.example/x"),
        ("user:pw@h.example/x", "h.example/x"),
        ("https://h.example:443/v1/@scope/x", "https://h.example:443/v1/@scope/x"),
        ("http://localhost:80?mail=a@b.example", "http://localhost:80"),
        ("http://[::1]:80/x@y", "http://[::1]:80/x@y"),
    ],
)
def test_the_place_of_a_failed_call_has_no_user_info(url: str, place: str) -> None:
    told = map_network_error(
        ConnectionRefusedError(), url, service="Acme", key_var="KEY", url_var="URL"
    )
    assert told is not None
    assert told.message == f"Cannot connect to Acme at {place}. Check URL configuration."


@pytest.mark.parametrize(
    ("reason", "shown"),
    [
        ("Bad\r\nX-Evil: 1", "Bad X-Evil: 1"),
        ("key sk-ant-abc123 bad", "key [redacted] bad"),
        ("\x1b[31mred\x07", "[31mred"),
        ("\u202eback\u2028", "back"),
        ("half \udcc3", "half"),
        ("\r\n", "Bad Gateway"),
        ("x" * 5000, "x" * 200 + "…"),
    ],
)
def test_a_reason_phrase_is_one_harmless_line(reason: str, shown: str) -> None:
    error = map_http_status_to_error(502, service="Acme", key_var="KEY", reason=reason)
    assert error.message == f"Acme server error: {shown}. Please try again later."
    error = map_http_status_to_error(418, service="Acme", key_var="KEY", reason="No\r\ntea")
    assert error.message == "Acme API error: 418 No tea"


@pytest.mark.parametrize("comments", ["<!-- " + "x" * 5000 + " -->", "<!-- a -->\n<!-- b -->\n"])
def test_a_page_behind_comments_is_its_title(comments: str) -> None:
    page = f"{comments}<html><head><title>Bad gateway</title></head></html>"
    assert describe_failure({"status": 502, "body": page}) == FailureDetail("Bad gateway", 502)


@pytest.mark.parametrize("piece", ["x", "<!-- ", "{", '{"message":', "status 5", "\n", "{'a': "])
def test_a_huge_body_is_read_in_bounded_time_and_space(piece: str) -> None:
    body = piece * (5_000_000 // len(piece))
    start = time.process_time()
    for failure in ({"status": 500, "body": body}, RuntimeError(body)):
        assert len(describe_failure(failure).message.encode()) <= 8192
    assert len(repr(format_tool_error(RuntimeError(body)))) < 20_000
    assert time.process_time() - start < 20, "far above what reading the head needs"


def test_a_body_may_be_a_view_of_bytes() -> None:
    for body in (memoryview(b'{"message": "x"}'), bytearray(b'{"message": "x"}')):
        assert describe_failure(body).message == "x"
        assert describe_failure({"status": 400, "body": body}).message == "x"


def test_an_id_of_a_request_needs_no_blank() -> None:
    assert describe_failure("no (RequestId:8a2b1c3d-1111)").request_id == "8a2b1c3d-1111"
