"""Failures as the services of many makers send them: the text, the status, the code, the wait."""

from __future__ import annotations

import gzip
import json
import zlib
from typing import NamedTuple

import pytest

from compass_agent.errors import advise, describe_failure


class Case(NamedTuple):
    """An answer, and what must be read from it."""

    status: int
    body: object
    message: str
    code: str | None = None
    request_id: str | None = None
    wait: float | None = None
    retryable: bool = False
    headers: dict[str, str] | None = None


CASES = {
    "groq": Case(
        429,
        {"error": {"message": "Limit 12000. Please try again in 3.97s.", "code": "rate_limit_x"}},
        "Limit 12000. Please try again in 3.97s.",
        code="rate_limit_x",
        wait=4.0,
        retryable=True,
        headers={"retry-after": "4", "x-ratelimit-reset-tokens": "58.97s"},
    ),
    "mistral, a list in the message": Case(
        422,
        {
            "object": "error",
            "message": {"detail": [{"type": "extra_forbidden", "loc": ["a"], "msg": "Not here"}]},
            "raw_status_code": 422,
        },
        "Not here",
        code="extra_forbidden",
    ),
    "xai": Case(400, {"code": "Some words", "error": "Model not found: x"}, "Model not found: x"),
    "xai without credits": Case(
        403, {"error": "You don't have any credits yet."}, "You don't have any credits yet."
    ),
    "hugging face, a list": Case(422, {"error": ["field required"]}, "field required"),
    "openrouter, routed": Case(
        429,
        {
            "error": {
                "message": "Provider returned error",
                "code": 429,
                "metadata": {"raw": "x is rate-limited upstream"},
            }
        },
        "x is rate-limited upstream",
        retryable=True,
    ),
    "vertex, a list": Case(
        404,
        [{"error": {"code": 404, "message": "No such publisher model", "status": "NOT_FOUND"}}],
        "No such publisher model",
        code="NOT_FOUND",
    ),
    "gemini, an exhausted minute": Case(
        429,
        {
            "error": {
                "code": 429,
                "message": "You exceeded your current quota, check your plan and billing details.",
                "status": "RESOURCE_EXHAUSTED",
                "details": [
                    {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "17.5s"}
                ],
            }
        },
        "You exceeded your current quota, check your plan and billing details.",
        code="RESOURCE_EXHAUSTED",
        wait=17.5,
        retryable=True,
    ),
    "azure, milliseconds": Case(
        429,
        {"error": {"code": "429", "message": "Too fast"}},
        "Too fast",
        request_id="apim-123",
        wait=5.3,
        retryable=True,
        headers={"retry-after": "6", "retry-after-ms": "5300", "apim-request-id": "apim-123"},
    ),
    "cosmos": Case(
        429, {"message": "Too fast"}, "Too fast", wait=0.25, retryable=True,
        headers={"x-ms-retry-after-ms": "250"},
    ),
    "azure's gateway": Case(
        429,
        {"statusCode": 429, "message": "Rate limit is exceeded. Try again in 46 seconds."},
        "Rate limit is exceeded. Try again in 46 seconds.",
        wait=46.0,
        retryable=True,
    ),
    "bedrock": Case(
        403,
        {"Message": "You may not"},
        "You may not",
        code="AccessDeniedException",
        request_id="id-12345678",
        headers={
            "x-amzn-ErrorType": "AccessDeniedException:http://internal.example/",
            "x-amzn-RequestId": "id-12345678",
        },
    ),
    "aws in XML": Case(
        400,
        "<ErrorResponse><Error><Code>Throttling</Code><Message>Rate exceeded</Message></Error>"
        "<RequestId>abc-12345678</RequestId></ErrorResponse>",
        "Rate exceeded",
        code="Throttling",
        request_id="abc-12345678",
        retryable=True,
    ),
    "apigee": Case(
        401,
        {"fault": {"faultstring": "Invalid ApiKey", "detail": {"errorcode": "oauth.v2.Bad"}}},
        "Invalid ApiKey",
    ),
    "databricks": Case(
        429,
        {"error_code": "REQUEST_LIMIT_EXCEEDED", "message": "Exceeded rate limit"},
        "Exceeded rate limit",
        code="REQUEST_LIMIT_EXCEEDED",
        retryable=True,
    ),
    "watsonx": Case(
        403,
        {"errors": [{"code": "token_quota_reached", "message": "It has reached its quota"}]},
        "It has reached its quota",
        code="token_quota_reached",
    ),
    "moonshot": Case(
        429,
        {"error": {"message": "Please check your plan and billing details", "type": "q_e"}},
        "Please check your plan and billing details",
        code="q_e",
    ),
    "llama.cpp": Case(
        400,
        {"error": {"message": "it exceeds the available context size", "type": "a_b", "code": 400}},
        "it exceeds the available context size",
        code="a_b",
    ),
    "anthropic's own limit": Case(
        400,
        {"error": {"type": "x_y", "message": "You have reached your specified API usage limits."}},
        "You have reached your specified API usage limits.",
        code="x_y",
    ),
    "a priority window": Case(
        429, {"error": {"message": "m"}}, "m", wait=60.0, retryable=True,
        headers={
            "date": "Mon, 13 Jun 2022 11:48:53 GMT",
            "anthropic-priority-input-tokens-remaining": "0",
            "anthropic-priority-input-tokens-reset": "2022-06-13T11:49:53Z",
        },
    ),
    "nginx": Case(
        502,
        "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body></body></html>",
        "502 Bad Gateway",
        retryable=True,
    ),
    "envoy": Case(503, "no healthy upstream", "no healthy upstream", retryable=True),
    "cloudflare": Case(
        429, "error code: 1015", "error code: 1015", wait=10.0, retryable=True,
        headers={"retry-after": "10"},
    ),
    "a JSON text": Case(500, '"just text"', "just text", retryable=True),
    "JSON twice": Case(400, json.dumps(json.dumps({"error": {"message": "twice"}})), "twice"),
    "null": Case(500, "null", "HTTP 500 Internal Server Error", retryable=True),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_an_answer_is_read(case: Case) -> None:
    body = case.body if isinstance(case.body, str) else json.dumps(case.body)
    found = describe_failure({"status": case.status, "headers": case.headers or {}, "body": body})
    assert found.message == case.message
    assert (found.status, found.code) == (case.status, case.code)
    assert (found.request_id, found.retry_after_s) == (case.request_id, case.wait)
    assert advise(found).retryable is case.retryable


BODY = b'{"error":{"message":"squeezed","type":"x_y"}}'


@pytest.mark.parametrize(
    ("body", "headers", "message"),
    [
        (gzip.compress(BODY), {"Content-Encoding": "gzip"}, "squeezed"),
        (gzip.compress(BODY), {}, "squeezed"),
        (gzip.compress(b"plain words " * 50)[:-8], {}, "plain words " * 49 + "plain words"),
        (zlib.compress(BODY), {"content-encoding": "deflate"}, "squeezed"),
        (zlib.compress(BODY)[2:-4], {"content-encoding": "deflate"}, "squeezed"),
        (b"\xef\xbb\xbf" + BODY, {}, "squeezed"),
        (BODY.decode().encode("utf-16"), {}, "squeezed"),
        ("\ufeff" + BODY.decode(), {}, "squeezed"),
        ("café".encode("latin-1"), {"content-type": "text/plain; charset=ISO-8859-1"}, "café"),
        ("café".encode(), {"content-type": "text/plain; charset=base64"}, "café"),
        ("café".encode(), {"content-type": "text/plain; charset=nonsense"}, "café"),
        ("it is cut é".encode()[:-1], {}, "it is cut �"),
        (b"\x1f\x8bno gzip at all \x00\x01\x02\x03", {}, "HTTP 500 Internal Server Error"),
        (bytes(range(256)), {"content-encoding": "br"}, "HTTP 500 Internal Server Error"),
        ("\x00\x01\x02�", {}, "HTTP 500 Internal Server Error"),
        (bytearray(BODY), {}, "squeezed"),
    ],
    ids=map(str, range(16)),
)
def test_bytes_are_unpacked_and_decoded_or_left_out(
    body: bytes | str, headers: dict[str, str], message: str
) -> None:
    found = describe_failure({"status": 500, "headers": headers, "body": body})
    assert found.message == message


def test_what_unpacks_to_gigabytes_is_not_unpacked_to_the_end() -> None:
    bomb = gzip.compress(b"x" * 30_000_000)
    assert len(describe_failure({"status": 500, "body": bomb}).message.encode()) <= 8192


@pytest.mark.parametrize(
    ("transport", "body", "message", "status"),
    [
        (
            "sse",
            ('data: {"id":"g","choices":[{"delta":{},"finish_reason":"error",'
            '"error":{"code":502,"message":"Upstream died"}}]}\n\n'),
            "Upstream died",
            502,
        ),
        (
            "sse",
            ('data: {"id":"g","error":{"code":"server_error","message":"Gone"},'
            '"choices":[{"finish_reason":"error"}]}\n\n'),
            "Gone",
            500,
        ),
        ("sse", '{\n "error": {\n  "message": "before",\n  "code": 503\n }\n}', "before", 503),
        (
            "sse",
            'event: error\ndata: {"type":"error","code":"rate_limit_error","message":"Slow"}\n\n',
            "Slow",
            429,
        ),
        (
            "sse",
            ('data: {"candidates":[]}\r\n\r\ndata: {"error":{"code":503,"message":"Busy",'
            '"status":"UNAVAILABLE"}}\r\n\r\n'),
            "Busy",
            503,
        ),
        ("stream", '{"message":{"content":"a"},"done":false}\n{"error":"unexpected EOF"}\n',
         "unexpected EOF", 500),
        ("ndjson", '{"error":{"message":"first","code":429}}\n{"done":true}\n', "first", 429),
        ("stream", '[{"candidates":[]},\n{"error":{"code":503,"message":"Busy"}}]', "Busy", 503),
        ("sse", 'data:{"error":"CUDA","error_type":"generation"}\n\n', "CUDA", 500),
        (
            "eventstream",
            '{"message":"Modeled"}',
            "Modeled",
            None,
        ),
    ],
)  # fmt: skip
def test_a_failure_in_the_middle_of_a_stream_has_its_own_status_and_never_200(
    transport: str, body: str, message: str, status: int | None
) -> None:
    found = describe_failure({"status": 200, "headers": {}, "body": body, "transport": transport})
    assert (found.message, found.status) == (message, status)
