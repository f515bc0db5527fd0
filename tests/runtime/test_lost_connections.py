"""Whoever reads a session is advised of a lost connection as whoever saw it break."""

from __future__ import annotations

import http.client
import ssl
from typing import TYPE_CHECKING

import pytest

from compass_agent import open_session
from compass_agent.errors import FailureDetail, advise, describe_failure, map_network_error
from stored import frames_in

if TYPE_CHECKING:
    from pathlib import Path


class TransportError(Exception):
    """As httpx has it."""


def made(name: str, text: str = "", base: type[Exception] = Exception) -> Exception:
    return type(name, (base,), {})(text)


LOST = [
    made("ReadError", base=TransportError),
    made("WriteError", base=TransportError),
    made("CloseError", base=TransportError),
    made("OwnError", base=TransportError),
    made("OwnError", "no words that anybody knows", base=TransportError),
    made("RemoteProtocolError", "blocked by a safety filter", base=TransportError),
    made("EndOfStream"),
    made("BrokenResourceError"),
    made("ChunkedEncodingError", "Response ended prematurely"),
    made("ProxyError", "403 Forbidden"),
    made("SSLError", "[SSL] record layer failure"),
    made("NoRespondersError", "nats: no responders"),
    made("ConnectTimeout"),
    made("gaierror", "[Errno -2] Name or service not known"),
    http.client.IncompleteRead(b""),
    ssl.SSLError(1, "EOF occurred in violation of protocol"),
    OSError(113, "No route to host"),
    OSError(101, "Network is unreachable"),
    BrokenPipeError(),
    ConnectionResetError(),
]


@pytest.mark.parametrize("error", LOST, ids=lambda error: f"{type(error).__name__}: {error}")
def test_a_lost_connection_is_known_from_the_stored_frame(tmp_path: Path, error: Exception) -> None:
    url = f"sqlite:{tmp_path / 'log.db'}"
    with open_session("s1", log=url) as session:
        session.fail(error)
    stored = [f.typed_event.session_error for f in frames_in(url, "s1")]
    (told,) = [one for one in stored if one.message]
    assert not told.HasField("status")

    described = describe_failure(error)
    assert described.status == 0
    assert advise(FailureDetail(told.message, code=told.code or None)) == advise(described)
    assert advise(described).retryable is True
    mapped = map_network_error(error, "http://h", service="A", key_var="K", url_var="U")
    assert mapped is not None
    assert mapped.code == "CONNECTION_ERROR"


def test_what_was_said_stays_as_it_is() -> None:
    bare = describe_failure(made("ReadError", base=TransportError))
    assert (bare.message, bare.code) == ("ReadError", None)
    for error in (made("ProxyError", "403 Forbidden"), ConnectionRefusedError("nobody answered")):
        told = describe_failure(error)
        assert (told.message, told.code) == (str(error), "connection_error")


def test_beside_a_code_the_text_tells_it() -> None:
    error = made("ProxyError", "nobody answered")
    error.code = "own_code"  # pyright: ignore[reportAttributeAccessIssue] # as some classes have it
    told = describe_failure(error)
    assert (told.message, told.code) == ("Connection error: nobody answered", "own_code")
    assert advise(FailureDetail(told.message, code=told.code)) == advise(told)
