"""Says what a failure is, for a person and for a program: text, status, wait, code, request id.

Takes whatever there is: an exception, an HTTP answer, a body, an agent's text. Never raises, and
never shows a repr, a header or a secret.
"""

from __future__ import annotations

__all__ = ("describe_failure",)

import json
import math
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from compass_agent.errors.advice import NO_ANSWER_CODE, NO_ANSWER_TEXT, advise
from compass_agent.errors.agent_text import read_agent_text
from compass_agent.errors.bodies import body_text
from compass_agent.errors.detail import FailureDetail
from compass_agent.errors.exceptions import Raised, causes, read_exception
from compass_agent.errors.groups import is_group, leaves, of_failures
from compass_agent.errors.internals import GROUP, without_internals
from compass_agent.errors.javascript import answer_in
from compass_agent.errors.payload import Reading, read_text, read_value, status_of
from compass_agent.errors.redaction import redact
from compass_agent.errors.retry import header_fields, retry_after_seconds, wait_after
from compass_agent.errors.shapes import (
    capped,
    is_object,
    parsed_json,
    plain_bytes,
    valid_text,
    word,
)
from compass_agent.errors.statuses import documented_status, status_phrase, told_status
from compass_agent.errors.streams import looks_streamed, read_stream

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_NOTHING_SAID = "No reason was given"
_LARGEST_TEXT = 262_144
_LONGEST_CODE = 120
_LONGEST_WAIT = 86_400.0
_ANSWER_KEYS = frozenset({"body", "headers", "transport"})
_STREAMS = frozenset({"sse", "stream", "ndjson", "jsonl"})
_REQUEST_ID_HEADERS = (
    "x-request-id",
    "request-id",
    "x-amzn-requestid",
    "x-amzn-request-id",
    "x-amz-request-id",
    "apim-request-id",
    "x-ms-request-id",
    "x-goog-request-id",
    "x-groq-request-id",
    "x-debug-trace-id",
    "x-correlation-id",
    "mistral-correlation-id",
    "x-generation-id",
    "x-litellm-call-id",
)
_CODE_HEADERS = (":exception-type", ":error-code", "x-amzn-errortype")
_ID_IN_TEXT = re.compile(
    r"\brequest[ _-]?id[\"']?(?: is)?(?:[:=]\s{0,3}|\s{1,3})[\"']?([A-Za-z0-9_-]{8,64})",
    re.IGNORECASE,
)
# Where a failed connection should have gone is the host's own business.
_ADDRESS = re.compile(r"(?<![\w.])(?:[0-9]{1,3}\.){3}[0-9]{1,3}(?![\w.]*[0-9])(?::[0-9]{1,5})?")
_HEAD = 4096
_HOLDS_WORDS = re.compile(r"\"[^\"]*[A-Za-z]{2}[^\"]*\"\s*:\s*(?:\"[^\"]|[0-9])")
_RATE_LIMIT = re.compile(r"rate.?limit|too many requests|quota", re.IGNORECASE)


def describe_failure(x: object, secrets: Iterable[str] = ()) -> FailureDetail:
    """Return what the failure `x` says. Never raises.

    Args:
        x: An exception; a mapping with `status`, `headers`, `body`, `transport` (and perhaps `now`)
            that is an answer; a mapping or list that is a body; a text, as agents give it.
        secrets: Values that must not appear in the result.

    >>> from compass_agent.errors import describe_failure
    >>> told = describe_failure("429 Rate limit reached. Try again in 9.816s")
    >>> told.message, told.status, told.retry_after_s
    ('Rate limit reached. Try again in 9.816s', 429, 9.816)
    """
    secrets = tuple(secrets)
    try:
        if isinstance(x, BaseException):
            return _of_exception(x, secrets)
        x = plain_bytes(x)
        if isinstance(x, bytes | bytearray):
            x = body_text(x, {})
        if (isinstance(x, str) or is_object(x)) and (answer := answer_in(x)) is not None:
            return _of_answer(answer, secrets)
        if isinstance(x, str):
            return _of_agent_text(x, secrets)
        if is_object(x) and not _ANSWER_KEYS.isdisjoint(x):
            return _of_answer(x, secrets)
        reading = read_value(x)
        _complete_status(reading)
        return _detail(reading, retry_after_seconds(None, x), secrets)
    except Exception as error:  # noqa: BLE001 - a failure must be told even when reading it fails
        return FailureDetail(f"{_NOTHING_SAID} ({type(error).__name__} while reading it)")


def _of_agent_text(text: str, secrets: tuple[str, ...]) -> FailureDetail:
    said = read_agent_text(valid_text(body_text(text, {})))
    if not (said.reading.message or said.reading.codes or said.reading.status):
        # JSON that says nothing for a person is still more than nothing.
        said.reading.message = said.whole if _HOLDS_WORDS.search(said.whole[:_HEAD]) else ""
    return _detail(said.reading, said.retry_after_s, secrets)


def _of_answer(answer: Mapping[str, object], secrets: tuple[str, ...]) -> FailureDetail:
    transport, body = word(answer.get("transport")), answer.get("body")
    fields = header_fields(answer.get("headers"))
    body = plain_bytes(body)
    if isinstance(body, bytes | bytearray | str):
        body = body_text(body, fields)
    reading = _read_body(body, streamed=transport in _STREAMS)
    for name in _CODE_HEADERS:
        # AWS appends a namespace or a link behind a colon.
        code = fields.get(name, "").partition(":")[0]
        reading.fill(Reading(codes=[code] if code else []))
    reading.message = reading.message or fields.get(":error-message", "")
    status = status_of(answer.get("status"))
    if status is None and transport == "exception":
        status = 0
    if status is not None:
        reading.status = status
    _complete_status(reading)
    reading.request_id = _header_id(fields) or reading.request_id
    wait = _wait(reading, answer.get("headers"), body, answer.get("now"))
    return _detail(reading, wait, secrets, hidden=reading.status == 0)


def _complete_status(reading: Reading) -> None:
    """Give a reading without a status the one that belongs to its code, or that its text tells."""
    if reading.status is None:
        reading.status = documented_status(reading.codes)
    if reading.status is None:
        reading.status = told_status(reading.message)


def _read_body(body: object, *, streamed: bool) -> Reading:
    if isinstance(body, str):
        body = valid_text(body)
        # A failure that came before a stream is one JSON value, as for any other answer.
        whole = _whole_json(body)
        if whole is not None:
            return read_value(whole)
        return read_stream(body) if streamed or looks_streamed(body) else read_text(body)
    return read_value(body)


def _whole_json(body: str) -> object:
    """Return the JSON value that `body` is: an object, a list, or a text, which null is too."""
    value = parsed_json(body)
    if value is not None or body.strip()[:1] not in ('"', "n"):
        return value
    try:
        said: object = json.loads(body)
    except ValueError:
        return None
    return "" if said is None else said


def _header_id(fields: Mapping[str, str]) -> str | None:
    return next((fields[name] for name in _REQUEST_ID_HEADERS if fields.get(name)), None)


def _wait(reading: Reading, headers: object, body: object, now: object) -> float | None:
    limited = _RATE_LIMIT.search(reading.message[: _LONGEST_CODE * 8]) is not None
    return wait_after(reading.status, headers, body, now, limited=limited)


def _of_exception(error: BaseException, secrets: tuple[str, ...]) -> FailureDetail:
    details = [_of_chain(leaf, secrets) for leaf in of_failures(leaves(error))]
    first = details[0]
    if len(details) == 1:
        return first
    status = next((d.status for d in details if d.status is not None), None)
    return FailureDetail(
        message=capped("; ".join(dict.fromkeys(d.message for d in details))),
        status=status,
        retry_after_s=next((d.retry_after_s for d in details if d.retry_after_s is not None), None),
        code=next((d.code for d in details if d.code), None),
        request_id=next((d.request_id for d in details if d.request_id), None),
    )


def _of_chain(error: BaseException, secrets: tuple[str, ...]) -> FailureDetail:
    """Describe an exception by the first in its chain of causes that a provider answered."""
    links = causes(error)
    chain = [read_exception(link) for link in links]
    outer = chain[0]
    if GROUP.search(outer.reading.message):
        outer.reading.message = _ungrouped(outer.reading.message, links)
    source = next((link for link in chain if link.told), None)
    source = source or next((link for link in chain if link.no_answer), None)
    source = source or next((link for link in chain if link.named_status), outer)
    reading = Reading()
    reading.fill(source.reading)
    if source is not outer:
        reading.message = _joined(outer.reading.message, source.reading.message)
    elif outer.no_answer and len(chain) > 1:
        reading.message = _joined(outer.reading.message, chain[-1].reading.message)
    reading.status = _chain_status(source)
    reading.request_id = _header_id(header_fields(source.headers)) or reading.request_id
    own = next((link.retry_after_s for link in chain if link.retry_after_s is not None), None)
    wait = _wait(reading, source.headers, _with_text(source), None) if own is None else own
    return _detail(reading, wait, secrets, hidden=reading.status == 0)


def _ungrouped(message: str, links: list[BaseException]) -> str:
    """Return the text of what was raised from a group, with what the group holds."""
    group = next((link for link in links if is_group(link)), None)
    if group is None:
        return message
    held = [read_exception(leaf).reading.message for leaf in of_failures(leaves(group))]
    whole = "; ".join(dict.fromkeys(held))
    return GROUP.sub(lambda _: whole, message)


def _with_text(source: Raised) -> object:
    return source.reading.message if source.body is None else source.body


def _chain_status(source: Raised) -> int | None:
    status = source.reading.status
    if status is not None and status_of(status) is not None:
        return status
    if source.no_answer:
        return 0
    documented = documented_status(source.reading.codes)
    return source.named_status if documented is None else documented


def _joined(outer: str, inner: str) -> str:
    if not inner or inner in outer:
        return outer
    return inner if outer in inner else f"{outer.rstrip(' .:')}: {inner}"


def _detail(
    reading: Reading, wait: float | None, secrets: tuple[str, ...], *, hidden: bool = False
) -> FailureDetail:
    """Clean what was read; `hidden`: addresses in the text are masked."""
    message, more = _bounded(valid_text(reading.message).strip())
    message = redact(without_internals(message), secrets)
    if hidden:
        message = _ADDRESS.sub("[address]", message)
    code = _identifier(reading.codes[0] if reading.codes else "", secrets)
    request_id = reading.request_id or ""
    if not request_id and (found := _ID_IN_TEXT.search(message)):
        request_id = found[1]
    detail = FailureDetail(
        message=capped(message, more=more),
        status=reading.status,
        retry_after_s=wait if wait is None or math.isfinite(wait) else None,
        code=code or None,
        request_id=_identifier(request_id, secrets) or None,
    )
    if detail.retry_after_s is not None:
        detail = replace(detail, retry_after_s=min(max(detail.retry_after_s, 0.0), _LONGEST_WAIT))
    detail = detail if detail.message else replace(detail, message=_fallback(detail))
    return _with_lost(detail) if hidden else detail


def _with_lost(detail: FailureDetail) -> FailureDetail:
    """Let a failure without an answer say so by more than its status 0, which no frame has.

    What was said stays as it is, when a code can tell it.
    """
    if advise(detail) == advise(replace(detail, status=None)):
        return detail
    if detail.code is None:
        return replace(detail, code=NO_ANSWER_CODE)
    return replace(detail, message=capped(f"{NO_ANSWER_TEXT}{detail.message}"))


def _identifier(text: str, secrets: tuple[str, ...]) -> str:
    # Cut last: half of a secret is one that nothing knows.
    return redact(valid_text(text[:_HEAD].strip()), secrets)[:_LONGEST_CODE]


def _bounded(text: str) -> tuple[str, int]:
    """Return the head of a huge text and the number of bytes behind it."""
    if len(text) <= _LARGEST_TEXT:
        return text, 0
    return text[:_LARGEST_TEXT], len(text[_LARGEST_TEXT:].encode())


def _fallback(detail: FailureDetail) -> str:
    if detail.status:
        return f"HTTP {detail.status} {status_phrase(detail.status)}".strip()
    return detail.code or _NOTHING_SAID
