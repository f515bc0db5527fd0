"""Finds the answer in an error of JavaScript's AI SDK: it has headers and body in members."""

from __future__ import annotations

__all__ = ("answer_in",)

from typing import TYPE_CHECKING

from compass_agent.errors.shapes import is_list, is_object, parsed_json, word

if TYPE_CHECKING:
    from collections.abc import Mapping

_DEEPEST = 4
# A retry tells the last try, an event its error; wrappers tell a cause.
_INNER = ("lastError", "error", "cause", "errors")
_SPELLED = ('"responseBody"', '"responseHeaders"')


def answer_in(x: object) -> dict[str, object] | None:
    """Return the answer that `x` holds, with `status`, `headers` and `body`; None without one.

    Args:
        x: An error as a mapping, or the JSON of one.
    """
    if isinstance(x, str):
        if not any(name in x for name in _SPELLED):
            return None
        x = parsed_json(x.strip())
    found = _holder(x, 0)
    if found is None:
        return None
    # Without a body, or with an empty one, the SDK's own words are all there is.
    body = found.get("responseBody") or found.get("data") or found.get("message")
    return {
        "status": found.get("statusCode"),
        "headers": found.get("responseHeaders"),
        "body": body,
    }


def _holder(x: object, depth: int) -> Mapping[str, object] | None:
    if is_list(x) and x:
        x = x[-1]
    if not is_object(x) or depth > _DEEPEST:
        return None
    if is_object(x.get("responseHeaders")) or word(x.get("responseBody")):
        return x
    found = (_holder(x.get(name), depth + 1) for name in _INNER)
    return next((one for one in found if one is not None), None)
