"""A socket is its owner's alone from the moment it exists, and takes nobody else's place."""

from __future__ import annotations

import os
import socket
import stat
import threading
from typing import TYPE_CHECKING

import pytest

from compass_agent.errors.codes import ErrorCode
from compass_agent.services.sockets import SocketRefusedError, owned_socket
from hubs import short_folder

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path


@pytest.fixture
def folder() -> Generator[Path]:
    with short_folder() as made:
        yield made


class Listener:
    """Makes a socket as servers do: bind, then listen."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.socket: socket.socket | None = None

    def __call__(self) -> None:
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(str(self.path))
        self.socket.listen()

    def close(self) -> None:
        if self.socket is not None:
            self.socket.close()


@pytest.fixture
def listener(folder: Path) -> Generator[Listener]:
    made = Listener(folder / "place" / "hub.sock")
    yield made
    made.close()


def refused(listener: Listener) -> SocketRefusedError:
    with pytest.raises(SocketRefusedError) as caught, owned_socket(listener.path, listener):
        pass
    assert str(listener.path.parent) in caught.value.reason
    return caught.value


@pytest.mark.requirement("G-HUB-5")
def test_at_umask_0_the_socket_is_never_open_to_others(listener: Listener) -> None:
    seen: list[tuple[int, int]] = []
    stop, looked = threading.Event(), threading.Event()

    def poll() -> None:
        while not stop.is_set():
            for path in (listener.path.parent, listener.path):
                try:
                    found = path.lstat()
                except FileNotFoundError:
                    continue
                seen.append((stat.S_IFMT(found.st_mode), stat.S_IMODE(found.st_mode)))
                if stat.S_ISSOCK(found.st_mode):
                    looked.set()

    before = os.umask(0)
    poller = threading.Thread(target=poll)
    poller.start()
    try:
        for _ in range(50):
            looked.clear()
            with owned_socket(listener.path, listener):
                assert looked.wait(10)
            listener.close()
    finally:
        stop.set()
        poller.join()
        assert os.umask(before) == 0
    assert set(seen) == {(stat.S_IFDIR, 0o700), (stat.S_IFSOCK, 0o600)}


@pytest.mark.parametrize("umask", [0o277, 0o377, 0o577, 0o777])
def test_a_umask_that_denies_the_owner_changes_no_mode(listener: Listener, umask: int) -> None:
    before = os.umask(umask)
    try:
        with owned_socket(listener.path, listener):
            lock = listener.path.with_name("hub.sock.lock")
            modes = [path.stat().st_mode for path in (listener.path.parent, listener.path, lock)]
    finally:
        os.umask(before)
    assert [oct(stat.S_IMODE(mode)) for mode in modes] == ["0o700", "0o600", "0o600"]


def test_a_socket_that_nobody_listens_to_is_replaced_and_removed_at_the_end(
    listener: Listener,
) -> None:
    listener.path.parent.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(listener.path))
    with owned_socket(listener.path, listener), socket.socket(socket.AF_UNIX) as client:
        client.connect(str(listener.path))
    assert not listener.path.exists()


@pytest.mark.requirement("G-HUB-5")
def test_a_socket_that_somebody_listens_to_is_refused_and_stays(listener: Listener) -> None:
    listener.path.parent.mkdir(mode=0o700)
    listener()
    error = refused(listener)
    assert error.code is ErrorCode.CONFLICT
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(listener.path))


def test_of_two_that_come_at_once_one_is_refused(listener: Listener) -> None:
    with owned_socket(listener.path, listener):
        listener.path.unlink()  # as if it were not there yet
        assert refused(Listener(listener.path)).code is ErrorCode.CONFLICT


@pytest.mark.requirement("G-HUB-5")
def test_a_link_in_the_place_of_the_socket_is_refused(listener: Listener, folder: Path) -> None:
    listener.path.parent.mkdir(mode=0o700)
    elsewhere = folder / "elsewhere"
    listener.path.symlink_to(elsewhere)
    assert refused(listener).code is ErrorCode.PERMISSION_DENIED
    assert not elsewhere.exists()
    assert listener.path.is_symlink()


def test_a_file_in_the_place_of_the_socket_is_refused_and_stays(listener: Listener) -> None:
    listener.path.parent.mkdir(mode=0o700)
    listener.path.write_text("mine", "ascii")
    assert refused(listener).code is ErrorCode.PERMISSION_DENIED
    assert listener.path.read_text("ascii") == "mine"


def test_a_link_in_the_place_of_the_lock_is_refused(listener: Listener, folder: Path) -> None:
    listener.path.parent.mkdir(mode=0o700)
    (listener.path.parent / "hub.sock.lock").symlink_to(folder / "elsewhere")
    assert refused(listener).code is ErrorCode.PERMISSION_DENIED
    assert not (folder / "elsewhere").exists()


def test_a_link_in_the_place_of_the_folder_is_refused(listener: Listener, folder: Path) -> None:
    (folder / "real").mkdir(mode=0o700)
    listener.path.parent.symlink_to(folder / "real")
    assert refused(listener).code is ErrorCode.PERMISSION_DENIED


@pytest.mark.parametrize("mode", [0o755, 0o710, 0o777, 0o702])
def test_a_folder_that_others_may_enter_is_refused(listener: Listener, mode: int) -> None:
    listener.path.parent.mkdir()
    listener.path.parent.chmod(mode)
    assert refused(listener).code is ErrorCode.PERMISSION_DENIED
    assert stat.S_IMODE(listener.path.parent.stat().st_mode) == mode


@pytest.mark.requirement("G-HUB-5")
def test_a_folder_of_somebody_else_is_refused(
    listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    listener.path.parent.mkdir(mode=0o700)
    if os.geteuid() == 0:
        os.chown(listener.path.parent, 12345, 12345)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: 12345)
    error = refused(listener)
    assert error.code is ErrorCode.PERMISSION_DENIED
    assert "somebody else" in error.reason


def test_a_place_where_no_socket_can_be_made_is_unsupported_input(folder: Path) -> None:
    assert refused(Listener(folder / "no" / "such" / "hub.sock")).code == "unsupported_input"
    assert refused(Listener(folder / ("x" * 120) / "hub.sock")).code == "unsupported_input"


def test_a_bind_that_makes_the_socket_open_to_others_is_refused(listener: Listener) -> None:
    def careless() -> None:
        listener()
        listener.path.chmod(0o666)

    with pytest.raises(SocketRefusedError), owned_socket(listener.path, careless):
        pass
