"""`compass serve` as users start it: where it listens, whom it refuses, how it ends."""

from __future__ import annotations

import os
import signal
import socket
import stat
import subprocess
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import pytest
from grpc import StatusCode, aio

from commands import compass
from compass_agent import Session, open_session
from full_reader import LARGER_THAN_A_SOCKETS_BUFFER, full_reader
from hubs import following, serving, short_folder
from inner_events import assistant_end, delta, message_start
from loops import ASYNCIO
from recordings import DATA
from stored import lines_in

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable

    from compass.v1.compass_pb2 import AgentSessionFrame
    from hubs import Metadata

TOKEN = "-".join(["0123456789abcdef"] * 2)
PATIENCE_S = 20


@pytest.fixture
def anyio_backend() -> object:
    """Run each async test on asyncio, as gRPC does."""
    return ASYNCIO


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch) -> Generator[Path]:
    """A private folder; the default socket is in it."""
    with short_folder() as made:
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(made))
        monkeypatch.setenv("XDG_STATE_HOME", str(made / "state"))
        yield made


def stopped(process: subprocess.Popen[str], by: signal.Signals) -> str:
    """Stop the hub; return what it said, after it said where it listens."""
    process.send_signal(by)
    _, said = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, said
    return said


def texts(frames: Iterable[AgentSessionFrame]) -> list[str]:
    """The texts and the failures that were read."""
    return [
        one.event.assistant_text.text or one.event.session_error.message
        for frame in frames
        for one in (frame, *frame.more)
        if one.HasField("event")
    ]


async def read_all(target: str, session: str, metadata: Metadata = ()) -> list[str]:
    with anyio.fail_after(PATIENCE_S):
        read = following(target, session, metadata, max_batch=64)
        return texts([frame async for frame in read])


def test_a_session_goes_through_the_hub_to_its_log_and_to_a_reader(folder: Path) -> None:
    log = f"sqlite:{folder / 'hub.db'}"
    with serving("--log", log) as (process, (url,)):
        assert url == f"unix:{folder}/compass/hub.sock"
        with open_session("s1", log="unix:", title="Fix it", agent="pi") as session:
            session.feed(message_start())
            session.feed(delta("Looking"))
            session.feed(assistant_end("error", errorMessage="Overloaded", errorStatus=529))
        counted = session.statistics()
        assert counted.priority.emitted == counted.priority.delivered
        assert counted.trace.emitted == counted.trace.delivered > 0
        assert anyio.run(read_all, url, "s1") == ["Looking", "Overloaded"]
        assert stopped(process, signal.SIGTERM) == "compass: stopping\n"
    assert lines_in(log, "s1")[-2:] == ["ERROR 529 Overloaded", "state ERRORED"]
    assert "Fix it" in compass("sessions", "--log", log).stdout


def test_the_command_publishes_to_a_hub(folder: Path) -> None:
    log = f"sqlite:{folder / 'hub.db'}"
    with serving("--log", log) as (_, (url,)):
        done = compass("run", "--session", "s1", "--log", url, "--", "sh", "-c", "echo hello")
        told = f"to follow it: compass tail s1 --log {url}"
        assert (done.returncode, told in done.stderr) == (0, True)
    assert any("hello" in line for line in lines_in(log, "s1"))


@pytest.mark.slow
def test_a_recording_is_replayed_into_a_hub(folder: Path) -> None:
    log = f"sqlite:{folder / 'hub.db'}"
    with serving("--log", log) as (process, (url,)):
        recording = DATA / "pi" / "err-401.jsonl"
        done = compass("replay", recording, "--session", "s1", "--log", url)
        stopped(process, signal.SIGTERM)

    assert done.returncode == 3
    assert "may not be recorded" not in done.stderr
    assert lines_in(log, "s1")[-1].startswith("notice")


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM])
async def test_a_signal_ends_it_well_and_open_streams_may_come_again(
    folder: Path, by: signal.Signals
) -> None:
    with serving() as (process, (url,)), closing_soon(url) as session:
        session.notice("hello")
        frames = following(url, "s1")
        with anyio.fail_after(PATIENCE_S):
            assert await anext(frames)
            process.send_signal(by)
            with pytest.raises(aio.AioRpcError) as caught:
                [_ async for _ in frames]
        assert caught.value.code() is StatusCode.UNAVAILABLE
        assert process.wait(PATIENCE_S) == 0
    assert not (folder / "compass" / "hub.sock").exists()


@pytest.mark.slow
def test_it_ends_within_seconds_beside_a_reader_whose_connection_is_full(folder: Path) -> None:
    log = f"sqlite:{folder / 'hub.db'}"
    with serving("--log", log) as (process, (url,)), full_reader("s1") as reader:
        with open_session("s1", log=url) as session:
            session.feed(message_start())
            session.feed(delta("x" * LARGER_THAN_A_SOCKETS_BUFFER))
        reader.begin(Path(url.removeprefix("unix:")))
        process.terminate()
        assert process.wait(8) == 0


@contextmanager
def closing_soon(url: str) -> Generator[Session]:
    """A session that does not wait for a hub that is gone."""
    with Session("s1", log=url, close_timeout=0.1) as session:
        yield session


def refused(*arguments: str | Path) -> tuple[int, str]:
    """The exit status of a hub that does not start, and what it says."""
    done = compass("serve", *arguments)
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    return done.returncode, done.stderr


def test_a_second_hub_at_the_same_place_is_refused(folder: Path) -> None:
    with serving() as (process, _):
        status, said = refused()
        assert (status, f"a hub listens at {folder}/compass/hub.sock already" in said) == (9, True)
        assert process.poll() is None


@pytest.mark.parametrize("option", ["--listen", pytest.param("--http", marks=pytest.mark.slow)])
def test_a_taken_port_is_told_as_such(folder: Path, option: str) -> None:
    (folder / "token").write_text(TOKEN, "ascii")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        place = f"127.0.0.1:{taken.getsockname()[1]}"
        status, said = refused(option, place, "--token-file", folder / "token")
    assert status == 9
    told = [line for line in said.splitlines() if line.startswith("compass: ")]
    assert (
        told[-1] == f"compass: {place} is taken by another program, or is no place of this machine"
    )
    assert "stored" not in said


def test_a_place_that_is_not_its_owners_alone_is_refused(folder: Path) -> None:
    (folder / "open").mkdir()
    (folder / "open").chmod(0o755)
    status, said = refused("--unix", folder / "open" / "hub.sock")
    assert (status, "its mode has to be 0700" in said) == (77, True)
    (folder / "link").symlink_to(folder / "state")
    status, said = refused("--unix", folder / "link" / "hub.sock")
    assert (status, "is a link" in said) == (77, True)


def test_at_umask_0_the_socket_is_its_owners_alone(folder: Path) -> None:
    before = os.umask(0)
    try:
        with serving("--unix", str(folder / "mine" / "hub.sock")):
            mode = stat.S_IMODE((folder / "mine" / "hub.sock").stat().st_mode)
            assert (oct(mode), oct(stat.S_IMODE((folder / "mine").stat().st_mode))) == (
                "0o600",
                "0o700",
            )
    finally:
        os.umask(before)


@pytest.mark.requirement("G-HUB-5")
def test_by_tcp_only_who_has_the_token_comes_in(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "token").write_text(TOKEN + "\n", "ascii")
    listen = ("--listen", "127.0.0.1:0", "--token-file", str(folder / "token"))
    with serving(*listen) as (_, (_, url)):
        monkeypatch.setenv("COMPASS_TOKEN_FILE", str(folder / "token"))
        with open_session("s1", log=url) as session:
            session.feed(message_start())
            session.feed(delta("hello"))
        assert session.statistics().trace.delivered == session.statistics().trace.emitted
        target = url.removeprefix("grpc://")
        bearer = (("authorization", f"Bearer {TOKEN}"),)
        assert anyio.run(partial(read_all, target, "s1", bearer)) == ["hello"]
        for metadata in ((), (("authorization", "Bearer " + TOKEN[1:]),)):
            with pytest.raises(aio.AioRpcError) as caught:
                anyio.run(partial(read_all, target, "s1", metadata))
            assert caught.value.code() is StatusCode.UNAUTHENTICATED


@pytest.mark.requirement("G-HUB-5")
@pytest.mark.parametrize("listen", ["127.0.0.1:0", "0.0.0.0:0", "[::]:0", "localhost:0"])
def test_tcp_without_a_token_is_refused(folder: Path, listen: str) -> None:
    status, said = refused("--listen", listen)
    assert (status, "--listen and --token-file go together" in said) == (2, True)
    assert not (folder / "compass").exists()


@pytest.mark.parametrize("text", [None, "", "short", "with a space in the middle", "é" * 20])
def test_a_token_file_that_holds_none_is_refused(folder: Path, text: str | None) -> None:
    if text is not None:
        (folder / "token").write_text(text, "utf-8")
    status, said = refused("--listen", "127.0.0.1:0", "--token-file", folder / "token")
    assert (status, str(folder / "token") in said) == (65, True)


@pytest.mark.parametrize("listen", ["here", "1:2:3", "host:70000", "http://host:1", ":80"])
def test_a_place_that_is_none_is_bad_usage(folder: Path, listen: str) -> None:
    status, said = refused("--listen", listen, "--token-file", folder / "token")
    assert (status, "such as 127.0.0.1:7330" in said) == (2, True)


def test_a_hub_cannot_be_the_log_of_a_hub(folder: Path) -> None:
    assert refused("--log", f"unix:{folder}/other.sock")[0] == 65
