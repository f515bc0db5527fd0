"""What an HTTP service's answer means, for clients and for tools that call one.

The texts name what a user can set: the variable with the key, the variable with the URL. They hold
nothing of the answer's body and nothing secret of the URL.
"""

from __future__ import annotations

__all__ = ("ApiError", "format_tool_error", "map_http_status_to_error", "map_network_error")

import math
from typing import TYPE_CHECKING

from compass_agent.errors.engines import is_no_answer
from compass_agent.errors.exceptions import causes, read_exception
from compass_agent.errors.foreign import own_body, said
from compass_agent.errors.groups import leaves
from compass_agent.errors.payload import read_value
from compass_agent.errors.redaction import redact
from compass_agent.errors.retry import wait_after
from compass_agent.errors.shapes import capped, valid_text
from compass_agent.errors.statuses import status_phrase
from compass_agent.errors.urls import without_user_info

if TYPE_CHECKING:
    from collections.abc import Iterable

_REDIRECT = 300
_UNAUTHORIZED = 401
_NOT_FOUND = 404
_TOO_MANY = 429
_SERVER = 500
_LARGEST_TEXT = 262_144
_LONGEST_URL = 4096
_LONGEST_PHRASE = 200


class ApiError(Exception):
    """A call of an HTTP service failed.

    Attributes:
        status_code: The HTTP status; 0 when there was no answer.
        code: UNAUTHORIZED, NOT_FOUND, RATE_LIMITED, SERVER_ERROR, API_ERROR or CONNECTION_ERROR.
        message: What happened and what can be done, for a person.
        retry_after_s: Seconds that the service asks to wait, when known.
    """

    def __init__(
        self, status_code: int, code: str, message: str, retry_after_s: float | None = None
    ) -> None:
        super().__init__(message)
        self.status_code = status_code
        self.code = code
        self.message = message
        self.retry_after_s = retry_after_s

    def __reduce__(self) -> tuple[type[ApiError], tuple[int, str, str, float | None]]:
        """Return what copies and pickles are made from."""
        return type(self), (self.status_code, self.code, self.message, self.retry_after_s)


def map_http_status_to_error(
    status: int,
    headers: object = None,
    *,
    service: str,
    key_var: str,
    reason: str | bytes | None = "",
    body: object = None,
    now: object = None,
) -> ApiError:
    """Return the error for a failed answer.

    Args:
        status: The answer's status.
        headers: Its headers, a mapping or pairs; they may ask to wait.
        service: The service's name, for the text.
        key_var: The name of the variable with the key, for the text.
        reason: The answer's reason phrase; when it is empty, the one that belongs to the status.
        body: Its body, in which it may ask to wait.
        now: The moment of the answer, as for `retry_after_seconds`.
    """
    wait = wait_after(status, headers, body, now)
    phrase = _phrase(reason) or status_phrase(status)
    if status == _UNAUTHORIZED:
        code = "UNAUTHORIZED"
        text = f"Unauthorized: Invalid or expired API key. Check your {key_var} configuration."
    elif status == _NOT_FOUND:
        code, text = "NOT_FOUND", "Not found: The requested resource does not exist."
    elif status == _TOO_MANY:
        code, text = "RATE_LIMITED", "Rate limited: Too many requests."
        if wait is not None:
            text += f" Retry after {math.ceil(wait)} seconds."
    elif status >= _SERVER:
        code = "SERVER_ERROR"
        text = f"{service} server error: {phrase or status}. Please try again later."
    else:
        code, text = "API_ERROR", f"{service} API error: {status} {phrase}".rstrip()
    return ApiError(status, code, text, wait)


def map_network_error(
    error: BaseException, url: object, *, service: str, key_var: str, url_var: str
) -> ApiError | None:
    """Return the error for an exception of an HTTP library; None when it tells of something else.

    Any library: exceptions are known by the names of their classes and by their causes. One that
    holds an answer gives the error for that answer.

    Args:
        error: What the call raised.
        url: Where it went; user info, query and fragment are left out of the text.
        service: The service's name, for the text.
        key_var: The name of the variable with the key, for the text.
        url_var: The name of the variable with the URL, for the text.
    """
    if isinstance(error, ApiError):
        return error
    chain = [link for leaf in leaves(error) for link in causes(leaf)]
    for link in chain:
        raised = read_exception(link)
        # A code below is no failure of an answer: it is the library's own number, or a good answer.
        if (raised.reading.status or 0) >= _REDIRECT:
            found = map_http_status_to_error(
                raised.reading.status or 0,
                raised.headers,
                service=service,
                key_var=key_var,
                body=raised.body,
            )
            break
        if is_no_answer(link):
            place = redact(_place(str(url)))
            found = ApiError(
                0,
                "CONNECTION_ERROR",
                f"Cannot connect to {service} at {place}. Check {url_var} configuration.",
            )
            break
    else:
        return None
    found.__cause__ = error
    return found


def format_tool_error(error: BaseException, secrets: Iterable[str] = ()) -> dict[str, object]:
    """Return the result of a host's own tool that failed, as the MCP libraries take it.

    Args:
        error: What the tool raised.
        secrets: Values that must not appear.

    Returns:
        `isError` (True), and `content` with one text: the message of an `ApiError`, else
        "Unexpected error: " and the message. Secrets are masked. Of a group all messages are told;
        a group of one counts as the one.
    """
    found = leaves(error)
    if len(found) == 1 and isinstance(found[0], ApiError):
        message = found[0].message
    else:
        message = f"Unexpected error: {'; '.join(dict.fromkeys(map(_said, found)))}"
    head = valid_text(message[:_LARGEST_TEXT])
    text = capped(redact(head, secrets), more=max(0, len(message) - _LARGEST_TEXT))
    return {"isError": True, "content": [{"type": "text", "text": text}]}


def _said(error: BaseException) -> str:
    if isinstance(error, ApiError):
        return error.message
    body = own_body(error)
    return said(error) if body is None else read_value(body).message or type(error).__name__


def _place(url: str) -> str:
    """Return `url` without user info, query and fragment, in one line."""
    url = "".join(valid_text(url[:_LONGEST_URL]).split())
    scheme, mark, rest = url.partition("://")
    if not mark:
        mark = "//" if url.startswith("//") else ""
        scheme, rest = "", url.removeprefix("//")
    place, _ = without_user_info(rest)
    return f"{scheme}{mark}{place.partition('?')[0].partition('#')[0]}"


def _phrase(reason: str | bytes | None) -> str:
    """Return what a server put behind its status, in one line and without secrets."""
    if isinstance(reason, bytes | bytearray):
        reason = reason.decode(errors="replace")
    reason = reason if isinstance(reason, str) else ""
    plain = "".join(letter if letter.isprintable() else " " for letter in reason[:_LONGEST_URL])
    phrase = redact(" ".join(plain.split()))
    return phrase if len(phrase) <= _LONGEST_PHRASE else f"{phrase[:_LONGEST_PHRASE]}…"
