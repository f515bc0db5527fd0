"""The failure texts of coding agents lose what the agents wrapped around them."""

from __future__ import annotations

import json

import pytest

from compass_agent.errors import FailureDetail, describe_failure

LIMIT = "Rate limit reached for m on requests per min (RPM): Limit 3. Please try again in 20s."
INNER = '{"type":"rate_limit_error","message":"Too fast"}'
ANTHROPIC = f'{{"type":"error","error":{INNER},"request_id":"req_f1"}}'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"429 {LIMIT}", FailureDetail(LIMIT, 429, 20.0)),
        (
            f"429 {LIMIT} retry-after-ms=1000\n{LIMIT} (type=requests param=rate_limit_exceeded)",
            FailureDetail(LIMIT, 429, 1.0, "rate_limit_exceeded"),
        ),
        (
            "401 Bad key\nBad key (type=auth param=no_key)",
            FailureDetail("Bad key", 401, None, "no_key"),
        ),
        ("403 No\nNo (type=permission_error)", FailureDetail("No", 403, None, "permission_error")),
        (
            "400 Two\nlines\nTwo\nlines (type=x_y)\nraw-http-request=/home/a/.omp/1.json",
            FailureDetail("Two\nlines", 400, None, "x_y"),
        ),
        (f"429 {ANTHROPIC}", FailureDetail("Too fast", 429, None, "rate_limit_error", "req_f1")),
        (
            f"429 {ANTHROPIC} retry-after-ms=1000",
            FailureDetail("Too fast", 429, 1.0, "rate_limit_error", "req_f1"),
        ),
        (ANTHROPIC, FailureDetail("Too fast", None, None, "rate_limit_error", "req_f1")),
        ("400 {}", FailureDetail("HTTP 400 Bad Request", 400)),
        ('400 {"error":{}}', FailureDetail("HTTP 400 Bad Request", 400)),
        ('400 {}\n{"error":{}}\nraw-http-request=/x', FailureDetail("HTTP 400 Bad Request", 400)),
        ("400 status code (no body)", FailureDetail("400 status code (no body)", 400)),
        (
            "502 <html>\r\n<title>502 Bad Gateway</title></html>\r\n",
            FailureDetail("502 Bad Gateway", 502),
        ),
        (
            "Anthropic stream error (overloaded_error): Overloaded",
            FailureDetail("Overloaded", None, None, "overloaded_error"),
        ),
        (
            "Provider finish_reason: content_filter",
            FailureDetail("Provider finish_reason: content_filter"),
        ),
        ("404 no scenario", FailureDetail("no scenario", 404)),
        (
            "API Error: 529 " + ANTHROPIC,
            FailureDetail("Too fast", 529, None, "rate_limit_error", "req_f1"),
        ),
        ("200 words", FailureDetail("200 words")),
        ("600 words", FailureDetail("600 words")),
        ("4041 words", FailureDetail("4041 words")),
        ("404: words", FailureDetail("404: words")),
        ("503", FailureDetail("HTTP 503 Service Unavailable", 503)),
        ("__omp.silent_abort__", FailureDetail("No reason was given")),
        ("", FailureDetail("No reason was given")),
    ],
)
def test_a_text_is_unwrapped(text: str, expected: FailureDetail) -> None:
    assert describe_failure(text) == expected


def test_the_wait_of_a_body_counts_before_the_one_in_its_words() -> None:
    delay = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "7s"}
    error = {"code": 429, "message": "Please retry in 20s", "details": [delay]}
    assert describe_failure(json.dumps({"error": error})).retry_after_s == 7
