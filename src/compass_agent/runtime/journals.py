"""Makes the journals of this process, finds those of processes that are gone, and delivers them.

They are in one folder, beside the log that is used when nobody says otherwise. A file's name tells
the log, by a hash of its URL, and when the epoch was opened; so the next process that opens a
session in the same log finds them, oldest first.
"""

from __future__ import annotations

__all__ = (
    "deliver_all",
    "deliver_journals",
    "journal_folder",
    "keep_delivering",
    "new_journal",
    "removed_with",
)

import logging
import os
import stat
import time
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
from anyio.to_thread import run_sync

from compass_agent.errors.codes import ErrorCode, OperationError
from compass_agent.errors.worded import words_of
from compass_agent.log import default_path, log_file
from compass_agent.runtime.delivery import deliver
from compass_agent.runtime.upkeep import Trying
from compass_agent.sink.journal import REFUSED, SUFFIX, Journal, is_held, lock
from compass_agent.sink.records import JournalContents, unpack

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator

    from compass_agent.runtime.shared_log import Transport
    from compass_agent.sink.records import JournalHead

_logger = logging.getLogger("compass_agent.runtime")

# Between making a file and naming it a writer needs less than a second.
_LEFTOVER_S = 3600.0

_DELIVER_EVERY_S = 30.0

# What may be of one journal alone: of its session, and of what this process may do to that.
_OF_ONE = (ErrorCode.PERMISSION_DENIED, ErrorCode.STORAGE_FAILED, ErrorCode.INTERNAL)

# The journals that stay, of which it was said: they are tried again and again.
_told: set[tuple[str, str]] = set()

# A clock that is so much behind stepped back, or is about to by being slowed down.
_STEPPED_NS = 50_000_000


def journal_folder() -> Path:
    """Return the folder of the journals; it need not be there."""
    return default_path().parent / "journals"


def new_journal(head: JournalHead, *, fsync: bool = False) -> Journal | None:
    """Return the open journal of a new epoch; None: the log is in memory and goes with us.

    Never raises: a journal that could not be made counts each frame as an error.
    """
    url = _absolute(head.log)
    if url.startswith("memory:"):
        return None
    name = f"{_key(url)}-{_next_stamp(url):013d}-{head.epoch}{SUFFIX}"
    journal = Journal(journal_folder() / name, replace(head, log=url), fsync=fsync)
    journal.open()
    return journal


# What this process named last, and how far the clock was ahead of the one that never steps then:
# by folder and log.
_stamps: dict[tuple[Path, str], tuple[int, int]] = {}


def _next_stamp(url: str) -> int:
    """Return the milliseconds of now, or what is behind all journals of that log.

    They are delivered by their names, and a clock may step back. The folder is read only when this
    process opens its first session in that log, or after such a step.
    """
    now_ns = time.time_ns()
    ahead = now_ns - time.monotonic_ns()
    key = (journal_folder(), _key(url))
    last, before = _stamps.get(key, (0, None))
    behind = [now_ns // 1_000_000, last + 1]
    if before is None or ahead < before - _STEPPED_NS:
        stamps = (name.split("-")[1] for name in _find(url))
        behind += [int(stamp) + 1 for stamp in stamps if stamp.isdecimal()]
    stamp = max(behind)
    _stamps[key] = (stamp, ahead)
    return stamp


def _absolute(url: str) -> str:
    """Return the URL as any process may write it, wherever that runs."""
    scheme, _, rest = url.partition(":")
    if scheme not in ("sqlite", "unix"):
        return url
    # How a log is kept is no part of which one it is.
    path = (log_file(url) if scheme == "sqlite" else None) or Path(rest).expanduser()
    return f"{scheme}:{os.path.realpath(path)}"


def _key(url: str) -> str:
    return blake2b(os.fsencode(url), digest_size=8).hexdigest()


async def deliver_journals(url: str, way: Transport) -> int:
    """Deliver to the log what processes that are gone left for it; return how many journals.

    A journal whose writer lives, or that somebody else delivers, is not touched. One that was
    delivered is removed; one that the log does not take, or that cannot be read, is renamed. One
    that is not taken now, such as from us, stays for the next time, and the others go on.

    Args:
        url: The log, as the writers named it.
        way: How to reach it.

    Raises:
        OperationError: The log cannot be reached now. What is left is there for the next time.
    """
    url = _absolute(url)
    delivered = 0
    found = _take_each(url)
    while (free := await run_sync(next, found, None)) is not None:
        try:
            delivered += await _deliver(free, url, way)
        finally:
            os.close(free.fd)
    return delivered


async def deliver_all(urls: Iterable[str], way: Transport) -> None:
    """Deliver what was left for a log by any of its URLs. Raises nothing: it is tried again."""
    await _deliver_each(_each(urls), way)


async def keep_delivering(urls: Iterable[str], way: Transport) -> None:
    """Deliver every 30 seconds, until it is cancelled: for a hub, whose agents may be gone.

    What fails is logged once, until it works again.
    """
    each = _each(urls)
    while True:
        await anyio.sleep(_DELIVER_EVERY_S)
        await _deliver_each(each, way)


def _each(urls: Iterable[str]) -> dict[str, Trying]:
    return {url: Trying("journals could not be delivered") for url in urls}


async def _deliver_each(urls: dict[str, Trying], way: Transport) -> None:
    for url, trying in urls.items():
        await trying.once(partial(deliver_journals, url, way))


@contextmanager
def removed_with(url: str, session: str) -> Generator[list[Path]]:
    """Remove what writers of a session that are gone left for a log, when the block ends well.

    Nobody delivers it meanwhile. What a writer at work has is not touched, nor what was left for a
    hub that serves that log.

    Args:
        url: The log, as the writers named it.
        session: The session.
    """
    url = _absolute(url)
    held: list[_Free] = []
    try:
        for free in _take_each(url):
            head = free.contents.head if free.contents is not None else None
            if head is not None and (head.log, head.session) == (url, session):
                held.append(free)
            else:
                os.close(free.fd)
        yield [free.path for free in held]
        for free in held:
            free.remove()
    finally:
        for free in held:
            os.close(free.fd)


def _take_each(url: str) -> Iterator[_Free]:
    """Give the journals of a log that are free, oldest first, each locked as it is asked for."""
    folder = journal_folder()
    for name in _find(url):
        path = os.path.join(folder, name)  # noqa: PTH118 - for each session that is open
        free = None if is_held(path) else _take(Path(path))
        if free is not None:
            yield free


def _find(url: str) -> list[str]:
    """Return the names of the journals of a log, oldest first."""
    folder, begin = journal_folder(), f"{_key(url)}-"
    found: list[str] = []
    try:
        for name in os.listdir(folder):  # noqa: PTH208 - for each session that is opened
            if name.startswith(begin) and name.endswith(SUFFIX):
                found.append(name)
            elif name.startswith(f".{begin}"):
                _remove_leftover(folder / name)
    except OSError as error:
        if not isinstance(error, FileNotFoundError):
            _logger.warning("the folder of the journals cannot be read: %s", words_of(error))
    return sorted(found)


def _remove_leftover(path: Path) -> None:
    """Remove a file that never got its name: nothing in it was promised."""
    try:
        if path.stat().st_mtime < time.time() - _LEFTOVER_S:
            path.unlink()
    except OSError as error:
        _logger.debug("%s stays: %s", path.name, words_of(error))


@dataclass(frozen=True, slots=True)
class _Free:
    """A journal that is locked by us; `contents` is None when it cannot be read."""

    path: Path
    fd: int
    contents: JournalContents | None

    def remove(self) -> None:
        """Remove the file."""
        try:
            self.path.unlink(missing_ok=True)
        except OSError as error:
            _logger.warning("%s cannot be removed: %s", self.path, words_of(error))

    def stays(self, error: Exception) -> None:
        """Say, once, that the journal stays where it is and is tried again."""
        kind = error.code if isinstance(error, OperationError) else type(error).__name__
        told = (str(self.path), kind)
        session = self.contents.head.session if self.contents is not None else ""
        level = logging.DEBUG if told in _told else logging.WARNING
        _told.add(told)
        text = "the journal %s of session %s stays, and is tried again later: %s"
        _logger.log(level, text, self.path, session, words_of(error))

    def keep_refused(self, why: object) -> None:
        """Keep the journal where nobody delivers it again; where it is, if it cannot be moved."""
        kept = self.path.with_name(self.path.name + REFUSED)
        try:
            self.path.rename(kept)
        except OSError as error:
            text = "%s is not delivered, and cannot be moved: %s"
            _logger.warning(text, self.path, words_of(error))
        else:
            _logger.warning("the journal %s is kept, not delivered: %s", kept, why)


def _take(path: Path) -> _Free | None:
    """Lock a journal and read it; None: it is not free, or gone."""
    try:
        fd = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    free = None
    try:
        # Whoever had the lock may have delivered and removed the file in between.
        found = os.fstat(fd)
        # Reading a pipe that somebody put there would never end.
        if stat.S_ISREG(found.st_mode) and lock(fd) and os.path.samestat(found, path.lstat()):
            free = _Free(path, fd, _read(fd))
    except OSError as error:
        _logger.debug("%s is left alone: %s", path.name, words_of(error))
    finally:
        if free is None:
            os.close(fd)
    return free


def _read(fd: int) -> JournalContents | None:
    with open(fd, "rb", closefd=False) as file:
        try:
            return unpack(file.read())
        except OperationError:
            return None


async def _deliver(free: _Free, url: str, way: Transport) -> int:
    """Deliver one journal; return 1 when the log has all of it now."""
    contents = free.contents
    try:
        if contents is None:
            free.keep_refused("it cannot be read")
        elif contents.head.log == url:
            refused = await deliver(contents, way)
            if refused or contents.refused:
                free.keep_refused("the log refused some of its frames")
            else:
                free.remove()
                return 1
    except OperationError as error:
        if error.code in (ErrorCode.UNSUPPORTED_INPUT, ErrorCode.CONFLICT):
            free.keep_refused(error)
        elif error.code in _OF_ONE:
            free.stays(error)
        elif error.code is not ErrorCode.NOT_FOUND:  # the session is being deleted
            raise
    except Exception as error:  # noqa: BLE001 - one that nobody foresaw keeps no other waiting
        free.stays(error)  # It says nothing of the journal, so it is no reason to give that up.
    return 0
