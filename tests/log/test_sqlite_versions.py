"""The log's file of an older version is brought up to date; what cannot be read is left alone."""

from __future__ import annotations

import gzip
import sqlite3
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from compass_agent.errors.codes import ErrorCode, OperationError
from compass_agent.log import Retention
from compass_agent.log.sqlite import SqliteLog, schema
from compass_agent.log.sqlite.connect import SCHEMA_MAJOR
from compass_agent.log.sqlite.schema import VersionError, newest_minor, version_of
from writing_logs import E2, batch, read_all

OLDER = Path(__file__).parents[1] / "data/logs/format-2.0.db.gz"
"""What the code wrote before there were minor versions: a session that ended, and another."""

KEEP = Retention(ended_age_s=None)
DONE = ["p1", "t2", "t3", "gap 4-4 dropped", "p5", "t6", "gap 7-7 dropped", "end 7 4"]
AWAY = ["t1", "p2", "t3", "t4", "gap 5-6 writer_gone", "p7", "reset 2 new_epoch", "t1", "t2"]

OPENS_AND_HANGS = """
import sys, sqlite3
from compass_agent.log.sqlite import SqliteLog, schema

STEPS = schema.STEPS

class Hanging(tuple):
    def __getitem__(self, index):
        return [*STEPS[index], "SELECT hang()"]

def hang():
    print("in the middle", flush=True)
    sys.stdin.readline()

def connect(*arguments, connect=sqlite3.connect, **options):
    connection = connect(*arguments, **options)
    connection.create_function("hang", 0, hang)
    return connection

sqlite3.connect = connect
schema.STEPS = Hanging(STEPS)
SqliteLog(sys.argv[1])
"""


@pytest.fixture
def older(tmp_path: Path) -> Path:
    path = tmp_path / "log.db"
    path.write_bytes(gzip.decompress(OLDER.read_bytes()))
    return path


def started(program: str, path: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", program, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def version(path: Path) -> tuple[int, int]:
    connection = sqlite3.connect(path)
    (number,) = connection.execute("PRAGMA user_version").fetchone()
    connection.close()
    return version_of(number)


def tables(path: Path) -> dict[str, str]:
    connection = sqlite3.connect(path)
    found = dict(connection.execute("SELECT name, sql FROM sqlite_master ORDER BY name"))
    connection.close()
    return found


async def holds_what_it_held(log: SqliteLog) -> None:
    assert await read_all(log, session="done") == DONE
    found = await read_all(log, session="away")
    assert [word for word in found if word != "state 6"] == AWAY


@pytest.mark.requirement("G-KEEP-4")
async def test_an_older_file_is_brought_up_to_date_and_goes_on(older: Path) -> None:
    assert version(older) == (2, 0)
    log = SqliteLog(older, ahead_s=0, retention=KEEP)
    assert version(older) == (SCHEMA_MAJOR, newest_minor())
    await holds_what_it_held(log)
    await log.append(batch(2, trace=[3], through=3, epoch=E2, session="away"))
    assert await read_all(log, session="away") == [*AWAY, "t3"]
    await log.prune(replace(KEEP, trace_frames=1))
    found = await read_all(log, session="done")
    assert found[:3] == ["p1", "gap 2-3 retention", "gap 4-4 dropped"]
    await log.aclose()


async def test_a_file_that_was_brought_up_to_date_is_as_a_new_one(
    older: Path, tmp_path: Path
) -> None:
    for path in (older, tmp_path / "new.db"):
        await SqliteLog(path).aclose()
    assert tables(older) == tables(tmp_path / "new.db")
    assert version(older) == version(tmp_path / "new.db")


@pytest.mark.requirement("G-KEEP-4")
async def test_many_who_open_an_older_file_at_once_all_succeed(older: Path) -> None:
    opener = "import sys; from compass_agent.log.sqlite import SqliteLog; SqliteLog(sys.argv[1])"
    processes = [started(opener, older) for _ in range(3)]
    logs: list[SqliteLog] = []
    threads = [threading.Thread(target=lambda: logs.append(SqliteLog(older))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    for process in processes:
        process.communicate(timeout=30)
        assert process.returncode == 0
    assert len(logs) == 4
    await holds_what_it_held(logs[0])
    assert version(older) == (SCHEMA_MAJOR, newest_minor())
    for log in logs:
        await log.aclose()


@pytest.mark.requirement("G-KEEP-4")
async def test_a_kill_in_the_middle_leaves_the_older_file_whole(older: Path) -> None:
    before = tables(older)
    process = started(OPENS_AND_HANGS, older)
    assert process.stdout is not None
    assert process.stdout.readline() == "in the middle\n"
    process.kill()
    process.communicate()
    assert (version(older), tables(older)) == ((2, 0), before)
    log = SqliteLog(older)
    await holds_what_it_held(log)
    assert version(older) == (SCHEMA_MAJOR, newest_minor())
    await log.aclose()


@pytest.mark.requirement("G-KEEP-4")
async def test_a_file_with_a_newer_minor_version_is_opened_as_it_is(
    older: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(schema, "STEPS", (*schema.STEPS, "CREATE TABLE later (x)"))
        await SqliteLog(older).aclose()
    newer = (SCHEMA_MAJOR, newest_minor() + 1)
    assert version(older) == newer
    log = SqliteLog(older, ahead_s=0)
    await holds_what_it_held(log)
    await log.append(batch(2, trace=[3], through=3, epoch=E2, session="away"))
    await log.aclose()
    assert version(older) == newer
    assert "later" in tables(older)


@pytest.mark.requirement("G-KEEP-4")
@pytest.mark.parametrize(
    ("number", "word"), [(1, "an older"), (1001, "an older"), (3, "a newer"), (3000, "a newer")]
)
def test_another_major_version_is_refused_with_its_reason_and_left_alone(
    older: Path, number: int, word: str
) -> None:
    connection = sqlite3.connect(older)
    connection.execute(f"PRAGMA user_version = {number}")
    connection.execute("PRAGMA journal_mode = DELETE")
    connection.close()
    before = older.read_bytes()
    with pytest.raises(VersionError) as caught:
        SqliteLog(older)
    assert caught.value.code is ErrorCode.UNSUPPORTED_INPUT
    assert isinstance(caught.value, OperationError)
    assert f"made by {word} Compass" in caught.value.reason
    assert older.read_bytes() == before
    assert [path.name for path in older.parent.iterdir()] == ["log.db"]
