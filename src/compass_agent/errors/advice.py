"""What to make of a failure: a title, whether trying again can help, and what to do.

Pure: it is worked out from the failure alone, the same for every reader, and is not on the wire.
"""

from __future__ import annotations

__all__ = ("ALL_ADVICE", "NO_ANSWER_CODE", "NO_ANSWER_TEXT", "Advice", "advise")

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from compass_agent.errors.advice_signs import (
    BUDGET_CODES,
    DENIED_CODES,
    FILTER_CODES,
    KEY_CODES,
    LIMIT_CODES,
    OVERFLOW_CODES,
    OVERLOAD_CODES,
    SERVER_CODES,
    says_days,
    says_exhausted,
    says_filtered,
    says_key,
    says_limited,
    says_lost,
    says_many,
    says_minutes,
    says_misconfigured,
    says_overflows,
    says_overloaded,
    says_quota,
    says_surely_limited,
    says_surely_overflows,
    says_timed_out,
    says_too_large,
    says_waiting,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from compass_agent.errors.detail import FailureDetail

# Enough of a message to know it by; a body of many kilobytes says nothing more.
_HEAD = 2048
_CLIENT = 400
_UNAUTHORIZED = 401
_UNPAID = 402
_FORBIDDEN = 403
_NOT_FOUND = 404
_TOO_LARGE = 413
# Bedrock says so when the model broke off.
_DEPENDENCY = 424
_TOO_EARLY = 425
_TOO_MANY = 429
_SERVER = 500
_OVERLOADED = 529
NO_ANSWER_CODE = "connection_error"
"""The code of a failure without an answer whose own words do not tell that."""
NO_ANSWER_TEXT = "Connection error: "
"""Begins the text of such a failure that has a code already."""

_NOT_ALPHANUMERIC = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class Advice:
    """What to make of a failure.

    Attributes:
        title: A few words.
        retryable: Whether the same request can succeed later; None: not known.
        guidance: What to do, in one or two sentences.
    """

    title: str
    retryable: bool | None
    guidance: str


@dataclass(frozen=True, slots=True)
class _Facts:
    status: int | None
    code: str
    text: str
    waits: bool


def _is_context(f: _Facts) -> bool:
    if f.code in OVERFLOW_CODES:
        return True
    if f.status == _TOO_MANY or f.code in LIMIT_CODES or not says_overflows(f.text):
        return False
    if _is_own_failure(f) and not says_surely_overflows(f.text):
        return False
    # Bedrock says that there are too many tokens for the moment, and to wait.
    return not (says_many(f.text) and says_waiting(f.text))


def _is_budget(f: _Facts) -> bool:
    if (
        f.status == _UNPAID
        or f.code in BUDGET_CODES
        or "perday" in f.code
        or says_exhausted(f.text)
    ):
        return True
    # A provider that names a wait means a window of time, not an account.
    if f.waits:
        return False
    if says_days(f.text):
        return (
            says_quota(f.text) or says_limited(f.text) or says_many(f.text) or f.code in LIMIT_CODES
        )
    return says_quota(f.text) and not says_minutes(f.text) and f.code != "ratelimitexceeded"


def _is_limit(f: _Facts) -> bool:
    if f.status in (408, 409, 413) or (f.status is not None and f.status >= _SERVER):
        return False
    if f.status == _TOO_MANY or f.code in LIMIT_CODES:
        return True
    if f.status in (400, 404, 405, 422) and not says_surely_limited(f.text):
        return says_quota(f.text) and says_minutes(f.text)
    return _says_limit(f.text)


def _is_own_failure(f: _Facts) -> bool:
    """Tell whether the status says that the provider failed, whatever words it has for it."""
    return f.status is not None and f.status >= _SERVER


def _is_key(f: _Facts) -> bool:
    if f.status == _UNAUTHORIZED or f.code in KEY_CODES:
        return True
    return not _is_own_failure(f) and says_key(f.text)


def _is_refused(f: _Facts) -> bool:
    """Tell whether the status says that the request is at fault; it says more than a code."""
    return f.status is not None and _CLIENT <= f.status < _SERVER


def _says_limit(text: str) -> bool:
    return (
        says_limited(text)
        or (says_quota(text) and says_minutes(text))
        or (says_many(text) and says_waiting(text))
    )


def _is_overload(f: _Facts) -> bool:
    return (
        f.status == _OVERLOADED
        or f.code in OVERLOAD_CODES
        or (f.status in (None, 503) and says_overloaded(f.text))
    )


def _is_timeout(f: _Facts) -> bool:
    return f.status in (408, 504, 524) or (f.status in (None, 0) and says_timed_out(f.text))


_RULES: tuple[tuple[Callable[[_Facts], bool], Advice], ...] = (
    # What the runtime saw of the agent's process comes first: its text ends with the process's own
    # last words, which could look like anything. A status is nothing that it could see: the agent
    # told that one.
    (
        lambda f: f.code == "adapterstartfailed",
        Advice(
            "Could not start",
            retryable=False,
            guidance="Check that the command is there and may be run.",
        ),
    ),
    (
        lambda f: f.code == "adapterexited" and not f.status,
        Advice(
            "Agent stopped unexpectedly",
            retryable=None,
            guidance="Its exit code or signal, and the end of what it wrote to standard error, are "
            "all that is known. A kill that nobody asked for is often a lack of memory.",
        ),
    ),
    (
        lambda f: f.code == "adapternoterminal",
        Advice(
            "Agent broke off",
            retryable=None,
            guidance="Its output ended in the middle of its work, without a reason. Its own log of "
            "this moment is the next place to look.",
        ),
    ),
    (
        _is_context,
        Advice(
            "Context too long",
            retryable=False,
            guidance="The conversation does not fit the model. Compact it, start a new session, or "
            "use a model with a larger context.",
        ),
    ),
    (
        _is_budget,
        Advice(
            "Quota used up",
            retryable=False,
            guidance="Trying again will not help. Check plan and billing at the provider, or use "
            "another account or model.",
        ),
    ),
    (
        lambda f: says_too_large(f.text) or f.status == _TOO_LARGE,
        Advice(
            "Request too large",
            retryable=False,
            guidance="This request alone is over the limit. Send less at once.",
        ),
    ),
    (
        _is_key,
        Advice(
            "Authentication failed",
            retryable=False,
            guidance="The provider does not accept the key. Check which key is set, and whether it "
            "has expired.",
        ),
    ),
    (
        _is_limit,
        Advice(
            "Rate limited",
            retryable=True,
            guidance="Too many requests at once. Wait, for as long as the provider says when it "
            "does, then try again.",
        ),
    ),
    (
        lambda f: f.status == _FORBIDDEN or f.code in DENIED_CODES,
        Advice(
            "Access denied",
            retryable=False,
            guidance="The key is known but may not do this. Ask for access, or use another model.",
        ),
    ),
    (
        lambda f: f.code in FILTER_CODES or (f.status in (None, 400) and says_filtered(f.text)),
        Advice(
            "Content refused",
            retryable=False,
            guidance="The provider refused the request or the answer for what it holds. Change the "
            "request.",
        ),
    ),
    (
        lambda f: f.status in (None, 0) and says_misconfigured(f.text),
        Advice(
            "Connection not possible",
            retryable=False,
            guidance="The address or the certificate of the provider is wrong. Check the "
            "configuration.",
        ),
    ),
    (
        _is_overload,
        Advice(
            "Overloaded",
            retryable=True,
            guidance="The provider has more work than it can do. Try again in a moment, or use "
            "another model.",
        ),
    ),
    (
        _is_timeout,
        Advice(
            "Timed out",
            retryable=True,
            guidance="The provider did not answer in time. Try again.",
        ),
    ),
    (
        lambda f: f.status == 0 or (f.status is None and says_lost(f.text)),
        Advice(
            "Connection lost",
            retryable=True,
            guidance="The provider could not be reached, or the connection broke. Check the "
            "network and try again.",
        ),
    ),
    (
        lambda f: (
            f.status == _DEPENDENCY
            or _is_own_failure(f)
            or (f.code in SERVER_CODES and not _is_refused(f))
        ),
        Advice(
            "Provider error",
            retryable=True,
            guidance="The provider failed by itself. Try again in a moment.",
        ),
    ),
    (
        lambda f: f.status == _NOT_FOUND,
        Advice(
            "Not found",
            retryable=False,
            guidance="The provider does not know this model or address, or this key may not use "
            "it. Check the name.",
        ),
    ),
    (
        lambda f: f.status == _TOO_EARLY,
        Advice("Too early", retryable=True, guidance="Try again in a moment."),
    ),
    (
        _is_refused,
        Advice(
            "Request refused",
            retryable=False,
            guidance="The provider does not take this request as it is; the message says why. "
            "Sending it again will not help.",
        ),
    ),
)
_UNKNOWN = Advice(
    "Turn failed",
    retryable=None,
    guidance="The message says what is known. Trying again may help.",
)

ALL_ADVICE = (*(advice for _, advice in _RULES), _UNKNOWN)
"""All that `advise` ever returns, in the order in which it looks."""


def advise(failure: FailureDetail) -> Advice:
    """Return what to make of `failure`. The first rule that fits counts.

    >>> from compass_agent.errors import advise, describe_failure
    >>> advise(describe_failure(ConnectionRefusedError())).title
    'Connection lost'
    """
    text = failure.message[:_HEAD]
    # Code or text tell it on the wire, where no status does.
    lost = failure.status is None and (
        failure.code == NO_ANSWER_CODE or text.startswith(NO_ANSWER_TEXT)
    )
    facts = _Facts(
        status=0 if lost else failure.status,
        code=_NOT_ALPHANUMERIC.sub("", (failure.code or "").lower()),
        text=text,
        waits=failure.retry_after_s is not None,
    )
    return next((advice for fits, advice in _RULES if fits(facts)), _UNKNOWN)
