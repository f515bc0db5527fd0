"""Exceptions as the libraries of many makers raise them, and what wraps them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from compass_agent.errors import FailureDetail, describe_failure

BODY = {"error": {"message": "Slow down", "type": "rate_limit_error"}}


class Answer:
    """An answer as HTTP libraries have it, with these attributes."""

    def __init__(self, **attributes: Any) -> None:
        for name, value in attributes.items():
            setattr(self, name, value)


class Status:
    """As the members of gRPC's enumeration."""

    def __init__(self, name: str) -> None:
        self.name = name


def made(name: str, text: str, **attributes: Any) -> Exception:
    error = type(name, (Exception,), {})(text)
    for key, value in attributes.items():
        setattr(error, key, value)
    return error


def told(found: FailureDetail) -> tuple[str, int | None, float | None, str | None]:
    return found.message, found.status, found.retry_after_s, found.code


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (  # aiohttp
            made(
                "ClientResponseError",
                "429, message='Too Many Requests', url='https://u:p@h/x?key=a'",
                status=429,
                message="Too Many Requests",
                headers={"Retry-After": "3"},
            ),
            ("Too Many Requests", 429, 3.0, None),
        ),
        (  # Google's libraries: `details` is a list of notes
            made("Exhausted", "429 Quota gone", code=429, message="Quota gone", details=["note"]),
            ("Quota gone", 429, None, None),
        ),
        (  # gRPC: the text is a dump
            made(
                "AioRpcError",
                '<AioRpcError of RPC that terminated with: details = "x">',
                code=lambda: Status("UNAVAILABLE"),
                details=lambda: "failed to connect to all addresses",
            ),
            ("failed to connect to all addresses", 503, None, "UNAVAILABLE"),
        ),
        (  # requests, where nobody decoded the body
            made(
                "HTTPError",
                "429 Client Error for url: https://h/x?key=abc",
                response=Answer(
                    status_code=429,
                    text=None,
                    content=b'{"error":{"message":"Slow down","code":"a_b"}}',
                    headers={"retry-after": "2"},
                ),
            ),
            ("Slow down", 429, 2.0, "a_b"),
        ),
        (  # an answer that is a mapping
            made("Failed", "x", response={"status_code": 503, "text": "busy", "headers": {}}),
            ("busy", 503, None, None),
        ),
        (
            made("Failed", "x", response={"status": 429, "body": BODY, "headers": {}}),
            ("Slow down", 429, None, "rate_limit_error"),
        ),
        (made("Failed", "no", status_code="429"), ("no", 429, None, None)),
        (  # pydantic-ai
            made(
                "ModelHTTPError",
                f"status_code: 429, model_name: m, body: {BODY}",
                status_code=429,
                body=BODY,
            ),
            ("Slow down", 429, None, "rate_limit_error"),
        ),
        (  # langchain: a repr in the text, with the wait in it
            RuntimeError(
                "Error calling model 'x' (RESOURCE_EXHAUSTED): 429 RESOURCE_EXHAUSTED. "
                "{'error': {'code': 429, 'message': 'You exceeded', 'status': 'A_B'}}"
            ),
            ("You exceeded", 429, None, "A_B"),
        ),
        (made("Failed", "HTTP 500: oops", message="oops"), ("oops", None, None, None)),
        (made("Failed", "oops", message="other words"), ("oops", None, None, None)),
    ],
)
def test_the_innermost_text_and_the_facts_are_read(
    error: Exception, expected: tuple[str, int | None, float | None, str | None]
) -> None:
    assert told(describe_failure(error)) == expected


def limited() -> Exception:
    return made("RateLimitError", "slow", status_code=429, retry_after=4)


def fail(error: Exception) -> None:
    raise error


def raised(act: Callable[[], None]) -> Exception:
    """Return what `act` raises, with the links that Python itself sets."""
    with pytest.raises(Exception) as found:  # noqa: PT011 - any: it is what is looked at
        act()
    return found.value


def with_from() -> None:
    try:
        fail(limited())
    except Exception as error:
        raise RuntimeError("step failed") from error


def without_from() -> None:
    try:
        fail(limited())
    except Exception:  # noqa: BLE001 - any
        fail(RuntimeError("step failed"))


def from_group() -> None:
    try:
        fail(ExceptionGroup("tasks", [ValueError("other"), ExceptionGroup("g", [limited()])]))
    except Exception as error:
        raise RuntimeError("step failed") from error


def deep() -> None:
    try:
        from_group()
    except Exception:  # noqa: BLE001 - any
        fail(RuntimeError("run failed"))


def hiding() -> None:
    try:
        fail(limited())
    except Exception:  # noqa: BLE001 - any
        raise RuntimeError("step failed") from None


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (with_from, "step failed: slow"),
        (without_from, "step failed: slow"),
        (from_group, "step failed: slow"),
        (deep, "run failed: slow"),
    ],
)
def test_status_and_wait_are_found_behind_wrappers(act: Callable[[], None], message: str) -> None:
    assert told(describe_failure(raised(act))) == (message, 429, 4.0, None)


def test_what_a_wrapper_hides_on_purpose_stays_hidden() -> None:
    assert told(describe_failure(raised(hiding))) == ("step failed", None, None, None)


def test_a_group_that_holds_itself_as_a_cause_ends() -> None:
    first = RuntimeError("a")
    first.__cause__ = ExceptionGroup("g", [first, ValueError("b")])
    assert describe_failure(first).message == "a"
