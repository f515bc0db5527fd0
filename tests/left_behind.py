"""Journals of processes that are gone."""

from __future__ import annotations

__all__ = ("URL", "file_of", "files", "left", "writer")

from pathlib import Path

from compass_agent import FrameSink
from compass_agent.runtime.journals import journal_folder, new_journal
from compass_agent.sink.records import JournalHead
from compass_agent.wire import SessionMeta
from sinks import error, text
from writing_logs import E1

URL = "sqlite:/nowhere/log.db"


def writer(epoch: str = E1, *, url: str = URL, session: str = "s1") -> FrameSink:
    """The sink of a process that will be gone."""
    sink = FrameSink(session, epoch=epoch)
    journal = new_journal(JournalHead(session, epoch, url, SessionMeta("a title")))
    assert journal is not None
    sink.use_journal(journal)
    return sink


def left(epoch: str = E1, *, url: str = URL, session: str = "s1", end: bool = False) -> Path:
    """Two errors of a process that is gone, with words before and between them."""
    sink = writer(epoch, url=url, session=session)
    for frame in (text(), error("first"), text(), error("second")):
        sink.emit(frame)
    if end:
        sink.end(5)
    sink.close_journal()
    return file_of(epoch)


def file_of(epoch: str) -> Path:
    (path,) = (path for path in journal_folder().iterdir() if epoch in path.name)
    return path


def files() -> list[str]:
    return sorted(path.name for path in journal_folder().iterdir())
