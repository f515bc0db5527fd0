from __future__ import annotations

import os
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from compass_agent.errors.codes import ErrorCode, OperationError
from compass_agent.frames import Cursor
from compass_agent.log.sqlite import SqliteLog
from compass_agent.log.sqlite.faults import reported
from compass_agent.wire import SessionMeta
from writing_logs import E1, S, batch, end, read_all, state, told

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

META = SessionMeta()
WRITER = """
import sys, anyio
from compass_agent.log.sqlite import SqliteLog
from compass_agent.wire import Batch, SessionMeta

async def main(path, session, frames):
    log = SqliteLog(path)
    await log.open(session, "1" * 16, SessionMeta())
    for seq in range(1, int(frames) + 1):
        if frames == "1000000":
            print(seq - 1, flush=True)
        elif not sys.stdin.readline():
            break
        await log.append(Batch(session, "1" * 16, seq, [], [(seq, b"x" * 200)], seq))
    await log.aclose()

anyio.run(main, *sys.argv[1:])
"""


@pytest.fixture
async def file_log(tmp_path: Path) -> AsyncGenerator[SqliteLog]:
    log = SqliteLog(tmp_path / "log.db", ahead_s=0)
    yield log
    await log.aclose()


def start_writer(path: Path, session: str, frames: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), session, str(frames)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def stored_bytes(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix != ".db-shm"}


async def test_another_process_is_tailed_live(file_log: SqliteLog, tmp_path: Path) -> None:
    await file_log.open("s2", E1, META)
    with start_writer(tmp_path / "log.db", "s2", 30) as writer:
        assert writer.stdin
        pages = file_log.read("s2")
        with anyio.fail_after(20):
            assert told((await anext(pages)).items) == ["caught up"]
            for seq in range(1, 31):
                writer.stdin.write("\n")
                writer.stdin.flush()
                assert told((await anext(pages)).items) == [f"t{seq}"]


async def test_what_was_answered_survives_a_kill_of_the_writer(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    with start_writer(path, S, 1_000_000) as writer:
        assert writer.stdout
        answered = 0
        while answered < 20:
            answered = int(writer.stdout.readline())
        writer.send_signal(signal.SIGKILL)
        answered = max([answered, *(int(line) for line in writer.stdout if line.endswith("\n"))])
    log = SqliteLog(path)
    words = await read_all(log, page_frames=1000)
    assert words[:answered] == [f"t{seq}" for seq in range(1, answered + 1)]
    assert len(words) <= answered + 1
    following = batch(answered + 9, trace=[answered + 9], through=answered + 9)
    assert (await log.append(following)).through == answered + 9
    await log.aclose()


def test_processes_that_make_the_same_file_at_once_all_succeed(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    writers = [start_writer(path, f"w{number}", 1) for number in range(3)]
    for writer in writers:
        writer.communicate("\n", timeout=30)
    assert [writer.returncode for writer in writers] == [0] * 3


def test_sessions_written_from_several_threads_and_logs_at_once_are_all_whole(
    tmp_path: Path,
) -> None:
    shared, other = SqliteLog(tmp_path / "log.db"), SqliteLog(tmp_path / "log.db")
    problems: list[BaseException] = []

    async def write(log: SqliteLog, session: str) -> None:
        await log.open(session, E1, META)
        for seq in range(1, 41):
            await log.append(
                batch(seq, priority=[seq], through=seq, prev_priority=seq - 1, session=session)
            )

    async def write_two(number: int) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(write, shared, f"s{number}")
            tasks.start_soon(write, other, f"s{number + 4}")

    def loop(number: int) -> None:
        try:
            anyio.run(write_two, number, backend="trio" if number % 2 else "asyncio")
        except BaseException as error:  # noqa: BLE001 - told to the test's own thread
            problems.append(error)

    threads = [threading.Thread(target=loop, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert problems == []

    async def check() -> None:
        whole = [f"p{seq}" for seq in range(1, 41)]
        for summary in await shared.sessions():
            assert await read_all(shared, session=summary.session) == whole
        assert len(await shared.sessions()) == 8
        await shared.aclose()
        await other.aclose()

    anyio.run(check)


async def test_a_writer_in_another_thread_and_loop_wakes_the_reader_without_being_asked(
    file_log: SqliteLog, tmp_path: Path
) -> None:
    other = SqliteLog(tmp_path / "log.db")
    await file_log.open(S, E1, META)
    pages = file_log.read(S)
    await anext(pages)
    vars(file_log)["ask"] = anyio.lowlevel.checkpoint
    for seq in range(1, 6):
        writer = other if seq % 2 else file_log
        thread = threading.Thread(
            target=anyio.run, args=(writer.append, batch(seq, trace=[seq], through=seq))
        )
        thread.start()
        with anyio.fail_after(5):
            assert told((await anext(pages)).items) == [f"t{seq}"]
        await anyio.to_thread.run_sync(thread.join)
    await other.aclose()


@pytest.mark.requirement("G-LOG-1")
async def test_the_same_batch_twice_changes_nothing_on_disk(
    file_log: SqliteLog, tmp_path: Path
) -> None:
    await file_log.open(S, E1, META)
    once = batch(1, priority=[2], trace=[1], through=2)
    await file_log.append(once)
    before = stored_bytes(tmp_path)
    await file_log.append(once)
    assert stored_bytes(tmp_path) == before
    await file_log.append(batch(2, trace=[3], through=3, prev_priority=2))
    assert stored_bytes(tmp_path) != before


async def test_what_was_stored_is_there_after_closing_and_opening(tmp_path: Path) -> None:
    log = SqliteLog(tmp_path / "log.db", durability="full")
    await log.open(S, E1, SessionMeta("title", "agent", "1"))
    await log.append(batch(1, priority={2: state(5)}, trace=[1], through=2, lost_priority=0))
    await log.append(end(2, 4, 2))
    words, summaries = await read_all(log), await log.sessions()
    await log.aclose()
    again = SqliteLog(tmp_path / "log.db")
    assert (await read_all(again), await again.sessions()) == (words, summaries)
    assert (await again.append(end(2, 4, 2))).through == 4
    await again.aclose()


@pytest.mark.requirement("G-READ-4")
async def test_no_read_transaction_stays_open_between_pages(
    file_log: SqliteLog, tmp_path: Path
) -> None:
    await file_log.open(S, E1, META)
    await file_log.append(batch(1, trace=range(1, 100), through=99))
    pages = file_log.read(S, page_frames=2)
    await anext(pages)
    await file_log.append(batch(2, trace=[100], through=100))
    other = sqlite3.connect(tmp_path / "log.db")
    busy, left, _ = other.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    other.close()
    assert (busy, left) == (0, 0)


async def test_a_deletion_gives_the_room_back(file_log: SqliteLog, tmp_path: Path) -> None:
    await file_log.open(S, E1, META)
    await file_log.append(batch(1, trace=range(1, 9001), through=9000))

    def pages() -> int:
        other = sqlite3.connect(tmp_path / "log.db")
        (count,) = other.execute("PRAGMA page_count").fetchone()
        left = other.execute("SELECT count(*) FROM records").fetchone()
        other.close()
        return int(count) + int(left[0])

    before = await anyio.to_thread.run_sync(pages)
    await file_log.delete(S)
    assert await anyio.to_thread.run_sync(pages) < min(20, before)


async def test_a_full_disk_is_unavailable_and_the_same_batch_can_come_again(
    file_log: SqliteLog,
) -> None:
    await file_log.open(S, E1, META)
    connection: Any = vars(file_log)["_writer"]
    connection.execute("PRAGMA max_page_count = 20")
    large = batch(1, trace=range(1, 2000), through=2000)
    with pytest.raises(OperationError) as caught:
        await file_log.append(large)
    assert caught.value.code is ErrorCode.UNAVAILABLE
    assert await read_all(file_log) == []
    connection.execute("PRAGMA max_page_count = 100000")
    assert (await file_log.append(large)).through == 2000


async def test_a_file_that_another_process_holds_is_unavailable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("compass_agent.log.sqlite.connect.BUSY_S", 0.01)
    log = SqliteLog(tmp_path / "log.db")
    await log.open(S, E1, META)
    other = sqlite3.connect(tmp_path / "log.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(OperationError) as caught:
        await log.append(batch(1, trace=[1], through=1))
    assert caught.value.code is ErrorCode.UNAVAILABLE
    assert await read_all(log) == []
    other.execute("ROLLBACK")
    other.close()
    assert (await log.append(batch(1, trace=[1], through=1))).through == 1
    await log.aclose()


async def test_damage_inside_the_file_is_told_as_a_failure_of_the_storage(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    log = SqliteLog(path)
    await log.open(S, E1, META)
    await log.append(batch(1, trace=range(1, 2000), through=2000))
    await log.aclose()
    data = path.read_bytes()
    path.write_bytes(data[:4096] + b"\xff" * (len(data) - 4096))
    broken = SqliteLog(path)
    for call in (read_all(broken), broken.sessions(), broken.append(batch(2, through=2001))):
        with pytest.raises(OperationError) as caught:
            await call
        assert caught.value.code is ErrorCode.STORAGE_FAILED
        assert isinstance(caught.value.__cause__, sqlite3.Error)
    await broken.aclose()


def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("dear diary, " * 100)
    with pytest.raises(OperationError) as caught:
        SqliteLog(path)
    assert caught.value.code is ErrorCode.STORAGE_FAILED
    assert path.read_text() == "dear diary, " * 100


@pytest.mark.parametrize(
    "change", ["CREATE TABLE mine (x)", "PRAGMA user_version = 2", "PRAGMA application_id = 7"]
)
def test_another_programs_database_is_refused_and_left_alone(tmp_path: Path, change: str) -> None:
    path = tmp_path / "other.db"
    other = sqlite3.connect(path)
    other.execute(change)
    other.commit()
    other.close()
    before = path.read_bytes()
    with pytest.raises(OperationError) as caught:
        SqliteLog(path)
    assert caught.value.code is ErrorCode.UNSUPPORTED_INPUT
    assert path.read_bytes() == before


def test_a_file_that_cannot_be_written_is_told_as_such(tmp_path: Path) -> None:
    made = sqlite3.connect(tmp_path / "x.db")
    made.execute("CREATE TABLE t (x)")
    made.close()
    read_only = sqlite3.connect(f"file:{tmp_path}/x.db?mode=ro", uri=True)
    with pytest.raises(OperationError) as caught, reported():
        read_only.execute("INSERT INTO t VALUES (1)")
    read_only.close()
    assert caught.value.code is ErrorCode.STORAGE_FAILED


@pytest.mark.parametrize("umask", [0, 0o277, 0o377, 0o577, 0o777])
async def test_only_the_owner_can_read_the_files_whatever_the_umask(
    tmp_path: Path, umask: int
) -> None:
    before = os.umask(umask)
    try:
        log = SqliteLog(tmp_path / "log.db")
        await log.open(S, E1, META)
    finally:
        os.umask(before)
    for name in ("log.db", "log.db-wal", "log.db-shm"):
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600
    await log.aclose()


async def test_a_closed_log_is_unavailable_and_its_readers_learn_of_it(tmp_path: Path) -> None:
    log = SqliteLog(tmp_path / "log.db")
    await log.open(S, E1, META)
    pages = log.read(S)
    await anext(pages)
    await log.aclose()
    await log.aclose()
    calls: list[Callable[[], object]] = [
        lambda: anext(pages),
        lambda: log.append(batch(1, trace=[1], through=1)),
        log.sessions,
    ]
    for call in calls:
        waiting = call()
        with pytest.raises(OperationError) as caught, anyio.fail_after(5):
            await waiting  # pyright: ignore[reportGeneralTypeIssues] - all three are awaitable
        assert caught.value.code is ErrorCode.UNAVAILABLE


@pytest.mark.requirement("G-READ-3")
async def test_a_cursor_resumes_in_another_log_object_of_the_same_file(
    file_log: SqliteLog, tmp_path: Path
) -> None:
    await file_log.open(S, E1, META)
    await file_log.append(batch(1, trace=[1, 2, 3], through=3))
    other = SqliteLog(tmp_path / "log.db")
    assert await read_all(other, Cursor(E1, 2)) == ["t3"]
    pages = other.read(S, Cursor(E1, 3))
    await anext(pages)
    await file_log.append(batch(2, trace=[4], through=4))
    with anyio.fail_after(5):
        assert told((await anext(pages)).items) == ["t4"]
    await other.aclose()
