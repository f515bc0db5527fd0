"""Looks at exceptions of libraries that are not imported: by attributes and names of classes."""

from __future__ import annotations

__all__ = ("NO_ANSWER", "attribute", "called", "class_names", "own_body", "own_text", "said")

from typing import TYPE_CHECKING

from compass_agent.errors.internals import is_internal
from compass_agent.errors.shapes import as_object, is_list, is_object, word

if TYPE_CHECKING:
    from collections.abc import Mapping

NO_ANSWER = frozenset({
    "APIConnectionError",
    "APITimeoutError",
    "BadStatusLine",
    "BrokenResourceError",
    "ChunkedEncodingError",
    "ClientConnectionError",
    "ClientPayloadError",
    "ConnectError",
    "ConnectTimeout",
    "ConnectTimeoutError",
    "ConnectionClosed",
    "ConnectionClosedError",
    "ConnectionError",
    "EndOfStream",
    "EndpointConnectionError",
    "HTTPClientError",
    "IncompleteRead",
    "IncompleteReadError",
    "MaxRetryError",
    "NewConnectionError",
    "NoRespondersError",
    "NoServersError",
    "ProtocolError",
    "ProxyError",
    "ReadTimeout",
    "ReadTimeoutError",
    "RemoteDisconnected",
    "SSLError",
    "ServerDisconnectedError",
    "ServerTimeoutError",
    "StreamTerminatedError",
    "Timeout",
    "TimeoutException",
    "TransportError",
    "URLError",
    "gaierror",
    "herror",
})  # fmt: skip
"""Names of the classes, of many libraries, that mean: there was no answer, or it was cut."""


def attribute(value: object, name: str) -> object:
    """Return the attribute, or None when it is missing or raises."""
    try:
        found: object = getattr(value, name, None)
    except Exception:  # noqa: BLE001 - a property of a foreign class may raise anything
        return None
    return found


def called(value: object, name: str) -> object:
    """Return what the attribute is, or gives when it is a method without arguments."""
    found = attribute(value, name)
    if not callable(found):
        return found
    try:
        result: object = found()
    except Exception:  # noqa: BLE001 - as above
        return None
    return result


def class_names(error: BaseException) -> frozenset[str]:
    """Return the names of the classes of `error`, its own and those that it inherits from."""
    return frozenset(kind.__name__ for kind in type(error).__mro__)


def own_text(error: BaseException) -> str:
    """Return the text of `error` as it is; empty when making it fails."""
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - so may its __str__
        return ""


def said(error: BaseException) -> str:
    """Return the text of `error`, trimmed; the name of its class when it has none.

    Python's own classes show several arguments, or one that is no text, as a repr: then it is what
    of the arguments is for people.
    """
    text = own_text(error).strip()
    arguments = attribute(error, "args")
    if text and is_list(arguments) and arguments and _is_repr(text, arguments):
        text = ", ".join(part for item in arguments if (part := _for_people(item)))
    text = "" if is_internal(text) else text
    return text or word(attribute(error, "message")) or type(error).__name__


def own_body(error: BaseException) -> Mapping[str, object] | None:
    """Return the body that is the only argument of `error`, and would be shown as a repr."""
    arguments = attribute(error, "args")
    if not is_list(arguments) or len(arguments) != 1:
        return None
    body = arguments[0]
    try:
        return body if is_object(body) and own_text(error) == str(body) else None
    except Exception:  # noqa: BLE001 - a mapping of a foreign class may raise anything
        return None


def _is_repr(text: str, arguments: list[object] | tuple[object, ...]) -> bool:
    shown = arguments[0] if len(arguments) == 1 else arguments
    if isinstance(shown, str) or is_object(shown):
        return False  # a mapping is a body, which is read as one
    try:
        return text == str(shown)
    except Exception:  # noqa: BLE001 - an argument may be of a foreign class too
        return False


def _for_people(item: object) -> str:
    if isinstance(item, str):
        return item.strip()
    if isinstance(item, bytes | bytearray):
        return item.decode(errors="replace").strip()
    if isinstance(item, BaseException):
        return own_text(item).strip() or type(item).__name__
    if isinstance(item, int | float):
        return str(item)
    if is_list(item):
        return ", ".join(
            part for inner in item if isinstance(inner, str) and (part := inner.strip())
        )
    return word(as_object(item).get("message"))
