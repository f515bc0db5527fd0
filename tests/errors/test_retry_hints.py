"""How long a provider asks to wait, from every place where it may say so."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compass_agent.errors import retry_after_seconds

DATA = Path(__file__).parent.parent / "data"
SAMPLES: list[dict[str, str | float | None]] = [
    json.loads(line) for line in (DATA / "header_samples.jsonl").read_text().splitlines()
]
NOW = "Mon, 13 Jun 2022 11:48:53 GMT"


@pytest.mark.parametrize(
    "sample", SAMPLES, ids=[f"{i}-{s['header']}={s['value']}" for i, s in enumerate(SAMPLES)]
)
def test_recorded_headers_give_their_seconds_and_counts_give_none(
    sample: dict[str, str | float | None],
) -> None:
    headers = {sample["header"]: sample["value"], "Date": sample["date_header"]}
    expected = sample.get("expected_seconds")
    found = retry_after_seconds(headers, None, sample["date_header"])
    assert found == (None if expected is None else max(float(expected), 0.0))


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("7", 7.0),
        ("1.5", 1.5),
        ("-5", None),
        ("1000000000", 86_400.0),
        ("99999999999999999999", None),
        ("Mon, 13 Jun 2022 11:49:53 GMT", 60.0),
        ("Monday, 13-Jun-22 11:49:53 GMT", 60.0),
        ("Mon Jun 13 11:49:53 2022", 60.0),
        ("Sun, 12 Jun 2022 11:49:53 GMT", 0.0),
        *[(bad, None) for bad in ("", "nan", "inf", "1_0", "0x10", "2m", "+5", "٣", "soon")],
    ],
)
def test_retry_after_is_seconds_or_a_date_and_nothing_else(
    value: str, seconds: float | None
) -> None:
    assert retry_after_seconds({"Retry-After": value}, None, NOW) == seconds


HINTS: list[tuple[dict[str, str], object, float]] = [
    ({"retry-after-ms": "1500"}, None, 1.5),
    ({"retry-after": "3"}, None, 3.0),
    ({}, {"error": {"details": [{"@type": "x/google.rpc.RetryInfo", "retryDelay": "7s"}]}}, 7.0),
    ({"ratelimit": '"api";r=0;t=295'}, None, 295.0),
    ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "6m0s"}, None, 360.0),
    ({}, "Please try again in 9.816s", 9.816),
]


def test_the_order_of_precedence_is_kept() -> None:
    headers: dict[str, str] = {}
    body: object = None
    for more, value, seconds in reversed(HINTS):
        headers |= more
        if value is not None and isinstance(body, str):
            body = {"message": body, "more": value}
        body = value if body is None else body
        assert retry_after_seconds(headers, body, NOW) == seconds


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"x-ratelimit-reset": "1655120964", "x-ratelimit-remaining": "14"}, 31.0),
        ({"x-ratelimit-reset": "1655120964000"}, 31.0),
        ({"x-ratelimit-reset": "2"}, 2.0),
        ({"x-ratelimit-reset-tokens": "5s", "x-ratelimit-remaining-tokens": "17"}, None),
        ({"x-ratelimit-reset-tokens": "0", "x-ratelimit-remaining-tokens": "-1"}, None),
        ({"anthropic-ratelimit-tokens-reset": "2022-06-13T11:49:53Z"}, 60.0),
        ({"anthropic-ratelimit-unified-7d-reset": "1655120964"}, 31.0),
        (
            {
                "anthropic-ratelimit-unified-7d-reset": "1655120964",
                "anthropic-ratelimit-unified-7d-status": "allowed",
            },
            None,
        ),
        ({"ratelimit": "limit=10, remaining=0, reset=50"}, 50.0),
        ({"ratelimit": '"api";r=3;t=295'}, None),
    ],
)
def test_windows_count_when_they_are_or_may_be_exhausted(
    headers: dict[str, str], seconds: float | None
) -> None:
    for now in (NOW, datetime(2022, 6, 13, 11, 48, 53, tzinfo=UTC), 1655120933):
        assert retry_after_seconds(headers, None, now) == seconds


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("Please try again in 644ms.", 0.644),
        ("Please try again in 20s. Visit us", 20.0),
        ("Try again in 2 seconds.", 2.0),
        ("Please retry after 20 seconds", 20.0),
        ("try again in 1m13.588s", 73.588),
        ("Your quota will reset after 3h20m10s.", 12_010.0),
        ("429 slow retry-after-ms=1000", 1.0),
        ("try again in 20 s", 20.0),
        ("Please try again in 1m30s", 90.0),
        ("try again in 1m 30s", 90.0),
        ("try again in 1 minute and 30 seconds.", 90.0),
        ("retry after 5 minutes", 300.0),
        ("Please wait 2 h, then go on", 7200.0),
        ("retry after: 30 seconds", 30.0),
        ("Quota will be replenished in 01:23:45.", 5025.0),
        ("Quota will be replenished in 2.05:08:01.", 86_400.0),
        ("try again in 20 samples", None),
        ("try again in 5 states", None),
        ("retry 3 hosts", None),
        ("wait 1 month", None),
        ("Please wait a few minutes before you try again.", None),
        ("try again in 2024", None),
    ],
)
def test_a_number_in_the_text_is_the_last_resort(text: str, seconds: float | None) -> None:
    assert retry_after_seconds(None, text) == seconds


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["retry_after", "@type", "headers", "retryDelay"]), inner)
    ),
    max_leaves=8,
)


@given(JSON, JSON, JSON)
def test_no_input_raises_and_no_wait_leaves_the_bounds(
    headers: object, body: object, now: object
) -> None:
    seconds = retry_after_seconds(headers, body, now)
    assert seconds is None or 0 <= seconds <= 86_400


def test_a_negative_wait_in_a_header_is_nonsense() -> None:
    later = {"X-RateLimit-Reset": "30"}
    assert retry_after_seconds({"Retry-After": "-5"} | later) == 30.0
    assert retry_after_seconds({"retry-after-ms": "-1", "Retry-After": "7"}) == 7.0
