"""What `redact` leaves as it is: a mask where nothing was hidden only costs the reader."""

from __future__ import annotations

import pytest

from compass_agent.errors import redact

ABOUT_KEYS = [
    "the key is missing",
    "API key is missing",
    "API key not valid. Please pass a valid API key.",
    "No API key provided",
    "API key authentication is disabled",
    "the API key you provided has no access",
    "API key 'OPENAI_API_KEY' not set",
    "api_key: must be a string",
    "x-api-key: required",
    "invalid x-api-key",
    "set OPENAI_API_KEY or pass api_key to the client",
    "fields: ['api_key', 'model']",
    "password: String should have at least 8 characters",
    "missing: 'password', 'email'",
    "('password', 'username', 'email')",
    "the --token flag is required",
    "secret name: db-creds",
    "Basic Authentication failed",
    "authentication: required, authorized: true",
    "credentials: include",
    "Access-Control-Allow-Credentials: true",
    "Permission denied (publickey,password).",
    'password authentication failed for user "bob"',
    "Access denied for user 'root'@'localhost' (using password: YES)",
    "api_keys: 3 configured, secrets=5",
    "cookie: disabled",
    "api_key: none is not an allowed value",
    "ANTHROPIC_API_KEY=... in your environment",
    "signature verification failed",
    "the token count is too high: password rules apply; secret santa",
]
NUMBERS_AND_WORDS = [
    "max_tokens=4096",
    "--max-tokens 4096",
    "token limit 8192",
    "tokens: 512, total_tokens=1024, prompt_tokens: 77",
    "Rate limit on tokens per min (TPM): Limit 10000, Used 9500, Requested 700",
    "Limit 30000, Used 29937, Requested 385 in organization org-EXAMPLE",
    "password_length=12",
    "author: Bob",
    "passed: 5, failed: 3",
    "compass: north12345",
    "signal: SIGKILL12",
    "keyboard: us-12345678",
    "monkey: 12345678a",
    '{"token": " hello", "logprob": -0.1}',
    'token: "a word"',
    '{"key": "value"}',
]
CODE = [
    "KeyError: 'api_key'",
    "key 'abc12345' not found in mapping",
    "if (token === null) return",
    "token: Token[str], password: str | None = None",
    "src/auth/token.py:12:5: E501",
    "tests/test_secrets.py::test_password PASSED",
    "const key = `user:${id}`",
    "def f(key: str, token: int = 3)",
    "api_key=None, model='x'",
    'api_key=os.environ["OPENAI_API_KEY"]',
    "export KEY=$OPENAI_API_KEY; export TOKEN=${TOKEN}",
    "password=<your password>",
    "sort_key: created_at_2024, cache_key=user_12345",
    "Duplicate key value (id)=(12345678)",
    "Unexpected token '<', \"<!DOCTYPE \"... is not valid JSON",
    "Unexpected token export in JSON at position 12",
    "tokenizer=cl100k_base",
    "Signature: (a: int) -> str",
    "ssh -p 22 host",
    "//@ts-ignore",
    "// a comment for bob@example.org",
    "a//b?c",
    "sk-learn-1.4.2 failed",
    "fw_version_string ABSKELETON",
    "docker run -u 1000:1000 image",
    "https://hooks.slack.com/ is down",
    "(?P<name>=x) and (?:a/b)?c=d",
    "x ? y=1 : z, a/b?.c == d",
    "SELECT * FROM t WHERE a/b=? AND c=?",
    "node_modules/@scope/pkg: 12",
]
PLACES = [
    "mailto:bob@example.org",
    "git@github.com:foo/bar.git",
    "Why? a=b",
    "is it /etc/passwd? either/or? really?yes=no",
    "email:bob@example.com/x mailto:bob1234567@example.org",
    "npm:react@18.2.0/umd",
    "image repo:tag@sha256:abcdef0123",
    "https://host.example:8080/v1/@scope/pkg",
    "http://localhost:8080/@scope",
    "see https://aka.ms/oai?linkid=2206071",
    "see https://go.microsoft.com/fwlink/?linkid=2198766",
]


@pytest.mark.parametrize("text", [*ABOUT_KEYS, *NUMBERS_AND_WORDS, *CODE, *PLACES])
def test_a_text_without_secrets_stays_as_it_is(text: str) -> None:
    assert redact(text) == text
    assert redact(f"Error: {text}") == f"Error: {text}"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("f(api_key='x y', model='m')", "f(api_key='[redacted]', model='m')"),
        ("[(b'x-api-key', b'S'), (b'a', b'b')]", "[(b'x-api-key', b'[redacted]'), (b'a', b'b')]"),
        (r"{\"api_key\": \"S\", \"n\": 1}", r"{\"api_key\": \"[redacted]\", \"n\": 1}"),
        ("UID=sa;PWD={a;b};Database=d", "UID=sa;PWD={[redacted]};Database=d"),
        ("x --token S --n 3", "x --token [redacted] --n 3"),
        ("API key abc12345 is invalid.", "API key [redacted] is invalid."),
        ("Authorization: Bearer abc, next", "Authorization: Bearer [redacted], next"),
        ("password=a,b'c;Database=d", "password=[redacted];Database=d"),
        ("<password>S</password>", "<password>[redacted]</password>"),
        ("<ns:Password>S</ns:Password>", "<ns:Password>[redacted]</ns:Password>"),
        ('"credentials": {"a": "S", "b": 1}, "n": 1', '"credentials": [redacted], "n": 1'),
        ("{'apiKeys': ('S', 'T'), 'n': 1}", "{'apiKeys': [redacted], 'n': 1}"),
        ('"passwords": [\n  "S",\n  "T"\n], "n": 1', '"passwords": [redacted], "n": 1'),
        ('{"password":\n  "S"}', '{"password":\n  "[redacted]"}'),
        ('api_key: Some("S"), n: 1', 'api_key: Some("[redacted]"), n: 1'),
        (
            "ab12cd34 is not a valid API key ef56gh78.",
            "[redacted] is not a valid API key [redacted].",
        ),
        ("{APIKey:S Model:x}", "{APIKey:[redacted] Model:x}"),
        ("get(url, auth=('bob', 'S'))", "get(url, auth=('bob', '[redacted]'))"),
        ("a: b\npassword: hunter\nc: d", "a: b\npassword: [redacted]\nc: d"),
        ("your API key (abc12345) has expired", "your API key ([redacted]) has expired"),
        ('-H "Authorization: Bearer S" -H x', '-H "Authorization: Bearer [redacted]" -H x'),
        ("https://h.example/x#access_token=S", "https://h.example/x#access_token=[redacted]"),
        ("https://eve:12?34@h.example/x", "https://[redacted]@h.example/x"),
        ("https://h.example/x?page=2, y", "https://h.example/x?[redacted], y"),
        ("https://h.example/?linkid=1&k=S", "https://h.example/?[redacted]"),
        ("https://h.example/x?linkid=12345", "https://h.example/x?[redacted]"),
        ("(see https://h.example/x?a=b)", "(see https://h.example/x?[redacted])"),
        ("http://localhost:80?user=a@b.example", "http://localhost:80?[redacted]"),
    ],
)
def test_what_stands_around_a_secret_stays(text: str, left: str) -> None:
    assert redact(text) == left
    assert redact(left) == left


def test_a_private_key_that_was_cut_is_masked_as_far_as_it_goes() -> None:
    begin, end = "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----"
    line = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC"
    assert redact(f"key {begin}\n{line}\n{line[:9]}") == "key [redacted]"
    assert redact(f"{line}\n{line}\n{end}\nno") == "[redacted]\nno"
    assert redact(f"{begin}\n{line}\n{end}\nno\n{begin}\n{line}") == "[redacted]\nno\n[redacted]"
    assert redact(f"it must begin with {begin}, it says") == f"it must begin with {begin}, it says"
    assert redact(f"there is no {end} here") == f"there is no {end} here"
