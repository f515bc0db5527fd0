"""Looks at exceptions of libraries that are not imported: by attributes and names of classes."""

from __future__ import annotations

__all__ = ("NO_ANSWER", "attribute", "called", "class_names", "own_text", "said")

from compass_agent.errors.shapes import word

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
    """Return the text of `error`, trimmed; the name of its class when it has none."""
    return own_text(error).strip() or word(attribute(error, "message")) or type(error).__name__
