"""The HTTP statuses that providers document for their codes, and the names of statuses."""

from __future__ import annotations

__all__ = ("documented_status", "status_phrase")

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
