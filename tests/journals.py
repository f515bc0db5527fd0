"""What tests of the journal share: a journal in a folder of the test's own, and what is in one."""

from __future__ import annotations

__all__ = (
    "EPOCH",
    "HEAD",
    "full_disk",
    "journalled",
    "kept",
    "message_of",
    "open_descriptors",
    "seqs_in",
)

import resource
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from compass_agent.frames import SessionFrame
from compass_agent.sink import FrameSink
from compass_agent.sink.journal import Journal
from compass_agent.sink.records import JournalContents, JournalHead, unpack
from compass_agent.wire import SessionMeta

EPOCH = "e" * 16
HEAD = JournalHead("s", EPOCH, "sqlite:/log.db", SessionMeta("a title", "agent", "1"))


def journalled(folder: Path, *, fsync: bool = False) -> tuple[FrameSink, Path]:
    """A sink and the file of its journal."""
    path = folder / "journals" / "one.journal-v1"
    journal = Journal(path, HEAD, fsync=fsync)
    journal.open()
    sink = FrameSink("s", epoch=EPOCH)
    sink.use_journal(journal)
    return sink, path


def kept(path: Path) -> JournalContents:
    """What another process would find in the file now."""
    return unpack(path.read_bytes())


def seqs_in(path: Path) -> list[tuple[int, int]]:
    """The place of each kept frame, and of the priority frame before it."""
    return [(frame.seq, frame.prev_priority) for frame in kept(path).frames]


def message_of(data: bytes) -> str:
    """The text of a failure's frame, or of a notice."""
    event = SessionFrame.FromString(data).typed_event
    return event.session_error.message or event.notice.text


@contextmanager
def full_disk(size: int) -> Generator[None]:
    """Let no file of this process grow beyond `size` bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def open_descriptors() -> int:
    """How many descriptors this process holds."""
    return len([*Path("/dev/fd").iterdir()])
