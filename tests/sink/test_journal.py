"""Priority frames are on disk before emit returns, and leave it once they are answered."""

from __future__ import annotations

import logging
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from compass_agent.sink import FrameSink
from compass_agent.sink.journal import REFUSED, Journal, lock
from compass_agent.wire import Batch
from journals import EPOCH, HEAD, full_disk, journalled, kept, message_of, seqs_in
from sinks import assert_balanced, error, refused, stored, text


def settled(sink: FrameSink) -> Batch:
    """Have the next batch stored."""
    batch = sink.take()
    assert batch is not None
    sink.settle(batch, stored(batch))
    return batch


@pytest.mark.requirement("G-SINK-8")
@pytest.mark.parametrize("fsync", [False, True])
def test_a_priority_frame_is_on_disk_when_emit_returns(tmp_path: Path, *, fsync: bool) -> None:
    sink, path = journalled(tmp_path, fsync=fsync)

    sink.emit(error("first"))
    assert [message_of(frame.data) for frame in kept(path).frames] == ["first"]
    sink.emit(text())
    sink.emit(error("second"))

    assert seqs_in(path) == [(1, 0), (3, 1)]
    assert kept(path).head == HEAD


@pytest.mark.requirement("G-SINK-8")
def test_the_end_mark_is_on_disk_when_the_epoch_ends(tmp_path: Path) -> None:
    sink, path = journalled(tmp_path)
    sink.emit(error())
    sink.emit(text())

    sink.end(4, "done")

    mark = kept(path).end
    assert mark is not None
    assert (mark.state, mark.reason, mark.last_seq, mark.prev_priority) == (4, "done", 2, 1)


def test_frames_from_before_the_journal_are_in_it(tmp_path: Path) -> None:
    sink = FrameSink("s", epoch=EPOCH)
    sink.emit(error())
    sink.emit(text())
    journal = Journal(tmp_path / "j", HEAD)
    journal.open()

    sink.use_journal(journal)
    sink.emit(error())

    assert seqs_in(tmp_path / "j") == [(1, 0), (3, 1)]


def test_frames_leave_when_they_are_answered(tmp_path: Path) -> None:
    sink, path = journalled(tmp_path)
    sink.emit(error())
    sink.emit(error())
    batch = sink.take()
    assert batch is not None
    sink.emit(error())

    sink.settle(batch, stored(batch))
    assert [seq for seq, _ in seqs_in(path)][-1] == 3
    settled(sink)
    assert seqs_in(path) == []
    sink.emit(error())

    assert seqs_in(path) == [(4, 3)]


def test_the_file_does_not_grow_while_all_is_answered(tmp_path: Path) -> None:
    sink, path = journalled(tmp_path)
    for number in range(1_000):
        sink.emit(error(f"number {number}"))
        settled(sink)

    assert path.stat().st_size < 1_000


def test_the_file_does_not_grow_while_something_always_waits(tmp_path: Path) -> None:
    sink, path = journalled(tmp_path)
    sink.emit(error("x" * 100_000))
    for _ in range(100):
        batch = sink.take()
        assert batch is not None
        sink.emit(error("x" * 100_000))
        sink.settle(batch, stored(batch))

    assert path.stat().st_size < 1_500_000
    assert seqs_in(path)[-1] == (101, 100)


def test_a_compacted_journal_holds_all_that_waits(tmp_path: Path) -> None:
    sink, path = journalled(tmp_path)
    for _ in range(20):
        sink.emit(error("x" * 100_000))
    for _ in range(3):
        sink.emit(text())
        sink.emit(error())
    before = path.stat().st_ino
    while path.stat().st_ino == before:
        settled(sink)

    waiting = sink.statistics().priority.waiting
    assert waiting
    assert [seq for seq, _ in seqs_in(path)] == [*range(1, 21), 22, 24, 26][-waiting:]
    sink.emit(error())
    assert seqs_in(path)[-1] == (27, 26)


def test_an_epoch_that_ended_and_was_answered_leaves_no_file(tmp_path: Path) -> None:
    sink, path = journalled(tmp_path)
    sink.emit(error())
    sink.end(4)
    settled(sink)
    assert path.exists()
    settled(sink)

    assert list(path.parent.iterdir()) == []


def test_an_end_that_is_not_answered_stays(tmp_path: Path) -> None:
    sink, path = journalled(tmp_path)
    sink.emit(error())
    sink.end(4)
    settled(sink)
    sink.close_journal()

    assert kept(path).end is not None


@pytest.mark.requirement("G-PUMP-4")
def test_a_refused_frame_stays_and_a_notice_takes_its_place(tmp_path: Path) -> None:
    sink, path = journalled(tmp_path)
    sink.emit(error("bad"))
    batch = sink.take()
    assert batch is not None
    sink.settle(batch, refused(batch))

    found = kept(path)
    assert [(seq, message_of(data)) for seq, data in found.refused] == [(1, "bad")]
    assert [frame.seq for frame in found.frames] == [1]
    assert "refused a frame" in message_of(found.frames[0].data)

    settled(sink)
    assert kept(path).frames == []
    sink.emit(error("good"))
    assert [seq for seq, _ in kept(path).refused] == [1]
    sink.end(4)
    settled(sink)
    settled(sink)
    (left,) = path.parent.iterdir()
    assert left.name == path.name + REFUSED
    assert [(seq, message_of(data)) for seq, data in kept(left).refused] == [(1, "bad")]


@pytest.mark.requirement("G-SINK-9")
def test_a_full_disk_counts_and_the_frame_stays_in_the_lane(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    sink, path = journalled(tmp_path)
    sink.emit(error("fits"))
    with full_disk(path.stat().st_size + 30):
        sink.emit(error("does not fit " * 10))
        sink.emit(error("does not fit either " * 10))
    sink.emit(error("fits again"))

    statistics = sink.statistics()
    assert statistics.journal_errors == 2
    assert statistics.priority.waiting == 4
    assert seqs_in(path) == [(1, 0), (4, 3)]
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert record.message.endswith("is lost if this process is killed: No space left on device")
    assert_balanced(sink)


@pytest.mark.requirement("G-SINK-9")
def test_a_folder_that_cannot_be_made_counts_each_frame(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "journals").write_text("no folder")
    sink, _ = journalled(tmp_path)

    sink.emit(error())
    sink.emit(text())
    sink.end(4)

    assert sink.statistics().journal_errors == 2
    assert len(caplog.records) == 1
    settled(sink)
    settled(sink)
    assert sink.is_drained()


@pytest.mark.requirement("G-SINK-9")
def test_a_folder_that_may_not_be_written_counts_each_frame(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    us = os.geteuid()
    try:
        if us == 0:  # whom no mode stops
            os.seteuid(65_534)
        sink, _ = journalled(tmp_path)
        sink.emit(error())
        assert sink.statistics().journal_errors == 1
    finally:
        os.seteuid(us)
        tmp_path.chmod(0o700)


@pytest.mark.requirement("G-SINK-9")
def test_a_folder_that_was_removed_is_noticed_and_made_again(tmp_path: Path) -> None:
    sink, path = journalled(tmp_path)
    shutil.rmtree(path.parent)
    sink.emit(error())
    batch = sink.take()
    assert batch is not None
    sink.emit(error())
    sink.emit(error())
    sink.settle(batch, stored(batch))

    assert sink.statistics().journal_errors == 2
    assert seqs_in(path) == [(2, 1), (3, 2)]


@pytest.mark.parametrize("umask", [0, 0o277, 0o377, 0o577, 0o777])
def test_the_file_is_for_its_owner_alone_at_any_umask(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        _, path = journalled(tmp_path)
    finally:
        os.umask(before)

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_folder_that_is_open_to_others_is_closed(tmp_path: Path) -> None:
    (tmp_path / "journals").mkdir()
    (tmp_path / "journals").chmod(0o777)
    _, path = journalled(tmp_path)

    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_link_in_the_place_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "journals").symlink_to(tmp_path / "elsewhere")
    sink, _ = journalled(tmp_path)
    sink.emit(error())

    assert sink.statistics().journal_errors == 1
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_file_is_locked_as_long_as_its_writer_has_it(tmp_path: Path) -> None:
    sink, path = journalled(tmp_path)
    sink.emit(error())
    with path.open("rb") as other:
        assert not lock(other.fileno())
        sink.close_journal()
        assert lock(other.fileno())


WITH_OURS = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
FORK = """
import os, sys, threading
from pathlib import Path
from journals import journalled, seqs_in
from sinks import error

sink, path = journalled(Path(sys.argv[1]))
stop = threading.Event()
started = threading.Barrier(3)

def emit():
    sink.emit(error())
    started.wait()
    while not stop.is_set():
        sink.emit(error())

threads = [threading.Thread(target=emit) for _ in range(2)]
for thread in threads:
    thread.start()
started.wait()
for _ in range(20):
    child = os.fork()
    if not child:
        before = sink.statistics()
        sink.emit(error())
        sink.end(4)
        after = sink.statistics()
        off = after.after_end == before.after_end + 1
        os._exit(0 if off and after.priority == before.priority else 1)
    assert os.waitpid(child, 0)[1] == 0
stop.set()
for thread in threads:
    thread.join()
seqs = [seq for seq, _ in seqs_in(path)]
assert seqs == list(range(1, len(seqs) + 1)), "a child wrote"
assert len(seqs) == sink.statistics().priority.emitted
assert sink.statistics().after_end == 0
print("fine")
"""


@pytest.mark.requirement("G-SINK-10")
def test_the_child_of_a_fork_is_off_and_leaves_its_parent_alone(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORK, tmp_path],
        env=WITH_OURS,
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )

    assert (done.stdout, done.returncode) == ("fine\n", 0), done.stderr


def test_the_lock_of_a_parent_does_not_live_on_in_its_child(tmp_path: Path) -> None:
    script = (
        "import os, sys; from pathlib import Path; from journals import journalled;"
        "sink, path = journalled(Path(sys.argv[1])); read, write = os.pipe();"
        "child = os.fork(); os.read(read, 1) if not child else print(child, flush=True)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, tmp_path], stdout=subprocess.PIPE, env=WITH_OURS
    ) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        parent.wait()
    try:
        with (tmp_path / "journals" / "one.journal-v1").open("rb") as file:
            assert lock(file.fileno())
    finally:
        os.kill(child, 9)
