"""A process that is killed at any moment loses no priority frame whose emit had returned."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import anyio
import pytest

from compass_agent import open_session
from compass_agent.frames import SessionFrame
from compass_agent.log import open_log
from compass_agent.runtime.journals import deliver_journals, journal_folder
from compass_agent.transport import LocalTransport
from compass_agent.wire import FrameItem, Gap, Item
from hubs import serving, short_folder
from stored import read_items

# Imports once, then forks an agent for each line that it reads, so that a kill costs little.
NURSERY = """
import os, sys
from compass_agent import open_session
import compass_agent.log.sqlite, compass_agent.runtime, compass_agent.transport.grpc

DELTA = {"type": "message_update", "assistantMessageEvent": {"type": "text_delta", "delta": "x"}}

def agent(number):
    with open_session("s1", log=sys.argv[1]) as session:
        while True:
            session.inject("steer", str(number), "test")
            os.write(1, b"%d\\n" % number)
            session.feed(DELTA)
            number += 1

for line in sys.stdin:
    child = os.fork()
    if not child:
        agent(int(line))
    os.write(1, b"pid %d\\n" % child)
    os.waitpid(child, 0)
    os.write(1, b"gone\\n")
"""
ROUND = 1_000_000
STEPS = (0, 1, 2, 5, 30, 300)
STEPS_AT_A_HUB = (0, 5, 300, 1000, 3000)  # to reach a hub takes longer


@contextmanager
def nursery(url: str) -> Generator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, "-c", NURSERY, url],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        bufsize=1,
    ) as process:
        yield process
        assert process.stdin is not None
        process.stdin.close()


def lines_until_gone(output: IO[str], kill_after: int) -> list[int]:
    """What one agent acknowledged; it is killed after so many, while it goes on."""
    told: list[int] = []
    pid = 0
    killed = False
    while (line := output.readline().strip()) != "gone":
        assert line, "the nursery died"
        if line.startswith("pid "):
            pid = int(line[4:])
        else:
            told.append(int(line))
        if pid and not killed and len(told) >= kill_after:
            os.kill(pid, signal.SIGKILL)
            killed = True
    return told


def kill_often(url: str, path: Path, kills: int, steps: Sequence[int]) -> list[int]:
    """Let agents publish to `url`, whose log is the file `path`, kill each, and return what they
    acknowledged, in order. Each is killed after so many as one of `steps` says.
    """
    told: list[int] = []
    dice = random.Random()  # noqa: S311 - dice
    with open_session("s0", log=url):
        pass
    with nursery(url) as process, open_log_file(path) as other:
        assert process.stdin is not None
        assert process.stdout is not None
        for number in range(kills):
            busy = dice.random() < 0.3  # nothing is published then
            if busy:
                other.execute("BEGIN IMMEDIATE")
            process.stdin.write(f"{number * ROUND}\n")
            told += lines_until_gone(process.stdout, dice.choice(steps))
            if busy:
                other.execute("ROLLBACK")
    return told


@contextmanager
def open_log_file(path: Path) -> Generator[sqlite3.Connection]:
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        yield connection
    finally:
        connection.close()


def numbers_in(items: list[Item]) -> list[int]:
    """The numbers of the injections, as they are read."""
    frames = [SessionFrame.FromString(item.data) for item in items if isinstance(item, FrameItem)]
    events = [frame.typed_event.session_injection for frame in frames]
    return [int(event.message_id) for event in events if event.message_id]


def check_places(items: list[Item]) -> None:
    """Every place of each epoch is read once: as a frame, or in a gap."""
    places: dict[str, int] = {}
    for item in items:
        last = places.get(item.epoch, 0)
        if isinstance(item, FrameItem):
            assert item.seq == last + 1
            places[item.epoch] = item.seq
        elif isinstance(item, Gap):
            assert item.first_seq == last + 1
            places[item.epoch] = item.last_seq


async def deliver_all(url: str) -> None:
    """Deliver what is left, however long it takes: most agents had no time for it."""
    log = open_log(url)
    await deliver_journals(url, LocalTransport(log))
    await log.aclose()


def check_kills(path: Path, kills: int) -> None:
    url = f"sqlite:{path}"
    told = kill_often(url, path, kills, STEPS)
    age_unnamed()
    anyio.run(deliver_all, url)
    check_read(path, told, kills)


def age_unnamed() -> None:
    # A kill between making a file and naming it leaves one without a name, which goes in an hour.
    for unnamed in journal_folder().glob(".*.new"):
        os.utime(unnamed, (0, 0))


def check_read(path: Path, told: list[int], kills: int) -> None:
    """All that was acknowledged is read, once, in order, and nothing is left to deliver."""
    items = anyio.run(read_items, f"sqlite:{path}", "s1")
    read = numbers_in(items)
    assert set(told) - set(read) == set()
    assert len(told) > kills
    assert read == sorted(set(read))  # none twice, and epochs in the order of their opening
    check_places(items)
    assert list(journal_folder().iterdir()) == []


def check_kills_at_a_hub(folder: Path, kills: int) -> None:
    path = folder / "hub.db"
    place = folder / "mine" / "hub.sock"
    with serving("--log", f"sqlite:{path}", "--unix", str(place)) as (_, (url,)):
        told = kill_often(url, path, kills, STEPS_AT_A_HUB)
        age_unnamed()
        # The next agent at this hub delivers what the others left, before anything of its own.
        with open_session("s2", log=url, close_timeout=20):
            pass
        check_read(path, told, kills)


@pytest.mark.requirement("G-SINK-8")
def test_a_few_kills_at_a_hub_lose_nothing() -> None:
    with short_folder() as folder:
        check_kills_at_a_hub(folder, 20)


@pytest.mark.slow
@pytest.mark.requirement("G-SINK-8")
def test_many_kills_at_a_hub_lose_nothing() -> None:
    with short_folder() as folder:
        check_kills_at_a_hub(folder, int(os.environ.get("COMPASS_TEST_KILLS", "300")))


@pytest.mark.requirement("G-SINK-8")
def test_a_few_kills_lose_nothing(tmp_path: Path) -> None:
    check_kills(tmp_path / "log.db", 20)


@pytest.mark.slow
@pytest.mark.requirement("G-SINK-8")
def test_many_kills_lose_nothing(tmp_path: Path) -> None:
    check_kills(tmp_path / "log.db", int(os.environ.get("COMPASS_TEST_KILLS", "1000")))
