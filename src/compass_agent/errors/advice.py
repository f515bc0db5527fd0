"""What to make of a failure: a title, whether trying again can help, and what to do.

Pure: it is worked out from the failure alone, the same for every reader, and is not on the wire.
"""

from __future__ import annotations

__all__ = ("ALL_ADVICE", "Advice", "advise")

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from compass_agent.errors.failure import FailureDetail

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


def _said(pattern: str) -> Callable[[str], bool]:
    # Compiled at the first use, and kept by `re`: importing this must cost nothing.
    return lambda text: re.search(pattern, text, re.IGNORECASE) is not None


_overflows = _said(
    r"prompt is too long|context (?:length|window)|maximum context|context_length|"
    r"input is too long|too many (?:input )?tokens|"
    r"exceeds? the (?:maximum|model'?s?) .{0,40}tokens?|input token count .{0,40}exceeds|"
    r"reduce the length of the messages|prompt too large|available context size"
)
_exhausted = _said(
    r"credit balance|insufficient (?:balance|credits?|funds|quota)|billing (?:hard )?limit|"
    r"\bpayment required|out of credits|add (?:[0-9]+ |more )?credits|purchase (?:more )?credits|"
    r"per-day\b|usage limit (?:has been )?reached|spend(?:ing)? limit|arrears|monthly limit|"
    r"reached your .{0,20}usage limits?|exhausted balance|have any credits|insufficient credit"
)
_quota = _said(
    r"exceeded your current quota|quota exceeded|quota .{0,20}exhausted|reached its quota|"
    r"check your plan and billing"
)
_too_large = _said(r"request too large|reduce your (?:message|prompt)|tokens must be reduced")
_limited = _said(r"rate.?limit|too many requests|throttl|slow down")
_key = _said(
    r"api[ _-]?key (?:not valid|is invalid|expired|not found)|invalid (?:api|x-api)[ _-]?key|"
    r"incorrect api key|expired key|authentication error|invalid authentication|"
    r"token (?:has )?expired|no api key|invalid bearer token"
)
_overloaded = _said(r"overloaded|capacity exceeded|high demand|engine is currently")
_misconfigured = _said(
    r"unsupported protocol|invalid url|no (?:host|scheme) supplied|certificate verify failed|"
    r"self.signed certificate|illegal header|local ?protocol"
)
_timed_out = _said(r"timed? ?out|timeout|stalled while waiting|deadline exceeded")
_lost = _said(
    r"connection|connect to|econn(?:refused|reset|aborted)|enotfound|eai_again|socket|"
    r"terminated\Z|network|fetch failed|name or service not known|stream ended before|"
    r"premature(?:ly)? (?:close|end)|broken pipe|disconnected"
)
_filtered = _said(r"content.?filter|content management policy|refusal|flagged|safety|blocked by")

_OVERFLOW_CODES = frozenset(
    {
        "contextlengthexceeded",
        "contextwindowexceeded",
        "exceedcontextsizeerror",
        "modelcontextwindowexceeded",
    }
)
_BUDGET_CODES = frozenset(
    {
        "insufficientquota",
        "billingerror",
        "billinghardlimitreached",
        "insufficientbalance",
        "paymentrequired",
        "budgetexceeded",
        "usagelimitreached",
    }
)
_KEY_CODES = frozenset(
    {
        "authenticationerror",
        "invalidapikey",
        "apikeyinvalid",
        "apikeyexpired",
        "unauthenticated",
        "unauthorized",
        "expiredkey",
        "tokennotfoundindb",
        "unrecognizedclientexception",
        "expiredtokenexception",
    }
)
_DENIED_CODES = frozenset(
    {"permissionerror", "permissiondenied", "accessdeniedexception", "forbidden"}
)
_LIMIT_CODES = frozenset(
    {
        "ratelimiterror",
        "ratelimitexceeded",
        "ratelimited",
        "toomanyrequests",
        "requestlimitexceeded",
        "throttling",
        "throttlingexception",
        "throttlingerror",
        "throttlingratequota",
        "resourceexhausted",
        "slowdown",
    }
)
_OVERLOAD_CODES = frozenset(
    {"overloadederror", "serverisoverloaded", "engineoverloaded", "unavailable"}
)
_FILTER_CODES = frozenset({"contentfilter", "contentpolicyviolation"})
_SERVER_CODES = frozenset(
    {"servererror", "apierror", "internalservererror", "internal", "streamcut"}
)


def _is_context(f: _Facts) -> bool:
    return f.code in _OVERFLOW_CODES or (f.status != _TOO_MANY and _overflows(f.text))


def _is_budget(f: _Facts) -> bool:
    if f.status == _UNPAID or f.code in _BUDGET_CODES or "perday" in f.code or _exhausted(f.text):
        return True
    # A provider that names a wait means a window of time, not an account.
    return _quota(f.text) and not f.waits


def _is_limit(f: _Facts) -> bool:
    if f.status in (408, 409, 413) or (f.status is not None and f.status >= _SERVER):
        return False
    return f.status == _TOO_MANY or f.code in _LIMIT_CODES or _limited(f.text)


def _is_overload(f: _Facts) -> bool:
    return (
        f.status == _OVERLOADED
        or f.code in _OVERLOAD_CODES
        or (f.status in (None, 503) and _overloaded(f.text))
    )


def _is_timeout(f: _Facts) -> bool:
    return f.status in (408, 504, 524) or (f.status in (None, 0) and _timed_out(f.text))


_RULES: tuple[tuple[Callable[[_Facts], bool], Advice], ...] = (
    # What the runtime saw of the agent's process comes first: its text ends with the process's own
    # last words, which could look like anything.
    (
        lambda f: f.code == "adapterstartfailed",
        Advice(
            "Could not start",
            retryable=False,
            guidance="Check that the command is there and may be run.",
        ),
    ),
    (
        lambda f: f.code == "adapterexited",
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
        lambda f: _too_large(f.text) or f.status == _TOO_LARGE,
        Advice(
            "Request too large",
            retryable=False,
            guidance="This request alone is over the limit. Send less at once.",
        ),
    ),
    (
        lambda f: f.status == _UNAUTHORIZED or f.code in _KEY_CODES or _key(f.text),
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
        lambda f: f.status == _FORBIDDEN or f.code in _DENIED_CODES,
        Advice(
            "Access denied",
            retryable=False,
            guidance="The key is known but may not do this. Ask for access, or use another model.",
        ),
    ),
    (
        lambda f: f.code in _FILTER_CODES or (f.status in (None, 400) and _filtered(f.text)),
        Advice(
            "Content refused",
            retryable=False,
            guidance="The provider refused the request or the answer for what it holds. Change the "
            "request.",
        ),
    ),
    (
        lambda f: f.status in (None, 0) and _misconfigured(f.text),
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
        lambda f: f.status == 0 or (f.status is None and _lost(f.text)),
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
            or (f.status is not None and f.status >= _SERVER)
            or f.code in _SERVER_CODES
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
        lambda f: f.status is not None and _CLIENT <= f.status < _SERVER,
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
    facts = _Facts(
        status=failure.status,
        code=_NOT_ALPHANUMERIC.sub("", (failure.code or "").lower()),
        text=failure.message[:_HEAD],
        waits=failure.retry_after_s is not None,
    )
    return next((advice for fits, advice in _RULES if fits(facts)), _UNKNOWN)
