"""Exceptions of any library are described by the attributes that they share."""

from __future__ import annotations

import ssl
from typing import Any

import pytest

from compass_agent.errors import advise, describe_failure


class StatusError(Exception):
    """As the OpenAI and Anthropic libraries raise."""

    def __init__(self, text: str, **attributes: Any) -> None:
        super().__init__(text)
        for name, value in attributes.items():
            setattr(self, name, value)


class Response:
    """As httpx and requests have."""

    def __init__(self, status: int, text: str = "", headers: dict[str, str] | None = None) -> None:
        self.status_code = status
        self.text = text
        self.headers = headers or {}


class UnreadResponse:
    """A streamed answer whose text was never read."""

    status_code = 503

    @property
    def text(self) -> str:
        raise RuntimeError("not read")


class Unprintable(Exception):  # noqa: N818 - the name is what the test looks for
    """An exception whose text cannot be made."""

    def __str__(self) -> str:
        raise ValueError("no")


BODY = {"error": {"message": "Slow down", "type": "rate_limit_error"}, "request_id": "req_1"}


def test_a_library_error_gives_the_inner_text_not_its_repr() -> None:
    headers = {"retry-after": "7", "x-request-id": "req_header"}
    error = StatusError(
        f"Error code: 429 - {BODY}",
        status_code=429,
        body=BODY,
        response=Response(429, headers=headers),
        request_id=None,
    )
    found = describe_failure(error)
    assert found.message == "Slow down"
    assert (found.status, found.retry_after_s) == (429, 7.0)
    assert (found.code, found.request_id) == ("rate_limit_error", "req_header")


def test_without_a_body_attribute_the_repr_in_the_text_is_read() -> None:
    found = describe_failure(RuntimeError(f"Error code: 429 - {BODY}"))
    assert (found.message, found.status) == ("Slow down", 429)


def test_a_failure_within_a_good_stream_gets_the_status_of_its_code() -> None:
    body = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    found = describe_failure(StatusError("x", status_code=200, body=body, type="overloaded_error"))
    assert (found.message, found.status) == ("Overloaded", 529)


def test_the_answer_of_an_http_library_is_read() -> None:
    error = StatusError(
        "Client error '404' for url 'x'", response=Response(404, '{"error":"gone"}')
    )
    assert (describe_failure(error).message, describe_failure(error).status) == ("gone", 404)
    unread = StatusError("Server error", response=UnreadResponse())
    assert (describe_failure(unread).message, describe_failure(unread).status) == (
        "Server error",
        503,
    )


def test_a_botocore_error_is_read() -> None:
    response = {
        "Error": {"Code": "ThrottlingException", "Message": "Too many requests"},
        "ResponseMetadata": {
            "HTTPStatusCode": 429,
            "HTTPHeaders": {"x-amzn-requestid": "id-12345678", "retry-after": "2"},
        },
    }
    found = describe_failure(StatusError("An error occurred (…)", response=response))
    assert (found.message, found.status) == ("Too many requests", 429)
    assert (found.code, found.request_id) == ("ThrottlingException", "id-12345678")
    assert found.retry_after_s == 2.0


def test_a_google_error_is_read() -> None:
    details = {"error": {"code": 429, "message": "Exhausted", "status": "RESOURCE_EXHAUSTED"}}
    error = StatusError(
        "429 RESOURCE_EXHAUSTED. {…}", code=429, status="RESOURCE_EXHAUSTED", details=details
    )
    found = describe_failure(error)
    assert (found.message, found.status, found.code) == ("Exhausted", 429, "RESOURCE_EXHAUSTED")


def test_the_cause_chain_is_walked_for_status_and_wait() -> None:
    outer = RuntimeError("step 3 failed")
    outer.__cause__ = StatusError("busy", status_code=429, retry_after=3)
    found = describe_failure(outer)
    assert (found.message, found.status, found.retry_after_s) == ("step 3 failed: busy", 429, 3.0)


def test_a_loop_of_causes_ends() -> None:
    first, second = RuntimeError("a"), RuntimeError("b")
    first.__cause__, second.__cause__ = second, first
    assert describe_failure(first).message == "a"


def test_a_group_tells_all_its_leaves() -> None:
    group = ExceptionGroup(
        "outer", [ValueError("one"), ExceptionGroup("in", [StatusError("two", status_code=500)])]
    )
    assert (describe_failure(group).message, describe_failure(group).status) == ("one; two", 500)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ValueError(), "ValueError"),
        (Unprintable(), "Unprintable"),
        (TimeoutError(), "TimeoutError"),
        (KeyError("k"), "'k'"),
    ],
)
def test_a_class_name_stands_in_for_an_empty_text(error: Exception, message: str) -> None:
    found = describe_failure(error)
    assert (found.message, found.status) == (message, None)


@pytest.mark.parametrize(
    ("told", "message"),
    [({"message": "model not found"}, "model not found"), ("words", "words"), (b"bytes", "bytes")],
)
def test_plain_values_are_read_too(told: object, message: str) -> None:
    assert describe_failure(told).message == message


@pytest.mark.parametrize(
    "error",
    [
        ConnectionRefusedError(111, "Connect call failed ('127.0.0.1', 9)"),
        ConnectionResetError("reset by 10.0.0.1:443"),
        ssl.SSLError("handshake failed"),
        type("ConnectTimeout", (Exception,), {})("to http://10.1.2.3:80/x"),
    ],
)
def test_a_failed_connection_has_status_0_and_no_address(error: Exception) -> None:
    found = describe_failure(error)
    assert found.status == 0
    assert advise(found).retryable is True
    assert "10." not in found.message
    assert "127.0" not in found.message


def test_a_connection_error_says_its_cause() -> None:
    outer = type("APIConnectionError", (Exception,), {})("Connection error.")
    outer.__cause__ = OSError("All connection attempts failed")
    assert describe_failure(outer).message == "Connection error: All connection attempts failed"


def test_secrets_of_the_host_are_masked() -> None:
    error = StatusError(
        "key zzzz-own is bad", status_code=401, request_id="zzzz-own", code="zzzz-own"
    )
    found = describe_failure(error, ["zzzz-own"])
    assert "zzzz" not in repr(found)


@pytest.mark.parametrize(
    "name", ["status_code", "response", "body", "headers", "code", "__cause__"]
)
def test_odd_attributes_do_not_matter(name: str) -> None:
    error = StatusError("text")
    odd: tuple[object, ...] = (object(), [], {}, -1, True, "x", StatusError)
    for value in odd:
        if name != "__cause__":
            setattr(error, name, value)
        assert describe_failure(error).message
