"""Finds the body that a client library or an agent put into its own text."""

from __future__ import annotations

__all__ = ("Embedded", "cut_object", "embedded_object")

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from compass_agent.errors.shapes import is_list, is_object

if TYPE_CHECKING:
    from collections.abc import Mapping

_START = re.compile(r"\[?\{\s*[\"']|\{\s*\}")
_STATUS = re.compile(
    r"(?:\A|\b(?:code|status|error|http)\b[\s:=(]{1,3})(?P<status>[45][0-9]{2})\b", re.IGNORECASE
)
_SURE_KEYS = ("error", "Error", "errors")
_KIND_KEYS = ("type", "code", "status")
_CUT_MESSAGE = re.compile(r"\"message\"\s*+:\s*+\"((?:[^\"\\]|\\.)++)", re.DOTALL)
_CUT_CODE = re.compile(r"\"(?:code|type)\"\s*+:\s*+\"([A-Za-z][A-Za-z0-9_.]{1,79})\"")
_CUT_REQUEST_ID = re.compile(r"\"request_id\"\s*+:\s*+\"([A-Za-z0-9_-]{1,80})\"")
_LONGEST_PREFIX = 300
_LONGEST_REPR = 65_536
# "Error code: 429 - ", "API Error: 500 ": nothing that a reader would miss.
_EMPTY_PREFIX = re.compile(r"(?:[A-Za-z]+ ?){0,4}[:\s]{0,3}(?:[45][0-9]{2})?[\s:-]*\Z")


@dataclass(frozen=True, slots=True)
class Embedded:
    """A body inside a text.

    Attributes:
        value: The body.
        status: The HTTP status that stands before it.
        alone: Nothing else is said than that body.
    """

    value: Mapping[str, object]
    status: int | None
    alone: bool


def embedded_object(text: str) -> Embedded | None:
    """Return the error body that `text` ends in, as JSON or as the repr of a dict.

    None when there is none, or when it is part of what the text says rather than its source.
    """
    start = _START.search(text, 0, _LONGEST_PREFIX)
    if start is None:
        return None
    prefix = text[: start.start()]
    value = _json_at(text, start.start())
    if value is None:
        value = _repr_at(text, start.start())
    if is_list(value) and value:
        value = value[0]
    if not is_object(value) or not _is_body(value):
        return None
    status = _STATUS.search(prefix)
    return Embedded(
        value,
        int(status["status"]) if status else None,
        alone=_EMPTY_PREFIX.fullmatch(prefix) is not None,
    )


def cut_object(text: str) -> Mapping[str, object] | None:
    """Return what is left of a JSON body that was cut off, as far as people need it."""
    if not text.startswith("{"):
        return None
    message = _CUT_MESSAGE.search(text)
    said = message and _json_at(f'"{message[1]}"', 0)
    if not isinstance(said, str):
        return None
    codes = (code for code in _CUT_CODE.findall(text, 0, _LONGEST_REPR) if code != "error")
    request_id = _CUT_REQUEST_ID.search(text)
    return {
        "message": said,
        "code": next(codes, None),
        "request_id": request_id[1] if request_id else None,
    }


def _is_body(value: Mapping[str, object]) -> bool:
    if not value or any(key in value for key in _SURE_KEYS):
        return True
    return "message" in value and any(key in value for key in _KIND_KEYS)


def _json_at(text: str, start: int) -> object:
    try:
        value: object
        value, _ = json.JSONDecoder(strict=False).raw_decode(text, start)
    except (ValueError, RecursionError):
        return None
    return value


def _repr_at(text: str, start: int) -> object:
    end = text.rfind("]" if text[start] == "[" else "}") + 1
    if not start < end <= start + _LONGEST_REPR:
        return None
    import ast  # noqa: PLC0415 - few failures hold a repr

    try:
        value: object = ast.literal_eval(text[start:end])
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return None
    return value
