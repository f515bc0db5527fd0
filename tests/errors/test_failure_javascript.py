"""Errors of JavaScript's AI SDK, as JSON, are read as the answers that they hold."""

from __future__ import annotations

import json
from typing import Any

import pytest

from compass_agent.errors import FailureDetail, describe_failure

TRIED: dict[str, Any] = {
    "name": "AI_APICallError",
    "message": "Too Many Requests",
    "url": "https://api.example/v1/x?key=SECRETq",
    "requestBodyValues": {"model": "m", "messages": []},
    "statusCode": 429,
    "responseHeaders": {"retry-after": "5", "x-request-id": "req_77"},
    "responseBody": json.dumps(
        {"error": {"message": "Rate limit reached for m", "code": "rate_limit_exceeded"}}
    ),
    "isRetryable": True,
    "data": {"error": {"message": "Rate limit reached for m"}},
}
READ = FailureDetail("Rate limit reached for m", 429, 5.0, "rate_limit_exceeded", "req_77")


@pytest.mark.parametrize(
    "error",
    [
        TRIED,
        {"type": "error", "error": TRIED},
        {"name": "AI_RetryError", "message": "Failed after 3 attempts.", "lastError": TRIED},
        {"name": "AI_RetryError", "errors": [{"name": "Error"}, TRIED]},
        {"name": "Error", "message": "it failed", "cause": TRIED},
    ],
    ids=["alone", "event", "retry", "tries", "cause"],
)
def test_text_wait_and_code_are_those_of_the_answer(error: dict[str, Any]) -> None:
    assert describe_failure(error) == READ
    assert describe_failure(json.dumps(error)) == READ
    assert describe_failure(json.dumps(error, indent=2).encode()) == READ


def test_without_a_body_it_is_what_the_sdk_says() -> None:
    for body in ("", None):
        told = describe_failure(json.dumps(TRIED | {"responseBody": body, "data": None}))
        assert told == FailureDetail("Too Many Requests", 429, 5.0, None, "req_77")


def test_a_page_in_it_is_read_as_a_page() -> None:
    page = "<html><title>502 Bad Gateway</title></html>"
    told = describe_failure(TRIED | {"statusCode": 502, "responseBody": page})
    assert (told.message, told.status) == ("502 Bad Gateway", 502)


def test_what_has_no_answer_in_it_is_read_as_before() -> None:
    told = describe_failure('{"error": {"message": "x", "responseHeaders": null, "code": "abc"}}')
    assert (told.message, told.code) == ("x", "abc")
