"""A session that is removed under its writer, and a hub that keeps its log small."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import anyio
import pytest

from compass_agent import open_session
from compass_agent.errors.codes import ErrorCode, OperationError
from compass_agent.log import Pruned, Retention, open_log
from compass_agent.log.memory import MemoryLog
from compass_agent.runtime import journals, upkeep
from compass_agent.runtime.journals import journal_folder, new_journal
from compass_agent.sink.records import JournalHead
from compass_agent.transport import LocalTransport
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
    """Fails as it is told, and tells when it was asked for the last time."""

    retention = Retention()

    def __init__(self, failures: list[Exception | None]) -> None:
        self._failures = failures
        self.done = anyio.Event()

    async def prune(self, retention: Retention | None = None, *, dry_run: bool = False) -> Pruned:
        assert (retention, dry_run) == (None, False)
        failure = self._failures.pop(0)
        if not self._failures:
            self.done.set()
            await anyio.sleep_forever()
        if failure is not None:
            raise failure
        return Pruned()


@pytest.mark.requirement("G-KEEP-3")
@pytest.mark.parametrize(
    "failure",
    [
        OperationError(ErrorCode.UNAVAILABLE),
        OSError("no room at sk-ant-api03-" + "a1B2c3D4" * 6),
        KeyError("what nobody expected"),
        ExceptionGroup("several", [ValueError("one"), OSError("other")]),
    ],
)
async def test_a_hub_prunes_again_and_again_also_after_a_failure(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, failure: Exception
) -> None:
    monkeypatch.setattr(upkeep, "_EVERY_S", 0)
    log = Log([failure, failure, None, failure, failure, failure, None])
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(upkeep.keep_pruned, log)
        with anyio.fail_after(5):
            await log.done.wait()
        tasks.cancel_scope.cancel()
    # Once a series.
    assert caplog.text.count("could not be pruned, trying again") == 2
    assert "sk-ant" not in caplog.text


@pytest.mark.parametrize("failure", [OSError("gone"), KeyError("what nobody expected")])
async def test_what_was_left_for_one_log_is_delivered_although_looking_for_another_failed(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, failure: Exception
) -> None:
    asked: list[str] = []
    enough = anyio.Event()

    async def delivered(url: str, _way: object) -> int:
        asked.append(url)
        if len(asked) == 6:
            enough.set()
        await anyio.lowlevel.checkpoint()
        if url == "memory:one":
            raise failure
        return 0

    monkeypatch.setattr(journals, "_DELIVER_EVERY_S", 0)
    monkeypatch.setattr(journals, "deliver_journals", delivered)
    way = LocalTransport(MemoryLog())
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(journals.keep_delivering, ["memory:one", "memory:other"], way)
        with anyio.fail_after(5):
            await enough.wait()
        tasks.cancel_scope.cancel()
    assert asked[:6] == ["memory:one", "memory:other"] * 3
    assert caplog.text.count("could not be delivered, trying again") == 1


def test_settings_of_a_log_are_no_part_of_whose_journals_it_gets(tmp_path: Path) -> None:
    names: set[str] = set()
    for settings in ("", "?trace_frames=5", "?durability=full&ended_age=7d"):
        journal = new_journal(JournalHead("s1", "1" * 16, f"sqlite:{tmp_path}/log.db{settings}"))
        assert journal is not None
        journal.close()
        names |= {path.name.partition("-")[0] for path in journal_folder().iterdir()}
    assert len(names) == 1
