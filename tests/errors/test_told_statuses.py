"""A status that a text calls one is read; a number that counts something is none."""

from __future__ import annotations

import json

import pytest

from compass_agent.errors import FailureDetail, describe_failure

OVERLOADED = '{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}'


class RateError(Exception):
    """Any class of a library that says no more than a text."""


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("Request failed with status code 429", 429),
        ("HTTP 503 Service Unavailable: the upstream is away", 503),
        ("HTTP/1.1 429 Too Many Requests", 429),
        ("HTTP Error 404: Not Found", 404),
        ("Error: 503 Service Unavailable", 503),
        ("Error: 503 Upstream is away", 503),
        ("[429 Too Many Requests] slow down", 429),
        ("[Some Error]: fetching https://h.example: [429 Too Many Requests] slow", 429),
        ("Request failed: 502 Bad Gateway", 502),
        ("401 Client Error: Unauthorized for url", 401),
        ("unexpected status 401 Unauthorized", 401),
        ("statusCode=503", 503),
        ("Server returned 503", 503),
        ("Error code: 500 - it broke", 500),
    ],
)
def test_a_status_that_a_text_calls_one_is_read(text: str, status: int) -> None:
    assert describe_failure(text).status == status
    assert describe_failure(RateError(text)) == FailureDetail(text, status)
    assert describe_failure({"message": text}).status == status
    outer = RuntimeError("the turn failed")
    outer.__cause__ = RateError(text)
    assert describe_failure(outer).status == status


@pytest.mark.parametrize(
    "text",
    [
        "error 404 lines",
        "Error: 404 lines were changed",
        "500 lines were read",
        "429 tokens",
        "read 503 files, 404 of them new",
        "exit code 429",
        "exit status 500",
        "code 404",
        "it took 500 ms",
        "version 4.500 Server Error",
        "returned 500 rows",
        "limit 503, used 429",
        "429,000 tokens",
    ],
)
def test_a_number_that_counts_something_is_no_status(text: str) -> None:
    assert describe_failure(text) == FailureDetail(text)
    assert describe_failure(RuntimeError(text)) == FailureDetail(text)


def test_what_an_answer_or_a_class_says_counts_before_a_text() -> None:
    body = {"error": {"message": "upstream: HTTP 503"}}
    assert describe_failure({"status": 400, "body": body}).status == 400
    assert describe_failure(ConnectionError("Tunnel failed: 503 Service Unavailable")).status == 0


def test_a_code_means_the_same_status_wherever_it_stands() -> None:
    value = json.loads(OVERLOADED)
    for failure in (
        value,
        {"status": None, "body": value},
        {"status": None, "body": OVERLOADED},
        {"status": 200, "transport": "sse", "body": f"event: error\ndata: {OVERLOADED}\n\n"},
        RuntimeError(OVERLOADED),
    ):
        assert describe_failure(failure).status == 529, failure


def test_an_agent_that_tells_a_code_alone_tells_no_status() -> None:
    assert describe_failure(OVERLOADED) == FailureDetail("Overloaded", code="overloaded_error")
