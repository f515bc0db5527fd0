"""Sessions and their journals: what one could not tell, the next one does."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import pytest
from anyio import to_thread

from compass_agent import open_session
from journals import kept, message_of
from left_behind import file_of, files, left
from stored import lines_in, read_items
from writing_logs import told


@pytest.mark.requirement("G-PUMP-6")
async def test_a_session_that_is_opened_again_comes_after_what_was_left(tmp_path: Path) -> None:
    url = f"sqlite:{tmp_path / 'log.db'}"
    left(url=url)
    async with open_session("s1", log=url):
        pass

    words = told(await read_items(url, "s1"))
    assert words[:4] == ["gap 1-1 writer_gone", "p2", "gap 3-3 writer_gone", "p4"]
    assert words[4].endswith("new_epoch")
    assert words[5:] == ["p1", "p2", "end 2 4"]
    assert files() == []


@pytest.mark.requirement("G-SINK-8")
def test_a_session_that_could_not_reach_its_log_is_told_by_the_next(tmp_path: Path) -> None:
    url = f"sqlite:{tmp_path / 'folder' / 'log.db'}"
    with open_session("s1", log=url, title="a title", close_timeout=0.1) as session:
        session.fail("Rate limit reached")
    assert len(files()) == 1
    (tmp_path / "folder").mkdir()
    with open_session("s2", log=url):
        pass

    assert lines_in(url, "s1") == ["state STARTING", "ERROR - Rate limit reached", "state ERRORED"]
    assert files() == []


@pytest.fixture
def busy(tmp_path: Path) -> Generator[sqlite3.Connection]:
    """Somebody else who is writing to the log's file."""
    with open_session("s0", log=f"sqlite:{tmp_path / 'log.db'}"):
        pass
    other = sqlite3.connect(tmp_path / "log.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    yield other
    other.close()


BUSY_LINES = ["state STARTING", "ERROR - Overloaded", "state ERRORED"]


def test_a_session_whose_log_is_busy_for_a_while_loses_nothing(
    tmp_path: Path, busy: sqlite3.Connection
) -> None:
    url = f"sqlite:{tmp_path / 'log.db'}"
    with open_session("s1", log=url) as session:
        session.fail("Overloaded")
        assert message_of(kept(file_of(session.epoch)).frames[1].data) == "Overloaded"
        busy.execute("ROLLBACK")

    assert lines_in(url, "s1") == BUSY_LINES
    assert files() == []


@pytest.mark.slow
def test_a_session_whose_log_stays_busy_is_told_by_the_next(
    tmp_path: Path, busy: sqlite3.Connection
) -> None:
    url = f"sqlite:{tmp_path / 'log.db'}"
    with open_session("s1", log=url, close_timeout=0.1) as session:
        session.fail("Overloaded")
    assert len(files()) == 1
    busy.execute("ROLLBACK")
    with open_session("s2", log=url):
        pass

    assert lines_in(url, "s1") == BUSY_LINES
    assert files() == []


async def test_a_session_that_ended_well_leaves_no_file() -> None:
    async with open_session("s1") as session:
        session.fail("Overloaded")
        assert len(await to_thread.run_sync(files)) == 1

    assert files() == []


FORK = """
import os, signal, sys
from compass_agent import open_session

signal.alarm(40)  # a child that hangs is killed
url = f"sqlite:{sys.argv[1]}"
with open_session("s1", log=url) as session:
    session.fail("of the parent")
    while session.statistics().priority.delivered < 3:  # all is imported then
        os.sched_yield()
    child = os.fork()
    if child:
        assert os.waitpid(child, 0)[1] == 0
        session.abort("of the parent")
    else:
        signal.alarm(40)
        session.fail("of the child")
        session.notice("of the child")
if not child:
    with open_session("s2", log=url) as other:
        other.fail("of the child")
"""


@pytest.mark.requirement("G-SINK-10")
def test_a_fork_leaves_the_session_to_the_parent_and_the_child_may_open_its_own(
    tmp_path: Path,
) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORK, tmp_path / "log.db"],
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")

    url = f"sqlite:{tmp_path / 'log.db'}"
    parent = ["ERROR - of the parent", "state ERRORED", "ABORTED - of the parent"]
    assert lines_in(url, "s1")[1:4] == parent
    assert lines_in(url, "s2") == ["state STARTING", "ERROR - of the child", "state ERRORED"]
    assert files() == []
