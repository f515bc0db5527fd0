"""Keeps the priority frames of one epoch on disk until the log has them. Never raises.

One file, for its owner alone, locked as long as its writer lives. Adding a frame is one write to
the operating system. Whoever finds the file without a lock may deliver it: its writer is gone.
"""

from __future__ import annotations

__all__ = ("REFUSED", "SUFFIX", "Journal", "is_held", "lock", "make_folder", "was_delivered")

import errno
import fcntl
import os
import stat
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from compass_agent.sink.records import (
    STOP,
    JournalHead,
    KeptFrame,
    pack_end,
    pack_frame,
    pack_head,
    pack_refused,
    seed_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from compass_agent.wire import EndMark

SUFFIX = ".journal-v1"
"""The version of the format is part of the name: another version does not find the file."""

REFUSED = ".refused"
"""What is added to the name of a journal that the log does not take."""

# Below this size what was acknowledged may stay in the file until nothing waits.
_COMPACT_BYTES = 1024 * 1024

# Between two attempts to make a file that could not be made.
_AGAIN_S = 1.0

# Those that this process has locked. A child of a fork gives up its parent's.
_held: set[str] = set()


def is_held(path: str) -> bool:
    """Tell whether a writer of this process has the file at `path`, without opening it."""
    return path in _held


def was_delivered(path: Path) -> bool:
    """Tell whether somebody delivered the journal that was given up at `path`: it is gone."""
    return not os.path.exists(path) and not os.path.exists(f"{path}{REFUSED}")  # noqa: PTH110 - for each that is left


class Journal:
    """One epoch's file. The sink's lock guards every call after `open`.

    Args:
        path: The file; its folder is made where there is none.
        head: Whose frames it holds.
        fsync: Wait for the disk after each frame, so that a loss of power loses none either.

    Attributes:
        errors: How many frames could not be written.
        waiting: Gives all frames that belong into the file, the one that is added included: for a
            file that could not be made, and is made later.
    """

    def __init__(self, path: Path, head: JournalHead, *, fsync: bool = False) -> None:
        self.path = path
        self.errors = 0
        self.waiting: Callable[[], Iterable[KeptFrame]] | None = None
        self._complaint: OSError | None = None
        self._complained = False
        self._head = pack_head(head)
        self._seed = seed_of(head.epoch)
        self._fsync = fsync
        self._fd = -1
        self._begin = 0  # where the frames that may go begin
        self._end = 0  # behind the last record
        self._refused = b""
        self._mark = b""
        self._finished = False
        self._again_at = 0.0

    def open(self) -> None:
        """Make the file, locked. When that fails, it is tried again with later frames."""
        try:
            self._replace(b"")
        except OSError as error:
            self._note(error)

    def _note(self, error: OSError) -> None:
        self._complaint = self._complaint or error
        self._again_at = time.monotonic() + _AGAIN_S

    def _make_with_all(self) -> bool:
        """Make the file that could not be made, with all that waits; False: there is none still."""
        if self._finished or self.waiting is None or time.monotonic() < self._again_at:
            return False
        self.rewrite(self.waiting(), ())
        return self._fd >= 0

    def add(self, seq: int, prev_priority: int, data: bytes) -> None:
        """Have a frame on disk, or count an error."""
        self._append(pack_frame(KeptFrame(seq, prev_priority, data), self._seed))

    def add_end(self, mark: EndMark) -> None:
        """Have the end mark on disk, or count an error."""
        self._mark = pack_end(mark, self._seed)
        self._append(self._mark)

    def _append(self, record: bytes) -> None:
        if self._fd < 0:
            self.errors += not self._make_with_all()
            return
        # A record that was written in part is overwritten by the next one.
        try:
            if os.pwrite(self._fd, record + STOP, self._end) < len(record):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))  # noqa: TRY301 - one way out
            if self._fsync:
                os.fsync(self._fd)
        except OSError as error:
            self.errors += 1
            self._note(error)
        else:
            self._end += len(record)

    def acknowledge_all(self) -> None:
        """Begin anew at the top: the log has all frames. Behind an end mark nothing changes."""
        if self._end == self._begin or self._mark or self._finished:
            return
        # What stands behind is not cut off: that is several times as dear as to write over it.
        with suppress(OSError):  # the log takes what it has already as repeats
            os.pwrite(self._fd, STOP, self._begin)
            if self._end > _COMPACT_BYTES:
                os.ftruncate(self._fd, self._begin + len(STOP))
            self._end = self._begin

    def is_sparse(self, waiting_bytes: int) -> bool:
        """Tell whether the file is large, and most of it was acknowledged."""
        return self._end > _COMPACT_BYTES and waiting_bytes < self._end // 4

    def is_removed(self) -> bool:
        """Tell whether somebody removed the file."""
        if self._fd < 0:
            return False
        try:
            return os.fstat(self._fd).st_nlink == 0
        except OSError:
            return True

    def rewrite(self, waiting: Iterable[KeptFrame], refused: Iterable[tuple[int, bytes]]) -> None:
        """Keep these frames alone, and those that were refused up to now.

        Args:
            waiting: The frames that the log has not acknowledged.
            refused: Frames that it refused for good just now; they stay, with a mark.
        """
        if self._finished:
            return
        self._refused += b"".join(pack_refused(seq, data, self._seed) for seq, data in refused)
        try:
            self._replace(b"".join(pack_frame(frame, self._seed) for frame in waiting))
        except OSError as error:
            self._note(error)

    def _replace(self, frames: bytes) -> None:
        """Put a new file, locked, in the place of the old one, in one step."""
        make_folder(self.path.parent)
        new = self.path.with_name(f".{self.path.name}.new")
        with suppress(FileNotFoundError):
            new.unlink()
        fd = os.open(new, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        begin = self._head + self._refused
        data = begin + frames + self._mark + STOP
        try:
            os.fchmod(fd, 0o600)  # whatever the umask takes from the owner
            if not lock(fd) or os.pwrite(fd, data, 0) < len(data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))  # noqa: TRY301 - one way out
            if self._fsync:
                os.fsync(fd)
            _held.add(str(self.path))  # before others of this process can find it
            new.rename(self.path)
        except OSError:
            if self._fd < 0:
                _held.discard(str(self.path))
            os.close(fd)
            with suppress(OSError):
                new.unlink()
            raise
        self._let_go()
        _held.add(str(self.path))
        self._fd = fd
        self._begin = len(begin)
        self._end = len(data) - len(STOP)
        if self._fsync:
            # The file has its name, so it is ours from now on, also when this fails.
            _sync_folder(self.path.parent)

    def finish(self, *, keep: bool = False) -> None:
        """Remove the file: the log has everything. What it refused is kept beside it.

        Args:
            keep: Keep it in any case: the end mark was refused.
        """
        if self._finished:
            return
        self._finished = True
        try:
            if self._fd >= 0 and (self._refused or keep):
                self.path.rename(self.path.with_name(self.path.name + REFUSED))
            elif self._fd >= 0:
                self.path.unlink(missing_ok=True)
        except OSError as error:
            self._note(error)
        self._let_go()

    def close(self) -> None:
        """Give the file up as it is: whoever comes next delivers it, so it is not made again."""
        self._finished = True
        self._let_go()

    def _let_go(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            with suppress(OSError):
                os.close(fd)
            _held.discard(str(self.path))

    @property
    def given_up(self) -> Path | None:
        """The file, once it is left to others; None: not yet, or it does not hold everything."""
        return self.path if self._finished and not self.errors else None

    def complaint(self) -> OSError | None:
        """Return the first failure, once."""
        if self._complained or self._complaint is None:
            return None
        self._complained = True
        return self._complaint


def _sync_folder(folder: Path) -> None:
    """Wait until the names in the folder are on disk: without, a file may be there unnamed."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def lock(fd: int) -> bool:
    """Lock the file without waiting; False: somebody else holds it."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def make_folder(folder: Path) -> None:
    """Make the folder and those above it that are missing, for their owner alone.

    Raises:
        OSError: It cannot be made, is a link, or belongs to somebody else.
    """
    for missing in (*reversed(folder.parents), folder):
        if not missing.exists():
            missing.mkdir(mode=0o700, exist_ok=True)
            missing.chmod(0o700)  # whatever the umask takes from the owner
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        raise PermissionError(errno.EPERM, "not a folder of this user's own", str(folder))
    if stat.S_IMODE(found.st_mode) & 0o077:
        folder.chmod(0o700)
