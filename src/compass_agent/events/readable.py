"""Reads a text for a person out of a value of any shape. Never raises."""

from __future__ import annotations

__all__ = ("readable_text", "verbatim_text")

import json

from compass_agent.errors.shapes import is_list, is_object

_TEXT_KEYS = ("text", "errorMessage", "message")


def readable_text(value: object) -> str:
    """Return the text of `value`, trimmed.

    That is a string itself; an exception's message, or its class name; a mapping's `text`,
    `errorMessage` or `message`; the joined text blocks of a list of content blocks or of a
    mapping's `content`; else compact JSON. What JSON cannot hold appears as an object that names
    its type, not as a repr. None gives the empty string.
    """
    if isinstance(value, str):
        return value.strip()
    if value is None:
        return ""
    if isinstance(value, BaseException):
        return _exception_text(value)
    if is_object(value):
        for key in _TEXT_KEYS:
            text = value.get(key)
            if isinstance(text, str):
                return text.strip()
    blocks = _joined_blocks(value.get("content") if is_object(value) else value)
    return _compact_json(value) if blocks is None else blocks.strip()


def verbatim_text(value: object) -> str:
    """Return `value` as it is when it is a text, else its readable text."""
    return value if isinstance(value, str) else readable_text(value)


def _exception_text(error: BaseException) -> str:
    try:
        text = str(error).strip()
    except Exception:  # noqa: BLE001 - a __str__ that raises must not stop the reader
        text = ""
    return text or type(error).__name__


def _joined_blocks(value: object) -> str | None:
    """Return the joined text of content blocks; None when `value` is no list of blocks."""
    if isinstance(value, str):
        return value
    if not is_list(value):
        return None
    objects = [item for item in value if is_object(item)]
    if len(objects) != len(value) or not all("type" in item for item in objects):
        return None
    texts = (item.get("text") for item in objects if item.get("type") == "text")
    return "\n".join(text for text in texts if isinstance(text, str))


def _compact_json(value: object) -> str:
    try:
        return json.dumps(
            value, ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=_marked
        )
    except (ValueError, TypeError, RecursionError, OverflowError):
        return json.dumps(_marked(value), separators=(",", ":"))


def _marked(value: object) -> dict[str, str]:
    return {"$unserializable": type(value).__name__}
