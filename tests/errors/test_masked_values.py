"""Values of Python lose what stands under the name of a secret, whatever it is made of."""

from __future__ import annotations

import json

import pytest

from compass_agent.errors import redact_value

MASK = "[redacted]"


@pytest.mark.parametrize(
    "name",
    [
        "password",
        "passwords",
        "apiKey",
        "X-Api-Key",
        "client_secret",
        "secrets",
        "Authorization",
        "auth",
        "openaiKey",
        "OPENAI_API_KEY_2",
        "accessKey",
        "sessionToken",
        "connection_string",
        "credentials",
        "dbPass",
        b"x-api-key",
    ],
)
@pytest.mark.parametrize(
    "value", ["x", 12345678, 1.5, ["plain"], {"a": "b"}, ("a",), {"a"}, b"raw", ValueError("x")]
)
def test_a_name_that_says_secret_masks_whatever_stands_under_it(
    name: str | bytes, value: object
) -> None:
    shown = name.decode() if isinstance(name, bytes) else name
    assert redact_value({name: value, "n": 1}) == {shown: MASK, "n": 1}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("token", "a word"),
        ("token", " hello"),
        ("max_tokens", 7),
        ("tokens", 8192),
        ("author", "somebody"),
        ("password_length", 8),
        ("api_key", None),
        ("has_password", True),
        ("password", ""),
        ("secrets", []),
        ("key", "value"),
        ("sort_key", "created_at_2024"),
        ("public_key", "abc12345678"),
        ("keyboard", "us"),
        ("monkey", "abc12345678"),
        ("passed", 3),
        ("compass", "north"),
        ("design", "x12345678"),
    ],
)
def test_other_names_mask_nothing(name: str, value: object) -> None:
    assert redact_value({name: value}) == {name: value}


def test_a_name_that_is_no_text_becomes_one() -> None:
    assert redact_value({3: "three", None: 1}) == {"3": "three", "None": 1}


@pytest.mark.parametrize(
    "pairs",
    [
        [(b"x-api-key", b"raw"), (b"accept", b"*/*")],
        [("x-api-key", "raw"), ("accept", "*/*")],
        [["x-api-key", "raw"], ["accept", "*/*"]],
    ],
)
def test_pairs_of_headers_are_known(pairs: object) -> None:
    assert redact_value({"headers": pairs}) == {"headers": [["x-api-key", MASK], ["accept", "*/*"]]}


def test_a_list_of_names_is_no_pair() -> None:
    assert redact_value(["password", "username"]) == ["password", "username"]


def test_what_json_does_not_know_becomes_text_or_list() -> None:
    told = redact_value(
        {
            "bytes": b"with sk-ant-abc123 x",
            "set": {"sk-ant-abc123", "plain"},
            "frozen": frozenset({"one"}),
            "tuple": ("sk-ant-abc123", 1),
            "error": ValueError("key sk-ant-abc123 x"),
            "bare": KeyError(),
        }
    )
    assert told == {
        "bytes": f"with {MASK} x",
        "set": ["plain", MASK],
        "frozen": ["one"],
        "tuple": [MASK, 1],
        "error": f"key {MASK} x",
        "bare": "KeyError",
    }
    assert json.dumps(told)


def test_registered_values_are_masked_at_any_depth() -> None:
    assert redact_value([{"a": "my hunter22"}, b"hunter22"], ["hunter22"]) == [
        {"a": f"my {MASK}"},
        MASK,
    ]


def test_a_value_within_itself_ends_and_one_told_twice_is_told_twice() -> None:
    ring: list[object] = [1]
    ring.append(ring)
    assert redact_value(ring) == [1, MASK]
    loop: dict[str, object] = {"n": 1}
    loop["again"] = [loop]
    assert redact_value(loop) == {"n": 1, "again": [MASK]}
    shared = {"n": 1}
    assert redact_value([shared, shared]) == [shared, shared]


def test_a_bottomless_value_ends() -> None:
    deep: object = "sk-ant-abc123"
    for _ in range(10_000):
        deep = {"a": [deep]}
    assert MASK in repr(redact_value(deep))


def test_options_and_named_values_are_known_in_nested_values() -> None:
    arguments = ["run", "--api-key", "x", "--max-tokens", "4096", "--token", "-v"]
    assert redact_value(arguments) == [*arguments[:2], MASK, *arguments[3:]]
    assert redact_value(("--token", "abc")) == ["--token", MASK]
    header = {"name": "Authorization", "value": "x"}
    assert redact_value([header]) == [header | {"value": MASK}]
    assert redact_value({"name": "city", "value": "x"}) == {"name": "city", "value": "x"}
