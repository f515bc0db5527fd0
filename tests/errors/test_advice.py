"""What to make of a failure."""

from __future__ import annotations

import pytest

from compass_agent.errors import FailureDetail, advise

VERTEX = (
    "Quota exceeded for aiplatform.googleapis.com/"
    "generate_content_requests_per_minute_per_project_per_base_model with base model: m"
)
GEMINI = "Quota exceeded for quota metric 'Requests' and limit 'Requests per minute per region'"
BEDROCK = "Too many tokens, please wait before trying again."
BEDROCK_DAY = "Too many tokens per day, please wait before trying again."
AZURE = "Out of call volume quota. Quota will be replenished in 01:23:45."


@pytest.mark.parametrize(
    ("failure", "title", "retryable"),
    [
        (FailureDetail("Slow", 429), "Rate limited", True),
        (FailureDetail("x", 429, code="insufficient_quota"), "Quota used up", False),
        (FailureDetail("You exceeded your current quota", 429), "Quota used up", False),
        (FailureDetail("You exceeded your current quota", 429, 40.0), "Rate limited", True),
        (FailureDetail("Slow down", 429, code="adapter.exited"), "Rate limited", True),
        (FailureDetail("exited with 1", code="adapter.exited"), "Agent stopped unexpectedly", None),
        (FailureDetail("x", 402), "Quota used up", False),
        (FailureDetail("x", 401), "Authentication failed", False),
        (FailureDetail("x", 403), "Access denied", False),
        (FailureDetail("x", 404), "Not found", False),
        (FailureDetail("x", 408), "Timed out", True),
        (FailureDetail("x", 422), "Request refused", False),
        (FailureDetail("x", 500), "Provider error", True),
        (FailureDetail("x", 529), "Overloaded", True),
        (FailureDetail("Overloaded"), "Overloaded", True),
        (FailureDetail("prompt is too long: 3 tokens", 400), "Context too long", False),
        (FailureDetail("Connection error."), "Connection lost", True),
        (FailureDetail("terminated"), "Connection lost", True),
        (FailureDetail("ECONNREFUSED: Unable to connect."), "Connection lost", True),
        (FailureDetail("OpenAI completions stream stalled while waiting"), "Timed out", True),
        (FailureDetail("Provider finish_reason: content_filter"), "Content refused", False),
        (FailureDetail("x", code="server_error"), "Provider error", True),
        (FailureDetail("KeyError"), "Turn failed", None),
        # Windows of a minute open again, those of a day do not.
        (FailureDetail(VERTEX, 429, code="RESOURCE_EXHAUSTED"), "Rate limited", True),
        (FailureDetail(GEMINI, 429, code="RATE_LIMIT_EXCEEDED"), "Rate limited", True),
        (FailureDetail(GEMINI), "Rate limited", True),
        (FailureDetail("Quota exceeded: requests per day", 429), "Quota used up", False),
        (FailureDetail(BEDROCK_DAY, 429, code="ThrottlingException"), "Quota used up", False),
        (FailureDetail(BEDROCK_DAY), "Quota used up", False),
        (FailureDetail(BEDROCK, 429, code="ThrottlingException"), "Rate limited", True),
        (FailureDetail(BEDROCK), "Rate limited", True),
        (FailureDetail("x", 400, code="ServiceQuotaExceededException"), "Quota used up", False),
        (FailureDetail(AZURE, 403), "Quota used up", False),
        (FailureDetail(AZURE, 403, 5025.0), "Quota used up", False),
        (FailureDetail("Too many tokens: 9000 > 8192", 400), "Context too long", False),
        # A status says more than a general code, or than words about something else.
        (FailureDetail("no such model", 404, code="api_error"), "Not found", False),
        (FailureDetail("bad schema", 400, code="api_error"), "Request refused", False),
        (FailureDetail("not here", 405, code="api_error"), "Request refused", False),
        (FailureDetail("bad", 422, code="server_error"), "Request refused", False),
        (FailureDetail("Authentication error in upstream", 500), "Provider error", True),
        (FailureDetail("Invalid API key cache", 503), "Provider error", True),
        (FailureDetail("too many tokens in bucket", 502), "Provider error", True),
        (FailureDetail("prompt too large to cache", 500), "Provider error", True),
        (FailureDetail("exceeds the context window", 500), "Context too long", False),
        (FailureDetail("rate limit field must be positive", 400), "Request refused", False),
        (FailureDetail("API rate limit exceeded for user", 403), "Rate limited", True),
        (FailureDetail("Too many requests, retry later", 400), "Rate limited", True),
        (FailureDetail("Rate limit reached for m", 400), "Rate limited", True),
        (FailureDetail("Unable to locate credentials"), "Authentication failed", False),
        (FailureDetail("OPENAI_API_KEY is not set"), "Authentication failed", False),
        (FailureDetail("SSL: CERTIFICATE_VERIFY_FAILED", 0), "Connection not possible", False),
    ],
)
def test_a_failure_has_a_title_and_a_verdict(
    failure: FailureDetail, title: str, retryable: bool | None
) -> None:
    advice = advise(failure)
    assert (advice.title, advice.retryable) == (title, retryable)
    assert advice.guidance.endswith(".")
