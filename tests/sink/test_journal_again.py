"""A journal that could not be made, or that is to be given up or kept, is treated as what it is."""

from __future__ import annotations

import errno
import os
import time
from typing import TYPE_CHECKING

import pytest

from compass_agent.sink import FrameSink
from compass_agent.sink.journal import REFUSED, Journal, is_held, lock
from journals import EPOCH, HEAD, journalled, kept, message_of, seqs_in
from sinks import assert_balanced, error, refused, stored, text

if TYPE_CHECKING:
    from pathlib import Path

    from compass_agent.wire import Batch


def next_of(sink: FrameSink) -> Batch:
    batch = sink.take()
    assert batch is not None
    return batch


class Clock:
    """One that goes on when it is told to."""

    def __init__(self) -> None:
        self.now = time.monotonic()

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(time, "monotonic", clock)
    return clock


@pytest.fixture
def without_folder(tmp_path: Path) -> tuple[FrameSink, Path]:
    """A sink whose journal could not be made: a file stands where its folder has to be."""
    (tmp_path / "journals").write_text("no folder")
    return journalled(tmp_path)


@pytest.mark.requirement("G-SINK-9")
def test_a_journal_that_could_not_be_made_is_made_later_with_all_that_waits(
    clock: Clock,
    without_folder: tuple[FrameSink, Path],
    caplog: pytest.LogCaptureFixture,
) -> None:
    sink, path = without_folder
    sink.emit(error("first"))
    sink.emit(text())
    path.parent.unlink()
    sink.emit(error("too early to try again"))
    assert sink.statistics().journal_errors == 2
    assert not path.exists()
    assert "not a folder of this user's own" in caplog.text
    assert "Bad file descriptor" not in caplog.text

    clock.now += 60
    sink.emit(error("made"))
    sink.emit(error("added"))

    assert seqs_in(path) == [(1, 0), (3, 1), (4, 3), (5, 4)]
    assert sink.statistics().journal_errors == 2
    with path.open("rb") as other:
        assert not lock(other.fileno())
    sink.settle(batch := next_of(sink), stored(batch))
    sink.emit(error("next"))
    assert seqs_in(path) == [(6, 5)]
    assert len(caplog.records) == 1
    assert_balanced(sink)


@pytest.mark.requirement("G-SINK-9")
def test_an_end_mark_makes_a_journal_too(
    clock: Clock, without_folder: tuple[FrameSink, Path]
) -> None:
    sink, path = without_folder
    sink.emit(error())
    path.parent.unlink()
    clock.now += 60
    sink.end(4)

    mark = kept(path).end
    assert mark is not None
    assert (mark.last_seq, mark.prev_priority) == (1, 1)
    assert seqs_in(path) == [(1, 0)]


def test_a_journal_that_was_given_up_is_not_made_again(
    clock: Clock, without_folder: tuple[FrameSink, Path]
) -> None:
    sink, path = without_folder
    path.parent.unlink()
    sink.close_journal()
    clock.now += 60
    sink.emit(error())

    assert not path.parent.exists()
    assert sink.statistics().journal_errors == 1


def test_an_answer_that_comes_after_the_journal_was_given_up_leaves_it_alone(
    tmp_path: Path,
) -> None:
    sink, path = journalled(tmp_path)
    sink.emit(error("bad"))
    assert is_held(str(path))
    sink.close_journal()
    assert not is_held(str(path))
    before = path.read_bytes(), path.stat().st_ino

    sink.settle(batch := next_of(sink), refused(batch))
    sink.end(4)
    for _ in range(3):
        sink.settle(batch := next_of(sink), stored(batch)) if sink.take() else None

    assert (path.read_bytes(), path.stat().st_ino) == before


@pytest.mark.requirement("G-PUMP-7")
def test_a_journal_whose_end_the_log_refuses_is_kept(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    sink, path = journalled(tmp_path)
    sink.emit(error("told"))
    sink.end(4, "done")
    sink.settle(batch := next_of(sink), stored(batch))
    sink.settle(batch := next_of(sink), refused(batch))

    assert sink.is_drained()
    (left,) = path.parent.iterdir()
    assert left.name == path.name + REFUSED
    mark = kept(left).end
    assert mark is not None
    assert mark.reason == "done"
    assert [record.message for record in caplog.records] == [
        "session s: the log refused its end, which is kept"
    ]


def test_a_journal_whose_name_could_not_be_synced_stays_its_writers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "journals"
    folder.mkdir(mode=0o700)
    sync = os.fsync

    def fails(fd: int) -> None:
        if os.fstat(fd).st_ino == folder.stat().st_ino:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        sync(fd)

    monkeypatch.setattr(os, "fsync", fails)
    path = folder / "one.journal-v1"
    made = Journal(path, HEAD, fsync=True)
    made.open()
    sink = FrameSink("s", epoch=EPOCH)
    sink.use_journal(made)
    sink.emit(error("first"))

    assert [message_of(frame.data) for frame in kept(path).frames] == ["first"]
    with path.open("rb") as other:
        assert not lock(other.fileno())
    complaint = made.complaint()
    assert complaint is None or complaint.errno == errno.EIO
