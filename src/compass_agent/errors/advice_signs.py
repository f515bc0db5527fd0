"""The words and codes by which the advice for a failure knows what it is."""

from __future__ import annotations

__all__ = (
    "BUDGET_CODES",
    "DENIED_CODES",
    "FILTER_CODES",
    "KEY_CODES",
    "LIMIT_CODES",
    "OVERFLOW_CODES",
    "OVERLOAD_CODES",
    "SERVER_CODES",
    "says_days",
    "says_exhausted",
    "says_filtered",
    "says_key",
    "says_limited",
    "says_lost",
    "says_many",
    "says_minutes",
    "says_misconfigured",
    "says_overflows",
    "says_overloaded",
    "says_quota",
    "says_surely_limited",
    "says_surely_overflows",
    "says_timed_out",
    "says_too_large",
    "says_waiting",
)

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def _said(pattern: str) -> Callable[[str], bool]:
    # Compiled at the first use, and kept by `re`: importing this must cost nothing.
    return lambda text: re.search(pattern, text, re.IGNORECASE) is not None


says_overflows = _said(
    r"prompt is too long|context (?:length|window)|maximum context|context_length|"
    r"input is too long|too many (?:input )?tokens|"
    r"exceeds? the (?:maximum|model'?s?) .{0,40}tokens?|input token count .{0,40}exceeds|"
    r"reduce the length of the messages|prompt too large|available context size"
)
# Of its own failures a server says this rather than of a request: "too many tokens in bucket".
says_surely_overflows = _said(r"context (?:length|window|size)|maximum context|context_length")
says_exhausted = _said(
    r"credit balance|insufficient (?:balance|credits?|funds|quota)|billing (?:hard )?limit|"
    r"\bpayment required|out of credits|add (?:[0-9]+ |more )?credits|purchase (?:more )?credits|"
    r"per-day\b|usage limit (?:has been )?reached|spend(?:ing)? limit|arrears|monthly limit|"
    r"reached your .{0,20}usage limits?|exhausted balance|have any credits|insufficient credit|"
    r"out of call volume quota|exceeds the service quota"
)
says_many = _said(r"too many (?:input )?tokens")
says_quota = _said(
    r"exceeded your current quota|quota exceeded|quota .{0,20}exhausted|reached its quota|"
    r"check your plan and billing"
)
# A window of a minute opens again by itself; one of a day, as good as never.
says_minutes = _said(r"per[ _-]?(?:minute|min|second|sec|hour)\b|per_minute|per_second|per_hour")
says_days = _said(r"(?:tokens|requests|quota) ?per[ _-]?(?:day|month)|per_day|per_month")
says_waiting = _said(r"per[ _-]?(?:minute|min|day)\b|please wait|throttl|try again")
says_too_large = _said(r"request too large|reduce your (?:message|prompt)|tokens must be reduced")
says_limited = _said(r"rate.?limit|too many requests|throttl|slow down")
# Of a request that is refused for what it holds, "rate limit" may be the name of a field.
says_surely_limited = _said(
    r"rate.?limit(?:ed|ing)?(?: (?:is|was|has been))?(?: (?:reached|exceeded|hit|error)|[:.!]|\Z)|"
    r"(?:exceed(?:ed|s)?|hit|reached|over) (?:the|your|a|our) .{0,30}rate.?limit|"
    r"too many requests|throttled|throttling|slow down"
)
says_key = _said(
    r"api[ _-]?key (?:not valid|is invalid|expired|not found)|invalid (?:api|x-api)[ _-]?key|"
    r"incorrect api key|expired key|authentication error|invalid authentication|"
    r"token (?:has )?expired|no api key|invalid bearer token|"
    r"unable to locate credentials|could not (?:load|find) (?:the )?(?:default )?credentials|"
    r"(?:api[ _]?key|access[ _]?token|credentials)\b.{0,30}(?:is|are) not (?:set|configured)"
)
says_overloaded = _said(r"overloaded|capacity exceeded|high demand|engine is currently")
says_misconfigured = _said(
    r"unsupported protocol|invalid url|no (?:host|scheme) supplied|certificate[ _]verify[ _]failed|"
    r"self.signed certificate|illegal header|local ?protocol"
)
says_timed_out = _said(r"timed? ?out|timeout|stalled while waiting|deadline exceeded")
says_lost = _said(
    r"connection|connect to|econn(?:refused|reset|aborted)|enotfound|eai_again|socket|"
    r"terminated\Z|network|fetch failed|name or service not known|stream ended before|"
    r"premature(?:ly)? (?:close|end)|ended premature|broken ?pipe|disconnected|no route to host|"
    r"host is (?:down|unreachable)|eof occurred|unexpected eof|incomplete ?read|\[ssl\b|"
    r"no responders|"
    # What has no text of its own is told by the name of its class.
    r"\A(?:read|write|close|protocol|proxy|ssl|brokenresource|endofstream|transport|\w{0,40}"
    r"connect(?:ion)?\w{0,40}|badstatusline|urlerror|gaierror|herror)(?:error)?\Z"
)
says_filtered = _said(
    r"content.?filter|content management policy|refusal|flagged|safety|blocked by"
)

OVERFLOW_CODES = frozenset(
    {
        "contextlengthexceeded",
        "contextwindowexceeded",
        "exceedcontextsizeerror",
        "modelcontextwindowexceeded",
    }
)
BUDGET_CODES = frozenset(
    {
        "insufficientquota",
        "billingerror",
        "billinghardlimitreached",
        "insufficientbalance",
        "paymentrequired",
        "budgetexceeded",
        "usagelimitreached",
        "servicequotaexceeded",
        "servicequotaexceededexception",
    }
)
KEY_CODES = frozenset(
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
DENIED_CODES = frozenset(
    {"permissionerror", "permissiondenied", "accessdeniedexception", "forbidden"}
)
LIMIT_CODES = frozenset(
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
OVERLOAD_CODES = frozenset(
    {"overloadederror", "serverisoverloaded", "engineoverloaded", "unavailable"}
)
FILTER_CODES = frozenset({"contentfilter", "contentpolicyviolation"})
SERVER_CODES = frozenset(
    {"servererror", "apierror", "internalservererror", "internal", "streamcut"}
)
