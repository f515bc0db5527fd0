"""The HTTP statuses that providers document for their codes or that texts tell, and their names."""

from __future__ import annotations

__all__ = ("counts_something", "documented_status", "status_phrase", "told_status")

import re

# One failure has one status, whether it came before the stream or in it.
_STATUSES = {
    400: "invalidrequest invalidargument validation badrequest contextlengthexceeded "
    "contextwindowexceeded invalidprompt contentfilter failedprecondition outofrange "
    "servicequotaexceeded",
    401: "authentication unauthenticated invalidapikey unauthorized",
    402: "billing",
    403: "permission permissiondenied accessdenied forbidden",
    404: "notfound resourcenotfound modelnotfound",
    408: "modeltimeout requesttimeout",
    413: "requesttoolarge",
    424: "modelstream",
    429: "ratelimit ratelimited ratelimitexceeded insufficientquota resourceexhausted throttling "
    "toomanyrequests modelnotready quotaexceeded",
    500: "api server internalserver internal internalfailure servererror",
    503: "serviceunavailable unavailable serverisoverloaded slowdown engineoverloaded",
    504: "timeout deadlineexceeded",
    529: "overloaded",
}
_BY_CODE = {code: status for status, codes in _STATUSES.items() for code in codes.split()}
_SUFFIX = re.compile(r"(?:error|exception|err)+\Z")
_NOT_LETTERS = re.compile(r"[^a-z]+")
_PHRASES = {
    520: "Web Server Returned an Unknown Error",
    521: "Web Server Is Down",
    522: "Connection Timed Out",
    523: "Origin Is Unreachable",
    524: "A Timeout Occurred",
    529: "Overloaded",
}


_HEAD = 2048
_NUMBER = r"(?P<status>[45][0-9]{2})(?![0-9]|[.,:][0-9]|%)"
# What says by itself that the number behind it is a status.
_NAMED = re.compile(
    rf"\b(?<!exit )(?:status(?:[ _-]?code)?[\"']?(?: (?:is|was|of))?[ :=]{{1,3}}"
    rf"|http(?:/[0-9](?:\.[0-9])?)?(?: (?:error|status|code))?[ :]{{1,2}}){_NUMBER}",
    re.IGNORECASE,
)
# What says so only where nothing is counted behind it.
_LED = re.compile(
    rf"(?:\A(?:[a-z]+[ ]?)?error(?: code)?(?:: ?| )|\berror code:? "
    rf"|\b(?:returned|responded with|answered|received|got)(?: an?)?(?: error)? ){_NUMBER}",
    re.IGNORECASE,
)
# The number with its own name: "[429 Too Many Requests]", "401 Client Error".
_WITH_NAME = re.compile(r"(?<![\w.])(?P<status>[45][0-9]{2}) (?P<name>[A-Z][A-Za-z' -]{3,40})")
_CLASSES = ("client error", "server error")
_ENDS = re.compile(r"\s*(?:\Z|[:;.)\]}({\[<\"'-])")
_COUNTED = re.compile(r"[ ](?:[a-z]+[ ])?([A-Za-z]+)")
_UNITS_TEXT = (
    "bytes characters chars commits connections days documents edits entries errors events "
    "examples failed failures files frames functions hours images items jobs keys kb lines "
    "links matches mb messages minutes ms objects of pages passed people percent pixels "
    "points prompts records repositories requests results retries rows samples seconds "
    "sessions steps tasks tests times tokens tools turns units users values warnings words "
    "years"
)
_UNITS = frozenset(_UNITS_TEXT.split())


def counts_something(text: str, at: int) -> bool:
    """Tell whether the number that ends at `at` counts what follows: "404 lines"."""
    words = _COUNTED.match(text, at)
    if words is None:
        return False
    return not _UNITS.isdisjoint(words[0].lower().split())


def told_status(text: str) -> int | None:
    """Return the status of a failure that a text tells as such; None when it tells none.

    "status code 429", "HTTP 503", "[429 Too Many Requests]", "Error: 503 Overloaded"; but neither
    "error 404 lines" nor "500 files".
    """
    text = text[:_HEAD]
    for match in _NAMED.finditer(text):
        if not counts_something(text, match.end()):
            return int(match["status"])
    for match in _WITH_NAME.finditer(text):
        name, phrase = match["name"].lower(), status_phrase(int(match["status"])).lower()
        if name.startswith(_CLASSES) or (phrase and name.startswith(phrase)):
            return int(match["status"])
    for match in _LED.finditer(text):
        behind = text[match.end() : match.end() + 2]
        if _ENDS.match(text, match.end()) or (
            behind[1:].isupper() and not counts_something(text, match.end())
        ):
            return int(match["status"])
    return None


def documented_status(codes: list[str]) -> int | None:
    """Return the HTTP status that belongs to the first of `codes` that has one."""
    for code in codes:
        name = _NOT_LETTERS.sub("", code.lower())
        status = _BY_CODE.get(name, _BY_CODE.get(_SUFFIX.sub("", name)))
        if status is not None:
            return status
    return None


def status_phrase(status: int) -> str:
    """Return the name of an HTTP status, such as "Bad Request"; empty when it has none."""
    if status in _PHRASES:
        return _PHRASES[status]
    from http import HTTPStatus  # noqa: PLC0415 - a failure without any text is rare

    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""
