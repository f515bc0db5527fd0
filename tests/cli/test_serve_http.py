"""`compass serve` over HTTP as users start it, with `curl` and plain sockets as its clients."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import socket
import stat
import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple, Self

import pytest

from asgi import EventReader
from commands import COMPASS, compass
from compass_agent import open_session
from hubs import short_folder
from inner_events import assistant_end, delta, message_start

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

TOKEN = "-".join(["0123456789abcdef"] * 2)
BEARER = f"Authorization: Bearer {TOKEN}"
PATIENCE_S = 20


class Web(NamedTuple):
    """A running `compass serve`, and where it serves HTTP."""

    process: subprocess.Popen[str]
    unix: str
    tcp: str
    log: str


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch) -> Generator[Path]:
    """A private folder; the default sockets are in it."""
    with short_folder() as made:
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(made))
        monkeypatch.setenv("XDG_STATE_HOME", str(made / "state"))
        (made / "token").write_text(TOKEN + "\n", "ascii")
        yield made


@contextmanager
def serving_http(folder: Path, *arguments: str) -> Generator[Web]:
    """The hub and its HTTP end, once both listen."""
    log = f"sqlite:{folder / 'hub.db'}"
    given = [*arguments, "--log", log, "--token-file", str(folder / "token")]
    with subprocess.Popen(
        [COMPASS, "serve", "--http", "127.0.0.1:0", *given], stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stderr is not None
            lines = [process.stderr.readline() for _ in range(3)]
            places = [line.split(" at ")[1].split(";")[0].strip() for line in lines]
            assert [line.split(" at ")[0] for line in lines] == [
                "compass: serving HTTP",
                "compass: serving HTTP",
                "compass: listening",
            ]
            yield Web(process, places[0].removeprefix("unix:"), places[1], log)
        finally:
            if process.poll() is None:
                process.kill()


def curl(*arguments: str) -> str:
    """What curl prints; it gives up by itself."""
    command = ["curl", "--silent", "--show-error", "--max-time", str(PATIENCE_S), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def failed_session(log: str) -> None:
    with open_session("s1", log=log, title="Fix it", agent="pi") as session:
        session.feed(message_start())
        session.feed(delta("Looking"))
        session.feed(assistant_end("error", errorMessage="Overloaded", errorStatus=529))


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
def test_curl_follows_a_session_by_tcp_and_by_the_unix_socket(folder: Path) -> None:
    with serving_http(folder) as web:
        failed_session(web.log)
        by_tcp = curl("-N", "-H", BEARER, f"{web.tcp}/v1/sessions/s1/events")
        by_unix = curl("-N", "--unix-socket", web.unix, "http://localhost/v1/sessions/s1/events")
        assert by_tcp == by_unix
        events = EventReader().feed(by_tcp.encode())
        assert events[-1].name == "end"
        texts = [e.json["event"]["sessionError"] for e in events if "sessionError" in e.data]
        assert [(one["message"], one["status"]) for one in texts] == [("Overloaded", 529)]
        listed = json.loads(curl("-H", BEARER, f"{web.tcp}/v1/sessions"))
        assert listed["sessions"][0]["lastError"]["message"] == "Overloaded"


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
def test_by_tcp_only_who_has_the_token_and_a_name_of_ours_comes_in(folder: Path) -> None:
    with serving_http(folder, "--allow-host", "agents.example") as web:
        code = ("-o", "/dev/null", "-w", "%{http_code}")
        path = f"{web.tcp}/v1/sessions"
        assert curl(*code, path) == "401"
        assert curl(*code, "-H", BEARER + "x", path) == "401"
        assert curl(*code, "-H", BEARER, path) == "200"
        assert curl(*code, "-H", BEARER, "-H", "Host: evil.example", path) == "421"
        assert curl(*code, "-H", BEARER, "-H", "Host: agents.example", path) == "200"
        assert curl(*code, "-H", BEARER, "-H", "Origin: http://evil.example", path) == "403"
        assert curl(*code, f"{web.tcp}/healthz") == "200"


@pytest.mark.requirement("G-HTTP-2")
def test_at_umask_0_the_http_socket_is_its_owners_alone(folder: Path) -> None:
    before = os.umask(0)
    try:
        with serving_http(folder) as web:
            assert web.unix == str(folder / "compass" / "http.sock")
            mode = stat.S_IMODE((folder / "compass" / "http.sock").stat().st_mode)
            assert (oct(mode), oct(stat.S_IMODE((folder / "compass").stat().st_mode))) == (
                "0o600",
                "0o700",
            )
    finally:
        os.umask(before)


class Connection:
    """One stream over a real socket, read as bytes."""

    def __init__(self, unix: str, last_id: str = "", *, window: int | None = None) -> None:
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(PATIENCE_S)
        if window is not None:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, window)
        self.socket.connect(unix)
        last = f"Last-Event-ID: {last_id}\r\n" if last_id else ""
        request = f"GET /v1/sessions/s1/events HTTP/1.1\r\nHost: localhost\r\n{last}\r\n"
        self.socket.sendall(request.encode())

    def read(self, until: bytes) -> bytes:
        """All bytes up to the ones that are waited for, or to the end."""
        data = b""
        while until not in data:
            piece = self.socket.recv(65_536)
            data += piece
            if not piece:
                break
        return data

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()


def wait_for_the_session(unix: str) -> None:
    """Ask until the session is there: what an agent feeds is stored a moment later."""
    for _ in range(1_000):
        with Connection(unix) as connection:
            if b" 200 OK" in connection.read(b"\r\n\r\n"):
                return
    pytest.fail("there is no session")


@pytest.mark.requirement("G-HTTP-4")
@pytest.mark.parametrize(
    "by", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow)]
)
def test_a_signal_ends_open_streams_then_the_server(folder: Path, by: signal.Signals) -> None:
    with serving_http(folder) as web, open_session("s1", log=web.log) as session:
        session.feed(message_start())
        for number in range(300):
            session.feed(delta(f"{number} " + "x" * 2_000))
        wait_for_the_session(web.unix)
        with Connection(web.unix) as one, Connection(web.unix, window=4_096) as still:
            one.read(b"caught_up")
            still.read(b"200 OK")
            web.process.send_signal(by)
            goodbye = one.read(b"\r\n0\r\n")
            assert b"event: error\n" in goodbye
            assert b'"code": "unavailable"' in goodbye
            assert goodbye.endswith(b"\r\n0\r\n\r\n")
            assert web.process.wait(PATIENCE_S) == 0
    assert not (folder / "compass" / "http.sock").exists()


@pytest.mark.slow
@pytest.mark.requirement("G-HTTP-1")
def test_a_client_cut_at_random_points_over_a_real_socket_reads_every_frame_once(
    folder: Path,
) -> None:
    chance = random.Random(7)  # noqa: S311 - where to cut is no secret
    with serving_http(folder) as web:
        with open_session("s1", log=web.log) as session:
            session.feed(message_start())
            for number in range(400):
                session.feed(delta(f"word {number} "))
        told: list[int] = []
        last_id = ""
        ended = False
        cuts = 0
        while not ended:
            reader = EventReader(last_id)
            with Connection(web.unix, last_id) as connection:
                room = chance.randrange(200, 3_000)
                data = b""
                while len(data) < room and (piece := connection.socket.recv(room - len(data))):
                    data += piece
            body = unchunked(data.partition(b"\r\n\r\n")[2])
            for event in reader.feed(body):
                told += [int(event.json["seq"])] if event.name == "message" else []
                ended = ended or event.name == "end"
            last_id = reader.last_id
            cuts += 1
        assert cuts > 40
        assert told == list(range(1, len(told) + 1))
        assert len(told) > 400


def unchunked(data: bytes) -> bytes:
    """The body within chunks; the last chunk may be cut."""
    body = b""
    while data:
        size, found, data = data.partition(b"\r\n")
        if not found or not size:
            break
        body += data[: int(size, 16)]
        data = data[int(size, 16) + 2 :]
    return body


@pytest.mark.parametrize("listen", ["127.0.0.1:0", "0.0.0.0:0"])
def test_http_by_tcp_without_a_token_is_refused(folder: Path, listen: str) -> None:
    done = compass("serve", "--http", listen)
    assert (done.returncode, "--http and --token-file" in done.stderr) == (2, True)
    assert not (folder / "compass").exists()


def test_a_port_that_is_taken_is_a_conflict(folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        place = f"127.0.0.1:{taken.getsockname()[1]}"
        done = compass("serve", "--http", place, "--token-file", folder / "token")
    assert (done.returncode, "Traceback" in done.stderr) == (9, False)
    assert not (folder / "compass" / "http.sock").exists()
