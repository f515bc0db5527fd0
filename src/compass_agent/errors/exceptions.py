"""Reads the exceptions of provider libraries by the attributes that they share.

No library is imported. Attributes of any exception may be missing, of any type, or raise.
"""

from __future__ import annotations

__all__ = ("Raised", "causes", "read_exception")

from dataclasses import dataclass, field

from compass_agent.errors.bodies import body_text
from compass_agent.errors.engines import is_lost
from compass_agent.errors.foreign import NO_ANSWER, attribute, called, class_names, own_body
from compass_agent.errors.foreign import said as said_by
from compass_agent.errors.groups import is_group
from compass_agent.errors.payload import Reading, read_text, read_value, status_of
from compass_agent.errors.retry import header_fields
from compass_agent.errors.shapes import as_object, is_list, is_object, plain_bytes, word
from compass_agent.errors.statuses import documented_status, told_status

_MOST_CAUSES = 16
_HTTP_STATUSES = range(100, 600)
_STATUS_NAMES = ("status_code", "http_status", "status", "code")
_BODY_NAMES = ("body", "response_json", "details")
_TEXT_NAMES = ("text", "content", "body")
_CODE_NAMES = ("code", "type", "error_code", "status")


@dataclass(slots=True)
class Raised:
    """What one exception says.

    Attributes:
        reading: Its text, codes, status and request id.
        headers: The answer's headers, of any type.
        body: The answer's body, of any type.
        retry_after_s: What it says itself about the wait.
        no_answer: The connection failed: there was no answer.
        told: It came from a provider: it has a status or a body.
        named_status: The status that only its text tells.
    """

    reading: Reading = field(default_factory=Reading)
    headers: object = None
    body: object = None
    retry_after_s: float | None = None
    no_answer: bool = False
    told: bool = False
    named_status: int | None = None


def causes(error: BaseException) -> list[BaseException]:
    """Return `error` and what it was raised from, outermost first; of a group, what it holds."""
    chain: list[BaseException] = []
    waiting = [error]
    while waiting and len(chain) < _MOST_CAUSES:
        current = waiting.pop(0)
        if any(current is link for link in chain):
            continue
        chain.append(current)
        if is_group(current):
            waiting[:0] = current.exceptions
        following = current.__cause__
        if following is None and not current.__suppress_context__:
            # Raised while another one was handled: wrappers often forget `from`.
            following = current.__context__
        if following is not None:
            waiting.append(following)
    return chain


def read_exception(error: BaseException) -> Raised:
    """Return what `error` itself says, without its causes. Never raises."""
    response = attribute(error, "response")
    headers = _headers(error, response)
    raised = Raised(headers=headers, body=_body(error, response, headers))
    reading = raised.reading
    if raised.body is not None:
        reading.fill(read_value(raised.body))
    for code in _codes(error, response):
        if code not in reading.codes:
            reading.codes.append(code)
    body = own_body(error)
    if body is not None and not reading.message:
        reading.fill(read_value(body))
    own = type(error).__name__ if body is not None else _own_text(error)
    if not reading.message:
        said = read_text(own)
        reading.fill(Reading(message=said.message or own, codes=said.codes, status=said.status))
    status = _status(error, response)
    reading.status = reading.status if status is None else status
    reading.request_id = word(attribute(error, "request_id")) or reading.request_id
    raised.retry_after_s = _retry_after(error)
    raised.told = reading.status is not None or raised.body is not None
    if reading.status is None and documented_status(reading.codes) is None:
        raised.named_status = told_status(reading.message)
    lost = is_lost(error) or not class_names(error).isdisjoint(NO_ANSWER)
    raised.no_answer = reading.status is None and lost
    return raised


def _part(response: object, name: str) -> object:
    """Return what an answer has by that name, as an attribute or, for a mapping, as an item."""
    return response.get(name) if is_object(response) else attribute(response, name)


def _status(error: BaseException, response: object) -> int | None:
    for name in _STATUS_NAMES:
        value = attribute(error, name)
        if isinstance(value, int) and not isinstance(value, bool) and value in _HTTP_STATUSES:
            return int(value)
    metadata = as_object(_part(response, "ResponseMetadata"))
    for value in (
        _part(response, "status_code"),
        _part(response, "status"),
        metadata.get("HTTPStatusCode"),
        attribute(error, "status_code"),
        attribute(error, "http_status"),
    ):
        found = status_of(value)
        if found is not None:
            return found
    return None


def _headers(error: BaseException, response: object) -> object:
    metadata = as_object(_part(response, "ResponseMetadata"))
    for headers in (
        _part(response, "headers"),
        attribute(error, "headers"),
        metadata.get("HTTPHeaders"),
    ):
        if headers:
            return headers
    return None


def _body(error: BaseException, response: object, headers: object) -> object:
    for name in _BODY_NAMES:
        body = attribute(error, name)
        if name == "details" and not is_object(body):
            continue  # Google's Python libraries have a list of notes there
        if body and (is_object(body) or is_list(body)):
            return body
        if text := _readable(body, headers):
            return text
    if is_object(response) and response.get("Error"):
        return response["Error"]
    for name in _TEXT_NAMES:
        body = _part(response, name)
        if is_object(response) and is_object(body) and body:
            return body
        if text := _readable(body, headers):
            return text
    return None


def _readable(body: object, headers: object) -> str:
    body = plain_bytes(body)
    if not isinstance(body, str | bytes | bytearray) or not body:
        return ""
    return body_text(body, header_fields(headers)).strip()


def _own_text(error: BaseException) -> str:
    """Return the text for a person: classes often put a status, a URL or a body around it."""
    whole = said_by(error)
    inner = word(attribute(error, "message"))
    return _details(error) or (inner if inner in whole else "") or whole


def _details(error: BaseException) -> str:
    """Return what gRPC's exceptions have, whose text is a dump."""
    found = attribute(error, "details")
    return word(called(error, "details")) if callable(found) else ""


def _codes(error: BaseException, response: object) -> list[str]:
    codes = [as_object(as_object(response).get("Error")).get("Code")]
    for name in _CODE_NAMES:
        value = attribute(error, name)
        if callable(value):
            # gRPC: `code()` gives a member of an enumeration.
            value = called(error, name)
        codes.append(value if isinstance(value, str) else attribute(value, "name"))
    return [code for code in codes if isinstance(code, str) and code.strip()]


def _retry_after(error: BaseException) -> float | None:
    for name, factor in (("retry_after_ms", 1000.0), ("retry_after", 1.0), ("retry_after_s", 1.0)):
        value = attribute(error, name)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return float(value) / factor
    return None
