"""What an HTTP service's answer means, text for text; and what its absence means."""

from __future__ import annotations

import http.client
import pickle
import socket
import ssl
import threading
import urllib.error
import urllib.request
from collections.abc import Generator
from contextlib import contextmanager
from email.message import Message

import anyio
import httpx2
import pytest
import trio

from compass_agent.errors import ApiError, map_http_status_to_error, map_network_error

NOW = "Mon, 13 Jun 2022 11:48:53 GMT"


def mapped(
    status: int, headers: object = None, *, reason: str = "", body: object = None
) -> tuple[int, str, str, float | None]:
    error = map_http_status_to_error(
        status, headers, service="Acme", key_var="ACME_KEY", reason=reason, body=body, now=NOW
    )
    assert str(error) == error.message
    return error.status_code, error.code, error.message, error.retry_after_s


def unreachable(error: BaseException, url: str = "https://acme.example/v1") -> ApiError | None:
    return map_network_error(error, url, service="Acme", key_var="ACME_KEY", url_var="ACME_URL")


CANNOT = "Cannot connect to Acme at {}. Check ACME_URL configuration."


def test_401_names_the_variable_of_the_key() -> None:
    text = "Unauthorized: Invalid or expired API key. Check your ACME_KEY configuration."
    assert mapped(401) == (401, "UNAUTHORIZED", text, None)


def test_404_says_that_nothing_is_there() -> None:
    text = "Not found: The requested resource does not exist."
    assert mapped(404) == (404, "NOT_FOUND", text, None)


@pytest.mark.parametrize(
    ("headers", "more", "wait"),
    [
        ({"Retry-After": "30"}, " Retry after 30 seconds.", 30.0),
        ({"X-RateLimit-Reset": "1655120964"}, " Retry after 31 seconds.", 31.0),
        ({"X-RateLimit-Reset": "1655120964000"}, " Retry after 31 seconds.", 31.0),
        ({"X-RateLimit-Reset": "12"}, " Retry after 12 seconds.", 12.0),
        ({"Retry-After": "9.2"}, " Retry after 10 seconds.", 9.2),
        ([(b"Retry-After", b"30")], " Retry after 30 seconds.", 30.0),
        ({"Retry-After": NOW}, " Retry after 0 seconds.", 0.0),
        ({"Retry-After": "soon"}, "", None),
        ({}, "", None),
        (None, "", None),
    ],
)
def test_429_says_how_long_to_wait_when_it_is_known(
    headers: object, more: str, wait: float | None
) -> None:
    text = "Rate limited: Too many requests." + more
    assert mapped(429, headers) == (429, "RATE_LIMITED", text, wait)


def test_429_may_say_it_in_the_body() -> None:
    assert mapped(429, None, body='{"error":{"message":"try again in 9.816s"}}')[2:] == (
        "Rate limited: Too many requests. Retry after 10 seconds.",
        9.816,
    )


@pytest.mark.parametrize(
    ("status", "reason", "phrase"),
    [
        (500, "", "Internal Server Error"),
        (500, "Oh No", "Oh No"),
        (500, " ", "Internal Server Error"),
        (502, "", "Bad Gateway"),
        (503, "", "Service Unavailable"),
        (529, "", "Overloaded"),
        (599, "", "599"),
    ],
)
def test_500_and_above_is_the_services_fault(status: int, reason: str, phrase: str) -> None:
    text = f"Acme server error: {phrase}. Please try again later."
    assert mapped(status, reason=reason) == (status, "SERVER_ERROR", text, None)


@pytest.mark.parametrize(
    ("status", "reason", "text"),
    [
        (403, "", "Acme API error: 403 Forbidden"),
        (403, "No Way", "Acme API error: 403 No Way"),
        (400, "", "Acme API error: 400 Bad Request"),
        (302, "", "Acme API error: 302 Found"),
        (499, "", "Acme API error: 499"),
    ],
)
def test_any_other_failure_is_told_by_its_status(status: int, reason: str, text: str) -> None:
    assert mapped(status, reason=reason) == (status, "API_ERROR", text, None)


def test_503_keeps_its_wait_and_windows_mean_nothing_where_waiting_cannot_help() -> None:
    assert mapped(503, {"Retry-After": "5"})[3] == 5.0
    assert mapped(401, {"X-RateLimit-Reset": "1655120964"})[3] is None
    assert mapped(404, {"X-RateLimit-Reset": "1655120964"})[3] is None


@contextmanager
def refusing_port() -> Generator[int]:
    """Give a port of the loopback where nobody listens, held so that nobody can."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]


@contextmanager
def silent_port() -> Generator[int]:
    """Give a port of the loopback that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_a_port_that_refuses_is_told_without_user_info_and_query() -> None:
    with refusing_port() as port:
        url = f"http://user:pw@127.0.0.1:{port}/v1/x?key=abc#frag"
        plain = f"http://127.0.0.1:{port}/v1/x"
        with pytest.raises(urllib.error.URLError) as found:
            urllib.request.urlopen(plain, timeout=5)
        error = unreachable(found.value, url)
        assert error is not None
        assert (error.status_code, error.code) == (0, "CONNECTION_ERROR")
        assert error.message == CANNOT.format(plain)
        assert error.retry_after_s is None
        assert error.__cause__ is found.value
        with pytest.raises(httpx2.ConnectError) as other:
            httpx2.get(plain, trust_env=False)
        again = unreachable(other.value, url)
        assert again is not None
        assert again.message == error.message


def test_a_service_that_does_not_answer_in_time_is_a_connection_error() -> None:
    with silent_port() as port:
        url = f"http://127.0.0.1:{port}/"
        with pytest.raises(TimeoutError) as found:
            urllib.request.urlopen(url, timeout=0.05)
        with pytest.raises(httpx2.ReadTimeout) as other:
            httpx2.get(url, timeout=0.05, trust_env=False)
    for error in (found.value, other.value):
        told = unreachable(error, url)
        assert told is not None
        assert (told.status_code, told.code) == (0, "CONNECTION_ERROR")
        assert told.message == CANNOT.format(url)


async def test_a_deadline_of_anyio_is_a_connection_error() -> None:
    with pytest.raises(TimeoutError) as found:
        with anyio.fail_after(0.01):
            await anyio.sleep_forever()
    told = unreachable(found.value)
    assert told is not None
    assert told.code == "CONNECTION_ERROR"


def test_a_connection_that_is_cut_is_a_connection_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def cut() -> None:
            server.accept()[0].close()

        closer = threading.Thread(target=cut)
        closer.start()
        with pytest.raises(Exception) as found:  # noqa: PT011 - which one it is depends on the moment
            urllib.request.urlopen(f"http://127.0.0.1:{server.getsockname()[1]}/", timeout=5)
        closer.join()
    assert unreachable(found.value) is not None


def library_error(module: str, *names: str, cause: BaseException | None = None) -> Exception:
    """Return an exception of a class of that library; the names are its own, then its bases'."""
    kinds: list[type[Exception]] = [Exception]
    for name in reversed(names):
        kinds.append(type(name, (kinds[-1],), {"__module__": module}))
    error = kinds[-1](f"some words of {module}")
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    "error",
    [
        socket.gaierror(-2, "Name or service not known"),
        ssl.SSLCertVerificationError("certificate verify failed"),
        ConnectionResetError(),
        TimeoutError(),
        trio.TooSlowError(),
        anyio.EndOfStream(),
        http.client.RemoteDisconnected("closed"),
        http.client.IncompleteRead(b""),
        library_error("httpx", "ConnectTimeout", "TimeoutException", "TransportError"),
        library_error("httpx", "RemoteProtocolError", "ProtocolError", "TransportError"),
        library_error("aiohttp", "ClientConnectorError", "ClientOSError", "ClientConnectionError"),
        library_error("aiohttp", "ServerTimeoutError", "ServerConnectionError"),
        library_error("aiohttp", "ClientPayloadError", "ClientError"),
        library_error("requests.exceptions", "ConnectTimeout", "ConnectionError"),
        library_error("requests.exceptions", "SSLError", "ConnectionError"),
        library_error("requests.exceptions", "ReadTimeout", "Timeout", "RequestException"),
        library_error("requests.exceptions", "ChunkedEncodingError", "RequestException"),
        library_error("urllib3.exceptions", "MaxRetryError", "RequestError"),
        library_error("urllib3.exceptions", "NameResolutionError", "NewConnectionError"),
        library_error("openai", "APIConnectionError", "APIError"),
        library_error("mine", "Mine", cause=ConnectionRefusedError()),
        ExceptionGroup("tasks", [library_error("mine", "Mine", cause=TimeoutError())]),
        ExceptionGroup("tasks", [ValueError("x"), ConnectionRefusedError()]),
    ],
    ids=repr,
)
def test_no_answer_of_any_library_is_a_connection_error(error: Exception) -> None:
    told = unreachable(error)
    assert told is not None
    assert (told.status_code, told.code) == (0, "CONNECTION_ERROR")


@pytest.mark.parametrize(
    "error", [ValueError("x"), KeyError("x"), FileNotFoundError(2, "x"), RuntimeError("timed out")]
)
def test_what_is_no_failure_of_the_network_is_left_to_the_caller(error: Exception) -> None:
    assert unreachable(error) is None


def test_an_exception_with_an_answer_in_it_is_told_by_the_answer() -> None:
    headers = Message()
    headers["Retry-After"] = "7"
    error = urllib.error.HTTPError("http://x/", 429, "Slow", headers, None)
    told = unreachable(error)
    assert told is not None
    assert (told.status_code, told.code, told.retry_after_s) == (429, "RATE_LIMITED", 7.0)
    request = httpx2.Request("GET", "http://x/")
    with pytest.raises(httpx2.HTTPStatusError) as found:
        httpx2.Response(502, request=request).raise_for_status()
    told = unreachable(found.value)
    assert told is not None
    assert (told.status_code, told.code) == (502, "SERVER_ERROR")
    assert unreachable(told) is told


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://acme.example/v1", "https://acme.example/v1"),
        ("https://u:p@acme.example/v1?key=abc", "https://acme.example/v1"),
        ("https://u@acme.example", "https://acme.example"),
        ("https://acme.example/v1#key=abc", "https://acme.example/v1"),
        ("https://acme.example?key=abc", "https://acme.example"),
        ("https://acme.example/mail?to=a@b.example", "https://acme.example/mail"),
        ("https://acme.example/@me", "https://acme.example/@me"),
        ("https://u:p/w@acme.example/v1", "https://acme.example/v1"),
        ("https://u:p?w@acme.example:81/v1?x", "https://acme.example:81/v1"),
        ("http://[::1]:80/x?y", "http://[::1]:80/x"),
        ("http://u:p@[::1]/x", "http://[::1]/x"),
        ("u:p@acme.example:81/v1?x", "acme.example:81/v1"),
        ("https://acme.example/\r\nInjected: x", "https://acme.example/Injected:x"),
        ("https://acme.example/keys/sk-ant-abc123/x", "https://acme.example/keys/[redacted]/x"),
        ("", ""),
    ],
)
def test_a_url_is_told_without_what_lets_somebody_in(url: str, shown: str) -> None:
    told = unreachable(TimeoutError(), url)
    assert told is not None
    assert told.message == CANNOT.format(shown)


def test_an_api_error_survives_pickling() -> None:
    error = ApiError(429, "RATE_LIMITED", "Slow down", 3.0)
    twin = pickle.loads(pickle.dumps(error))  # noqa: S301 - made just here
    assert (twin.status_code, twin.code, twin.message, twin.retry_after_s, str(twin)) == (
        429,
        "RATE_LIMITED",
        "Slow down",
        3.0,
        "Slow down",
    )


@pytest.mark.parametrize(
    ("reason", "told"),
    [(None, "Bad Gateway"), (b"Bad \xff day", "Bad \ufffd day"), (b"", "Bad Gateway")],
)
def test_a_reason_phrase_may_be_bytes_or_missing(reason: bytes | None, told: str) -> None:
    error = map_http_status_to_error(502, service="Acme", key_var="K", reason=reason)
    assert error.message == f"Acme server error: {told}. Please try again later."


@pytest.mark.parametrize("number", [100, 200, 204])
def test_a_code_of_no_failure_is_no_answer_of_one(number: int) -> None:
    class CodedError(Exception):
        code = number

    names = {"service": "Acme", "key_var": "K", "url_var": "U"}
    assert map_network_error(CodedError("x"), "http://h", **names) is None
    lost = CodedError("x")
    lost.__cause__ = ConnectionResetError()
    mapped = map_network_error(lost, "http://h", **names)
    assert mapped is not None
    assert mapped.status_code == 0
