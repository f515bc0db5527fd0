"""What opening a session costs does not grow with the sessions that are open."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from compass_agent import open_session
from compass_agent.log.memory import MemoryLog
from compass_agent.runtime import journals
from compass_agent.runtime.journals import deliver_journals, journal_folder
from compass_agent.transport import LocalTransport
from left_behind import URL, file_of, files, left, writer
from writing_logs import E1, E2


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the journals that are opened from now on, where they are."""
    names: list[str] = []
    original = os.open

    def noted(path: str | Path, flags: int, mode: int = 0o777) -> int:
        if not flags & os.O_CREAT and Path(path).parent == journal_folder():
            names.append(Path(path).name)
        return original(path, flags, mode)

    monkeypatch.setattr(os, "open", noted)
    return names


@pytest.mark.requirement("G-PUMP-6")
async def test_the_journals_of_this_process_are_passed_over_unopened(opened: list[str]) -> None:
    sinks = [writer(f"{number:016x}", session=f"s{number}") for number in range(20)]
    free = left(E1)
    assert await deliver_journals(URL, LocalTransport(MemoryLog())) == 1
    assert opened == [free.name]

    sinks.pop().close_journal()
    assert await deliver_journals(URL, LocalTransport(MemoryLog())) == 1
    assert len(files()) == len(sinks)


def test_the_folder_is_listed_once_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    original = journals._find  # pyright: ignore[reportPrivateUsage] - it is counted
    listed: list[str] = []

    def noted(url: str) -> list[str]:
        listed.append(url)
        return original(url)

    monkeypatch.setattr(journals, "_find", noted)
    for number in range(20):
        writer(f"{number:016x}")
    assert listed == [URL]
    stamps = [name.split("-")[1] for name in files()]
    assert sorted(set(stamps)) == stamps
    assert [name.split("-")[2][:16] for name in files()] == [f"{n:016x}" for n in range(20)]


@pytest.mark.requirement("G-READ-1")
def test_a_journal_comes_behind_what_others_made_before_the_clock_stepped_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = left(E1)
    log, stamp, rest = path.name.split("-", 2)
    path.rename(path.with_name(f"{log}-{int(stamp) + 1_800_000}-{rest}"))
    an_hour_ago = time.time_ns() - 3_600_000_000_000
    monkeypatch.setattr(time, "time_ns", lambda: an_hour_ago)
    left(E2)
    assert files() == [file_of(E1).name, file_of(E2).name]


@pytest.mark.requirement("G-PUMP-6")
async def test_what_was_left_a_moment_ago_is_delivered_too(tmp_path: Path) -> None:
    url = f"sqlite:{tmp_path / 'log.db'}"
    async with open_session("s1", log=url) as first:
        first.fail("Overloaded")
        for epoch in (E1, E2):
            left(epoch, url=url, session="s2")
            async with open_session("s3", log=url):
                pass
            assert not any(epoch in name for name in files())
