from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from compass_agent.errors.codes import ErrorCode, OperationError
from compass_agent.log import default_path, open_log
from compass_agent.log.memory import MemoryLog
from compass_agent.log.sqlite import SqliteLog
from compass_agent.log.sqlite.connect import SCHEMA_MAJOR
from compass_agent.transport import LocalTransport
from compass_agent.wire import SessionMeta
from writing_logs import E1, E2, S, batch, read_all


async def test_memory_without_a_name_is_new_each_time_and_with_one_is_shared() -> None:
    assert open_log("memory:") is not open_log("memory:")
    shared = open_log("memory:test_open_log")
    assert isinstance(shared, MemoryLog)
    assert open_log("memory:test_open_log") is shared
    assert open_log("memory:test_open_log_2") is not shared


@pytest.mark.parametrize("umask", [0, 0o277, 0o377, 0o577, 0o777])
async def test_without_a_url_the_log_is_a_private_file_in_the_state_folder(
    tmp_path: Path, umask: int
) -> None:
    before = os.umask(umask)
    try:
        log = open_log()
    finally:
        os.umask(before)
    path = tmp_path / "state" / "compass" / f"sessions-v{SCHEMA_MAJOR}.db"
    assert default_path() == path
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    for folder in path.parents[:2]:
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    await log.aclose()


def test_the_state_folder_is_in_the_home_when_the_variable_is_no_absolute_path(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for value in ("", "relative/state"):
        monkeypatch.setenv("XDG_STATE_HOME", value)
        expected = Path.home() / ".local/state/compass" / f"sessions-v{SCHEMA_MAJOR}.db"
        assert default_path() == expected


async def test_the_environment_names_the_log_when_no_url_does(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("COMPASS_LOG", f"sqlite:{tmp_path}/mine.db")
    log = open_log()
    assert isinstance(log, SqliteLog)
    assert (tmp_path / "mine.db").exists()
    assert isinstance(open_log("memory:"), MemoryLog)
    await log.aclose()


async def test_a_path_may_begin_at_the_home_or_at_the_working_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    for url, name in (("sqlite:~/a.db", "a.db"), ("sqlite:b ?#%.db", "b ?#%.db")):
        log = open_log(url, durability="full")
        await log.open(S, E1, SessionMeta())
        assert [summary.session for summary in await log.sessions()] == [S]
        assert (tmp_path / name).exists()
        await log.aclose()


@pytest.mark.parametrize(
    "url",
    [
        "sessions.db",
        "sqlite",
        "sqlite:",
        "sqlite: ",
        "sqlite::memory:",
        "sqlite:a\0b",
        "sqlite:/nowhere/at/all.db",
        "sqlite:.",
        "sqlite:/dev/null/x",
        "postgres://localhost/x",
        "nats:localhost:4222",
        "nats://localhost/a stream",
        "unix:/run/compass.sock",
        "grpc://localhost:1",
        "http://localhost:1",
        "https://localhost:1",
    ],
)
def test_a_url_that_names_no_usable_log_is_refused(url: str) -> None:
    with pytest.raises(OperationError) as caught:
        open_log(url)
    assert caught.value.code is ErrorCode.UNSUPPORTED_INPUT


def test_a_state_folder_that_cannot_be_made_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file" / "state"))
    with pytest.raises(OperationError) as caught:
        open_log()
    assert caught.value.code is ErrorCode.UNSUPPORTED_INPUT


def test_sqlite_is_imported_only_when_a_file_is_opened() -> None:
    code = (
        "import sys; from compass_agent.log import open_log; open_log('memory:');"
        "sys.exit('sqlite3' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


async def test_the_local_transport_hands_everything_to_its_log() -> None:
    log = open_log("memory:")
    transport = LocalTransport(log)
    await transport.open(S, E1, SessionMeta("title"))
    answer = await transport.publish(batch(1, trace=[1], through=1))
    assert (answer.batch, answer.through) == (1, 1)
    await transport.open(S, E2, SessionMeta(), recovered=True)
    await transport.renew([(S, E1)], seconds=0)
    (summary,) = await log.sessions()
    assert (summary.epoch, summary.state) == (E1, 6)
    assert await read_all(log, None) == ["reset 1 new_epoch", "t1", "state 6"]
