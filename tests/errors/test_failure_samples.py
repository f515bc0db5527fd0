"""Provider failures, most of them recorded, come out as they should."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TypedDict

import pytest

from compass_agent.errors import advise, describe_failure, redact

DATA = Path(__file__).parent.parent / "data"


class Sample(TypedDict):
    """One line of the data file."""

    id: str
    transport: str
    status: int | None
    headers: dict[str, str]
    body: str
    now: str | None
    expected_message: str | None
    expected_status: int | None
    expected_retry_after_s: float | None
    expected_request_id: str | None
    expected_retryable: bool
    must_not_surface: list[str]


SAMPLES: list[Sample] = [
    json.loads(line) for line in (DATA / "provider_errors.jsonl").read_text().splitlines()
]


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda s: s["id"])
def test_a_sample_gives_the_expected_failure(sample: Sample) -> None:
    found = describe_failure(sample)
    expected = sample["expected_message"]
    if expected is None:
        assert found.message
    else:
        # Verbatim, but for secrets.
        assert found.message == redact(expected)
    assert found.status == sample["expected_status"]
    assert found.retry_after_s == sample["expected_retry_after_s"]
    assert found.request_id == sample["expected_request_id"]
    for text in sample["must_not_surface"]:
        # Words of the message itself that are no secrets stay.
        assert text not in repr(found) or text in redact(expected or "")


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda s: s["id"])
def test_the_advice_says_whether_a_retry_can_help(sample: Sample) -> None:
    advice = advise(describe_failure(sample))
    assert advice.retryable == sample["expected_retryable"]
    assert advice.title
    assert advice.guidance


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda s: s["id"])
def test_the_body_may_be_bytes_or_what_json_made_of_it(sample: Sample) -> None:
    found = describe_failure(sample)
    assert describe_failure({**sample, "body": sample["body"].encode()}) == found
    try:
        value: object = json.loads(sample["body"])
    except ValueError:
        return
    if sample["transport"] != "sse":
        assert describe_failure({**sample, "body": value}) == found
