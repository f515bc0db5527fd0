"""Finds the human text, the codes, the status and the request id in what a provider sent.

Bodies come as JSON of a dozen shapes, JSON inside JSON, Python reprs of JSON, HTML, XML or plain
text. Whatever it is, reading it never raises and never gives a repr of it.
"""

from __future__ import annotations

__all__ = ("Reading", "read_text", "read_value", "status_of")

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from compass_agent.errors.embedded import cut_object, embedded_object
from compass_agent.errors.markup import markup_text
from compass_agent.errors.shapes import as_list, as_object, is_list, is_object, parsed_json, word

if TYPE_CHECKING:
    from collections.abc import Mapping

_DEEPEST = 8
_MOST_ISSUES = 8
_MOST_MEMBERS = 64
_WRAPPER = re.compile(r"(?:error|exception|fault|failure|cause)s?\Z", re.IGNORECASE)
_CODE = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{1,79}")
_STATUS = range(400, 600)
_MESSAGE_KEYS = (
    "message",
    "Message",
    "errorMessage",
    "error_message",
    "error_description",
    "msg",
    "detail",
    "details",
    "description",
    "reason",
    "title",
    "text",
    "faultstring",
    "status_msg",
)
_ERROR_KEYS = ("error", "Error", "errors", "response", "exception", "fault", "base_resp")
_STATUS_KEYS = ("status", "statusCode", "status_code", "http_status", "raw_status_code", "code")
_REQUEST_ID_KEYS = ("request_id", "requestId", "RequestId", "x-request-id")
# Words that say no more than that it is an error.
_EMPTY_CODES = frozenset({"error", "unknown", "none", "null", "exception"})
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
# Routers that hide the provider's own words behind this.
_ROUTED = "provider returned error"


@dataclass(slots=True)
class Reading:
    """What was found; `codes` begins with the most telling one."""

    message: str = ""
    codes: list[str] = field(default_factory=list)
    status: int | None = None
    request_id: str | None = None

    def fill(self, other: Reading) -> None:
        """Take from `other` what is missing here."""
        self.message = self.message or other.message
        self.codes += [code for code in other.codes if code not in self.codes]
        self.status = other.status if self.status is None else self.status
        self.request_id = self.request_id or other.request_id


def status_of(value: object) -> int | None:
    """Return `value` when it is, or spells, an HTTP status of a failure."""
    if isinstance(value, str):
        value = int(value) if len(value) == 3 and value.isascii() and value.isdigit() else None  # noqa: PLR2004 - three digits
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if value in _STATUS else None


def read_text(text: str, depth: int = 0) -> Reading:
    """Read a body or a message that is text of any kind."""
    text = text.strip()
    if depth > _DEEPEST or not text:
        return Reading(message=text)
    value = parsed_json(text)
    if value is not None:
        return read_value(value, depth + 1)
    marked_up = markup_text(text)
    if marked_up is not None:
        message, code, request_id = marked_up
        return Reading(message, [code] if code else [], request_id=request_id or None)
    found = embedded_object(text)
    if found is not None:
        reading = read_value(found.value, depth + 1)
        if reading.message or found.alone:
            reading.fill(Reading(status=found.status))
            return reading
    cut = cut_object(text)
    return Reading(message=text) if cut is None else read_value(cut, depth + 1)


def read_value(value: object, depth: int = 0) -> Reading:
    """Read what JSON made of a body."""
    if depth > _DEEPEST:
        return Reading()
    if isinstance(value, str):
        return read_text(value, depth + 1)
    if is_list(value):
        return _read_list(value, depth)
    return _read_object(value, depth) if is_object(value) else Reading()


def _read_list(items: list[object] | tuple[object, ...], depth: int) -> Reading:
    """Read a list of errors, or of what is wrong with a request."""
    readings = [read_value(item, depth + 1) for item in items[:_MOST_ISSUES]]
    told = [reading for reading in readings if reading.message]
    if not told:
        return readings[0] if readings else Reading()
    first = told[0]
    messages = dict.fromkeys(reading.message for reading in told)
    first.message = "; ".join(messages)
    return first


def _read_object(value: Mapping[str, object], depth: int) -> Reading:
    reading = Reading()
    # OpenRouter tells a failure of the provider in the choice that it ended.
    choices = (as_object(choice).get("error") for choice in as_list(value.get("choices"))[:1])
    for inner in (*(value.get(key) for key in _ERROR_KEYS), *choices):
        if is_object(inner) or is_list(inner):
            reading.fill(read_value(inner, depth + 1))
    if not reading.message:
        reading.fill(_message_of(value, depth))
    if not reading.message:
        reading.fill(_wrapped(value, depth))
    _read_codes(value, reading)
    reading.request_id = reading.request_id or _request_id(value)
    routed = as_object(value.get("metadata")).get("raw")
    if reading.message.lower() == _ROUTED and (isinstance(routed, str) or is_object(routed)):
        hidden = read_value(routed, depth + 1)
        hidden.fill(reading)
        return hidden
    return reading


def _message_of(value: Mapping[str, object], depth: int) -> Reading:
    for key in _MESSAGE_KEYS:
        said = value.get(key)
        if isinstance(said, str) and said.strip():
            inner = read_text(said, depth + 1)
            if not inner.message and parsed_json(said):
                # JSON of a shape that nobody knows: it is all that was said.
                inner.message = said.strip()
            return inner
        if (is_object(said) or is_list(said)) and key in ("message", "detail"):
            inner = read_value(said, depth + 1)
            if inner.message:
                return inner
    error = value.get("error")
    return read_text(error, depth + 1) if isinstance(error, str) else Reading()


def _wrapped(value: Mapping[str, object], depth: int) -> Reading:
    """Read what gateways wrap a provider's error in, such as `external_model_error`."""
    for key, inner in list(value.items())[:_MOST_MEMBERS]:
        if _WRAPPER.search(str(key)) and (is_object(inner) or is_list(inner)):
            reading = read_value(inner, depth + 1)
            if reading.message:
                return reading
    return Reading()


def _read_codes(value: Mapping[str, object], reading: Reading) -> None:
    found = Reading(codes=_detail_codes(value))
    said = (
        value.get("code"),
        value.get("Code"),
        value.get("error_code"),
        value.get("errorCode"),
        value.get("errorcode"),
        as_object(value.get("metadata")).get("error_type"),
    )
    kinds = (value.get("type"), value.get("status"), value.get("error"), value.get("__type"))
    for word_said in (*said, *kinds):
        # AWS: "com.amazon.coral.service#ThrottlingException".
        code = word(word_said).rpartition("#")[2]
        if _CODE.fullmatch(code) and code.lower() not in _EMPTY_CODES and code != reading.message:
            found.codes.append(code)
    for key in _STATUS_KEYS:
        found.status = status_of(value.get(key)) if found.status is None else found.status
    reading.fill(found)


def _detail_codes(value: Mapping[str, object]) -> list[str]:
    """Return what Google's error details name: an exhausted daily quota, a reason."""
    details = [as_object(item) for item in as_list(value.get("details"))]
    codes: list[str] = []
    for detail in details:
        for violation in as_list(detail.get("violations")):
            quota = word(as_object(violation).get("quotaId"))
            if "perday" in quota.lower():
                codes.append(quota)
    codes += [reason for d in details if _CODE.fullmatch(reason := word(d.get("reason")))]
    return codes


def _request_id(value: Mapping[str, object]) -> str | None:
    for key in _REQUEST_ID_KEYS:
        said = word(value.get(key))
        if said:
            return said
    # Without an envelope the body's own id is the request's.
    own = word(value.get("id"))
    return own if _UUID.fullmatch(own) and "message" in value else None
