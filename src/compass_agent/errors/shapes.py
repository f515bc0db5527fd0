"""Looks at values of unknown shape and makes texts valid. Never raises."""

from __future__ import annotations

__all__ = (
    "as_list",
    "as_object",
    "capped",
    "is_list",
    "is_object",
    "parsed_json",
    "plain_bytes",
    "valid_text",
    "word",
)

import json
from collections.abc import Mapping
from typing import TypeGuard

# A message is read by people and sits in a lane that drops nothing: it stays small.
_LARGEST_MESSAGE = 8192


def is_object(value: object) -> TypeGuard[Mapping[str, object]]:
    """Tell whether `value` is a mapping, as a JSON object is."""
    return isinstance(value, Mapping)


def is_list(value: object) -> TypeGuard[list[object] | tuple[object, ...]]:
    """Tell whether `value` is a list or tuple, as a JSON array is."""
    return isinstance(value, list | tuple)


def plain_bytes(value: object) -> object:
    """Return the bytes that a view shows; anything else as it is."""
    return value.tobytes() if _is_view(value) else value


def _is_view(value: object) -> TypeGuard[memoryview[int]]:
    return isinstance(value, memoryview)


def as_object(value: object) -> Mapping[str, object]:
    """Return `value` when it is a mapping, else an empty one."""
    return value if is_object(value) else {}


def as_list(value: object) -> list[object] | tuple[object, ...]:
    """Return `value` when it is a list or tuple, else an empty one."""
    return value if is_list(value) else ()


def word(value: object) -> str:
    """Return `value` trimmed when it is a text, else the empty text."""
    return value.strip() if isinstance(value, str) else ""


def parsed_json(text: str) -> object:
    """Return what `text` holds as a JSON object or array; None when it is neither."""
    text = text.strip()
    if text[:1] not in ("{", "["):
        return None
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value


def valid_text(text: str) -> str:
    """Return `text` as protobuf and UTF-8 can hold it.

    Two surrogate halves that stand together become their character; a half on its own becomes
    U+FFFD. All other text comes back as it is.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def capped(text: str, *, more: int = 0) -> str:
    """Return `text` in at most 8 KiB of UTF-8; a mark says how many bytes were left out.

    Args:
        text: Valid text.
        more: Bytes that were left out before.
    """
    data = text.encode()
    if len(data) <= _LARGEST_MESSAGE and not more:
        return text
    # The mark is at most 30 bytes; the exact number is known only after the cut.
    head = data[: _LARGEST_MESSAGE - 32].decode(errors="ignore")
    return f"{head}…(+{len(data) - len(head.encode()) + more} bytes)"
