"""What `redact` masks, what it leaves alone, and that it is fast and stable."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compass_agent.errors import redact

if TYPE_CHECKING:
    from types import FrameType

JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.dGVzdA"


@pytest.mark.parametrize(
    ("text", "gone"),
    [
        ("Invalid API key: sk-ant-abc…", "abc"),
        ("RuntimeError: sk-secret-123", "secret-123"),
        ("key sk-proj-AbCd1234EfGh5678 is wrong.", "AbCd"),
        ("Incorrect API key provided: sk-ab****wxyz.", "wxyz"),
        ("Received API Key = sk-...0000, next", "0000"),
        ("AIzaSyA1234567890abcdefghij", "SyA123"),
        ("gsk_abcdefghij0123456789", "abcdefghij"),
        ("xai-abcdefghij0123456789", "abcdefghij"),
        ("ghp_abcdefghij0123456789", "abcdefghij"),
        ("github_pat_11ABC_def", "11ABC"),
        ("AKIAIOSFODNN7EXAMPLE", "IOSFOD"),
        ("hf_abcdefghijABCDEFGHIJ", "abcdefghij"),
        ("glpat-abc", "abc"),
        ("xoxb-123456789-abcdef", "123456789"),
        (JWT, "eyJzdWIi"),
        ("Authorization: Bearer abcdef", "abcdef"),
        ("{'authorization': 'Bearer zzz', 'x-api-key': 'kkk'}", "zzz"),
        ("{'authorization': 'Bearer zzz', 'x-api-key': 'kkk'}", "kkk"),
        ("Authorization: Basic dXNlcjpwYXNz", "dXNl"),
        ("bearer a1b2c3d4e5", "a1b2"),
        ("https://user:hunter2@example.org/x", "hunter2"),
        ("https://example.org/x?key=abc&b=1.", "abc"),
        ("postgresql+asyncpg://app:pw@db.internal:5432/main", "db.internal"),
        ("Server=db;User Id=sa;Password=hunter2;", "hunter2"),
        ("AccountName=a;AccountKey=abc/def==;", "abc/def"),
        ("OPENAI_API_KEY=whatever", "whatever"),
        ("Cookie: session=abc; other=def", "def"),
    ],
)
def test_secrets_of_known_forms_are_masked(text: str, gone: str) -> None:
    masked = redact(text)
    assert gone not in masked
    assert "[redacted]" in masked


@pytest.mark.parametrize(
    "text",
    [
        "The model `gpt-4o-2024-11-20` does not exist; request req_011CUx83hd8383abc",
        "claude-sonnet-4-5-20250929 said nothing for 20s",
        "/home/agent/projects/task-1234567/sk-learn/main.py:12: max_tokens=4096",
        "hf_hub_download and xai-org and npm_config_registry are names",
        "Incorrect API key provided: dummy. You can find it at https://example.org/keys.",
        "Bearer authentication required: invalid x-api-key",
        "risk-averse disk-based task-force",
    ],
)
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert redact(text) == text


def test_registered_values_are_masked_wherever_they_stand() -> None:
    text = "tok hunter22 inhunter22side; hunter2 and abc stay as they are"
    masked = redact(text, ["hunter22", "hunter2", "abc"])
    assert masked == ("tok [redacted] in[redacted]side; [redacted] and abc stay as they are"), (
        "values under four characters are ignored, longer ones go first"
    )


FRAGMENTS = st.sampled_from(
    [
        "sk-",
        "ant-",
        "abc123def456",
        "Bearer ",
        "Authorization",
        ": ",
        "=",
        "://",
        "@",
        "?",
        "/",
        "x-api-key",
        "password",
        "token",
        "'",
        '"',
        "[",
        "]",
        "[redacted]",
        "redacted",
        "eyJ",
        ".",
        "...",
        "*",
        "**",
        "…",
        " ",
        "\n",
        "a",
        "Z9",
        "postgres",
        "http",
        "api key",
        "hf_",
        "AKIA",
        "Cookie:",
        ";",
        "İ",
        "&",
        '\\"',
        "\\",
        "('",
        "', b'",
        ")",
        "{",
        "}",
        ",",
        "--token ",
        "api key ",
        " is not a valid ",
        "//",
        "<",
        ">",
        "auth",
        "openaiKey",
        "a1b2c3d4e5f6",
        "-----BEGIN PRIVATE KEY-----",
        "-----END PRIVATE KEY-----",
    ]
)


@given(
    st.lists(FRAGMENTS, max_size=12).map("".join),
    st.lists(st.one_of(FRAGMENTS, st.text(min_size=4, max_size=6)), max_size=2),
)
def test_masking_twice_changes_nothing_more(text: str, secrets: list[str]) -> None:
    once = redact(text, secrets)
    assert redact(once, secrets) == once


HOSTILE = [
    *(
        "sk-",
        "sk- ",
        "Bearer ",
        "http://a@",
        "password=x ",
        "://",
        "token)=",
        "a",
        " ",
        "eyJ",
        "a-",
    ),
    *("=", ".", "key=", 'key="', "password=(", "password={", "passwords=['", 'password="', "\\"),
    *(
        '\\"',
        'token=\\\\\\"',
        "('key','",
        "key\\",
        "?a=",
        "/x?a=b ",
        "password=<",
        "pwd={}}",
        "Cookie: a",
    ),
    *("PRIVATE KEY", "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----A", "//a:", "a:b@"),
    *(":\\/", "http://u:1?@", "x:y!", "--token ", "api key ", "is not a valid api key ", "<key "),
    *("/?", "a.", "a/", "??", "a.b?c=d ", "a:b@a.a."),
    *("password=,", "key`", "é key=", "Authorization: Digest a="),
]


@pytest.mark.parametrize("piece", HOSTILE)
def test_hostile_text_costs_linear_time(piece: str) -> None:
    def cost(size: int) -> float:
        text = (piece * size)[:size]
        times: list[float] = []
        for _ in range(2):
            start = time.process_time()
            redact(text)
            times.append(time.process_time() - start)
        return min(times)

    assert cost(100_000) < max(0.5, 40 * cost(10_000)), "far above what linear needs"


@pytest.mark.parametrize("piece", ["token: ", "token)=", "cacheToken = none; "])
def test_a_name_that_is_given_no_secret_costs_few_calls(piece: str) -> None:
    calls = 0

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    text = piece * 1_000
    assert redact(text) == text
    before = sys.getprofile()
    sys.setprofile(count)
    try:
        redact(text)
    finally:
        sys.setprofile(before)
    assert calls < 7 * 1_000
