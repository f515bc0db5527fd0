"""Unix sockets that are their owner's alone, from the moment they exist.

The system lets nobody connect who may not enter the folder (0700) and write to the socket (0600),
so whoever comes through is the owner, or root. That is the whole check of who calls: gRPC shows no
credentials of a peer.
"""

from __future__ import annotations

__all__ = ("SocketRefusedError", "owned_socket", "place_taken", "prepare_folder")

import fcntl
import os
import socket
import stat
from contextlib import contextmanager
from typing import TYPE_CHECKING

from compass_agent.errors.codes import ErrorCode, OperationError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from pathlib import Path

_LONGEST_PATH = 103
"""Bytes; what the systems take that take the least."""

_FOR_OTHERS = 0o077
_UMASK = 0o177


class SocketRefusedError(OperationError):
    """The socket cannot be made here; `reason` says why, to the person who named the place."""

    def __init__(self, code: ErrorCode, reason: str) -> None:
        super().__init__(code)
        self.reason = reason


def place_taken(place: str) -> SocketRefusedError:
    """Return the failure to listen at `place`, a HOST:PORT."""
    reason = f"{place} is taken by another program, or is no place of this machine"
    return SocketRefusedError(ErrorCode.CONFLICT, reason)


def prepare_folder(folder: Path) -> None:
    """Make `folder` for its owner alone, where there is none, and check the one that is there.

    Raises:
        SocketRefusedError: `permission_denied`: it is somebody else's, others may enter it, or it
            is a symbolic link. `unsupported_input`: it cannot be made.
    """
    try:
        _make_folder(folder)
        found = folder.lstat()
    except PermissionError as error:
        reason = f"there is no permission to make {folder}"
        raise SocketRefusedError(ErrorCode.PERMISSION_DENIED, reason) from error
    except (OSError, ValueError) as error:
        reason = f"{folder} cannot be made; the folder above it has to be there"
        raise SocketRefusedError(ErrorCode.UNSUPPORTED_INPUT, reason) from error
    if not stat.S_ISDIR(found.st_mode):
        reason = f"{folder} is a link, and has to be a folder"
    elif found.st_uid != os.geteuid():
        reason = f"{folder} belongs to somebody else"
    elif stat.S_IMODE(found.st_mode) & _FOR_OTHERS:
        reason = f"others may enter {folder}; its mode has to be 0700"
    else:
        return
    raise SocketRefusedError(ErrorCode.PERMISSION_DENIED, reason)


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        if not folder.is_dir():
            raise
    else:
        folder.chmod(0o700)  # whatever the umask takes from the owner


@contextmanager
def owned_socket(path: Path, bind: Callable[[], object]) -> Generator[None]:
    """Let `bind` make the socket at `path`, and hold the place until the block is left.

    The folder has to be ours and 0700; a missing one is made. The socket is 0600 from the moment it
    exists, whatever the umask of the process. A socket that nobody listens to is replaced. At
    the end the socket is removed.

    Args:
        path: Where, as an absolute path.
        bind: Makes the socket there, and listens.

    Raises:
        SocketRefusedError: `permission_denied`: the folder or what is at `path` is not ours alone.
            `conflict`: somebody listens there. `unsupported_input`: no socket can be made there.
    """
    if len(os.fsencode(path)) > _LONGEST_PATH:
        reason = f"{path} is too long for a socket: at most {_LONGEST_PATH} bytes"
        raise SocketRefusedError(ErrorCode.UNSUPPORTED_INPUT, reason)
    prepare_folder(path.parent)
    with _held(path):
        _clear(path)
        before = os.umask(_UMASK)
        try:
            bind()
        finally:
            os.umask(before)
        made = _ours(path)
        try:
            yield
        finally:
            _remove(path, made)


@contextmanager
def _held(path: Path) -> Generator[None]:
    """Hold a lock beside the socket, so that of two who come at once one is refused."""
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        lock = os.open(f"{path}.lock", flags, 0o600)
        os.fchmod(lock, 0o600)  # whatever the umask takes from the owner
    except OSError as error:
        reason = f"{path}.lock cannot be opened"
        raise SocketRefusedError(ErrorCode.PERMISSION_DENIED, reason) from error
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise _live(path) from error
        yield
    finally:
        os.close(lock)


def _clear(path: Path) -> None:
    """Remove a socket that nobody listens to; refuse whatever else is there."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(found.st_mode):
        reason = f"{path} is there and is no socket"
        raise SocketRefusedError(ErrorCode.PERMISSION_DENIED, reason)
    if found.st_uid != os.geteuid():
        reason = f"{path} belongs to somebody else"
        raise SocketRefusedError(ErrorCode.PERMISSION_DENIED, reason)
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(0.0)
        try:
            probe.connect(os.fspath(path))
        except (ConnectionRefusedError, FileNotFoundError):
            path.unlink(missing_ok=True)
            return
        except OSError as error:
            # Such as a full backlog: somebody is there.
            raise _live(path) from error
    raise _live(path)


def _ours(path: Path) -> os.stat_result:
    """Return what was made, once it is as it has to be."""
    made = path.lstat()
    fine = stat.S_ISSOCK(made.st_mode) and made.st_uid == os.geteuid()
    if fine and not stat.S_IMODE(made.st_mode) & _FOR_OTHERS:
        return made
    reason = f"what was made at {path} is not ours alone"
    raise SocketRefusedError(ErrorCode.PERMISSION_DENIED, reason)


def _remove(path: Path, made: os.stat_result) -> None:
    """Remove the socket, unless it went already or another stands in its place."""
    try:
        found = path.lstat()
        if (found.st_dev, found.st_ino) == (made.st_dev, made.st_ino):
            path.unlink()
    except FileNotFoundError:
        return


def _live(path: Path) -> SocketRefusedError:
    return SocketRefusedError(ErrorCode.CONFLICT, f"a hub listens at {path} already")
