"""A session that is removed under its writer, and a hub that keeps its log small."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import anyio
import pytest

from compass_agent import open_session
from compass_agent.errors.codes import ErrorCode, OperationError
from compass_agent.log import Pruned, Retention, open_log
from compass_agent.runtime import upkeep
from compass_agent.runtime.journals import journal_folder, new_journal
from compass_agent.sink.records import JournalHead
from writing_logs import read_all

if TYPE_CHECKING:
    from pathlib import Path

    from compass_agent.log import SessionLog


@pytest.mark.requirement("G-KEEP-2")
async def test_a_session_that_is_removed_under_its_writer_goes_on_behind_a_gap(
    tmp_path: Path,
) -> None:
    url = f"sqlite:{tmp_path / 'log.db'}"
    log = open_log(url)
    with anyio.fail_after(30):
        async with open_session("s1", log=url) as session:
            session.feed({"type": "agent_start"})
            await until_read(log, "p2")
            await log.delete("s1")
            session.feed({"type": "agent_end"})
            await until_read(log, "p3")
        found = await read_all(log, session="s1")
    assert found[:2] == ["gap 1-2 log_loss", "p3"]
    assert found[-1].startswith("end ")
    await log.aclose()


async def until_read(log: SessionLog, word: str) -> None:
    """Read again and again, from a session that may not be there yet."""
    found: list[str] = []
    while word not in found:
        with suppress(OperationError):
            found = await read_all(log, session="s1")


class Log:
    """Fails once, and tells when it was pruned."""

    retention = Retention()

    def __init__(self) -> None:
        self.asked = 0
        self.twice = anyio.Event()

    async def prune(self, retention: Retention | None = None, *, dry_run: bool = False) -> Pruned:
        assert (retention, dry_run) == (None, False)
        self.asked += 1
        if self.asked == 1:
            raise OperationError(ErrorCode.UNAVAILABLE)
        if self.asked == 3:
            self.twice.set()
        return Pruned()


@pytest.mark.requirement("G-KEEP-3")
async def test_a_hub_prunes_again_and_again_also_after_a_failure(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(upkeep, "_EVERY_S", 0)
    log = Log()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(upkeep.keep_pruned, log)
        with anyio.fail_after(5):
            await log.twice.wait()
        tasks.cancel_scope.cancel()
    assert "could not be pruned, trying again" in caplog.text


def test_settings_of_a_log_are_no_part_of_whose_journals_it_gets(tmp_path: Path) -> None:
    names: set[str] = set()
    for settings in ("", "?trace_frames=5", "?durability=full&ended_age=7d"):
        journal = new_journal(JournalHead("s1", "1" * 16, f"sqlite:{tmp_path}/log.db{settings}"))
        assert journal is not None
        journal.close()
        names |= {path.name.partition("-")[0] for path in journal_folder().iterdir()}
    assert len(names) == 1
