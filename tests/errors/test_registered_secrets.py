"""Values that a host registered are masked in every form that texts give them."""

from __future__ import annotations

import base64
import json
from urllib.parse import quote, quote_plus

import pytest

from compass_agent.errors import describe_failure, redact

VALUE = 'hu"nter/2+ \\pass&wörd\n'
PLAIN = "correct-horse-77"


@pytest.mark.parametrize(
    "form",
    [
        VALUE,
        json.dumps(VALUE),
        json.dumps(VALUE, ensure_ascii=False),
        json.dumps(json.dumps(VALUE)),
        json.dumps({"a": json.dumps({"b": VALUE})}),
        repr(VALUE),
        json.dumps(VALUE).replace("/", "\\/"),
        quote(VALUE),
        quote(VALUE, safe=""),
        quote_plus(VALUE),
        quote(VALUE, safe="").lower(),
        base64.b64encode(VALUE.encode()).decode(),
    ],
)
def test_a_form_of_a_value_is_masked(form: str) -> None:
    masked = redact(f"it said {form} here", [VALUE])
    assert masked.startswith("it said ")
    assert masked.endswith(" here")
    for rest in ("nter", "pass", "w%C3", "aHU", "bnRlc"):
        assert rest not in masked
    assert "[redacted]" in masked


@pytest.mark.parametrize("before", ["", "u:", "us:", "user:", "user1:", "\x00\x00"])
@pytest.mark.parametrize("behind", ["", ":x", "@host"])
def test_base64_is_known_wherever_the_value_stands_in_it(before: str, behind: str) -> None:
    coded = base64.b64encode(f"{before}{PLAIN}{behind}".encode()).decode()
    assert redact(f"sent {coded}, no", [PLAIN]) == "sent [redacted], no"


def test_the_alphabet_for_urls_is_known_too() -> None:
    value = "a??>>~~b"
    plain, safe = base64.b64encode(value.encode()), base64.urlsafe_b64encode(value.encode())
    assert plain != safe
    assert redact(f"{plain.decode()} {safe.decode()}", [value]) == "[redacted] [redacted]"


def test_other_base64_stays() -> None:
    coded = base64.b64encode(b"nothing of it").decode()
    assert redact(f"sent {coded}", [PLAIN, "abcd"]) == f"sent {coded}"


def test_the_mask_itself_stays_whole() -> None:
    once = redact("my redacted thing", ["redacted", "edact"])
    assert once == "my [redacted] thing"
    assert redact(once, ["redacted", "edact"]) == once


def test_a_described_failure_has_no_form_of_it() -> None:
    body = json.dumps({"error": {"message": f"bad: {json.dumps({'k': VALUE})}"}})
    told = describe_failure({"status": 400, "body": body}, [VALUE])
    assert "nter" not in told.message
    assert told.message.startswith("bad: ")
