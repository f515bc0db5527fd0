"""The innermost human text is found in bodies of every shape."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compass_agent.errors import describe_failure


def answer(body: object, status: int | None = 500, transport: str = "http") -> dict[str, object]:
    return {"status": status, "headers": {}, "body": body, "transport": transport}


@pytest.mark.parametrize(
    ("body", "message", "code"),
    [
        ('{"detail":"Not authenticated"}', "Not authenticated", None),
        (
            '{"detail":[{"loc":["body"],"msg":"field required","type":"missing"}]}',
            "field required",
            "missing",
        ),
        ('{"type":"about:blank","title":"Bad","detail":"Why it is"}', "Why it is", None),
        (
            '{"error":"invalid_grant","error_description":"It expired"}',
            "It expired",
            "invalid_grant",
        ),
        ('{"status":404,"error":"Not Found","message":"No handler"}', "No handler", None),
        ('{"code":"Some words","error":"Human text"}', "Human text", None),
        (
            '{"__type":"a.b#ThrottlingException","Message":"Rate exceeded"}',
            "Rate exceeded",
            "ThrottlingException",
        ),
        ('{"errors":[{"message":"one"},{"message":"two"}]}', "one; two", None),
        (
            "<Error><Code>NoSuchKey</Code><Message>It is gone</Message></Error>",
            "It is gone",
            "NoSuchKey",
        ),
        ("<!DOCTYPE html><html><head><title>x &amp; y\n z</title></head></html>", "x & y z", None),
        ("<html><body><h1>Big</h1><p>small</p></body></html>", "Big", None),
        ("<html><body>only <b>text</b></body></html>", "only text", None),
        ("plain words\nin two lines", "plain words\nin two lines", None),
        ("Error code: 429 - {'error': {'message': \"can't\", 'code': 'x_y'}}", "can't", "x_y"),
        (
            (
                '{"error":{"message":"Provider returned error","code":429,'
                '"metadata":{"raw":"{\\"error\\":{\\"message\\":\\"busy\\"}}"}}}'
            ),
            "busy",
            None,
        ),
        ('{"type":"error","error":{"type":"a_b","message":"cut of', "cut of", "a_b"),
        ('a rule like {"a": {"message": "x", "type": "y"}} was broken', None, None),
    ],
)
def test_the_human_text_and_the_code_are_found(
    body: str, message: str | None, code: str | None
) -> None:
    found = describe_failure(answer(body))
    assert found.message == (body if message is None else message)
    assert found.code == code


EMPTY: tuple[object, ...] = ("", "{}", "[]", '{"error":{}}', None, b"", {}, [], "<html></html>")


@pytest.mark.parametrize("body", EMPTY, ids=[f"{i}-{body!r}" for i, body in enumerate(EMPTY)])
def test_an_empty_body_gives_the_name_of_the_status(body: object) -> None:
    assert describe_failure(answer(body, 503)).message == "HTTP 503 Service Unavailable"


@pytest.mark.parametrize(
    "stream",
    [
        (
            'data: {"choices":[{"delta":{"content":"a"}}]}\n\n'
            'data: {"error":{"message":"m","type":"server_error"}}\n\n'
        ),
        'event: error\r\ndata: {"type":"error","error":{"type":"api_error","message":"m"}}\r\n\r\n',
        '{"message":{"content":"a"},"done":false}\n{"error":{"message":"m","type":"server_error"}}\n',
    ],
)
def test_a_failure_in_a_stream_is_found_and_never_has_status_200(stream: str) -> None:
    found = describe_failure(answer(stream, 200, "sse"))
    assert (found.message, found.status) == ("m", 500)


@pytest.mark.parametrize(
    ("name", "status"),
    [("throttlingException", 429), ("modelStreamErrorException", 424), ("odd", None)],
)
def test_an_event_of_an_aws_stream_has_the_status_of_its_type(
    name: str, status: int | None
) -> None:
    event = {**answer('{"message":"m"}', 200, "eventstream"), "headers": {":exception-type": name}}
    found = describe_failure(event)
    assert (found.message, found.status, found.code) == ("m", status, name)


def test_an_unknown_code_in_a_good_answer_gives_no_status() -> None:
    found = describe_failure(answer('{"error":{"message":"m","code":"odd_one"}}', 200))
    assert (found.message, found.status, found.code) == ("m", None, "odd_one")


def test_windows_of_a_limit_mean_no_wait_where_waiting_cannot_help() -> None:
    headers = {"x-ratelimit-reset": "30", "x-ratelimit-remaining": "0"}
    for status, wait in ((404, None), (403, None), (429, 30.0), (503, 30.0)):
        found = describe_failure({"status": status, "headers": headers, "body": "no"})
        assert found.retry_after_s == wait


def test_a_huge_message_is_capped_on_a_character_border() -> None:
    for text in ("ä" * 40_000, "x" * 3_000_000, "😀" * 2_100):
        message = describe_failure(text).message
        head, _, mark = message.partition("…")
        assert len(message.encode()) <= 8192
        assert text.startswith(head)
        left = len(text.encode()) - len(head.encode())
        assert mark == f"(+{left} bytes)"


def test_a_secret_on_the_border_of_the_cap_is_masked_as_a_whole() -> None:
    message = describe_failure("x " * 4_075 + "sk-ant-0123456789abcdef" + " y" * 100).message
    assert "0123" not in message


def test_lone_surrogates_become_valid_text() -> None:
    assert describe_failure("a\ud83d\ude00b\ud83d").message == "a😀b�"


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["error", "message", "detail", "body", "status", "code", "headers", "type"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(JSON)
def test_any_value_gives_a_message_that_is_valid_text(value: object) -> None:
    for given_value in (value, {"body": value}, {"body": json.dumps(value), "transport": "sse"}):
        found = describe_failure(given_value)
        assert found.message
        assert len(found.message.encode()) <= 8192
        assert found.status is None or found.status == 0 or 400 <= found.status < 600


@given(st.text())
def test_any_text_gives_a_message(text: str) -> None:
    assert describe_failure(text).message
