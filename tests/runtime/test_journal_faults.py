"""What goes wrong around one journal stops neither the agent nor what others left."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import anyio
import pytest

from compass_agent.errors.codes import ErrorCode, OperationError
from compass_agent.log.memory import MemoryLog
from compass_agent.runtime import shared_log
from compass_agent.runtime.journals import deliver_journals
from compass_agent.runtime.shared_log import SharedLog
from compass_agent.sink.journal import REFUSED, Journal
from compass_agent.transport import LocalTransport
from journals import HEAD
from left_behind import URL, files, left
from writing_logs import E1, E2, read_all

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from compass_agent.wire import Answer, Batch


class Faulty(LocalTransport):
    """Raises `error` for the batches of the first epoch, and when leases are to be renewed."""

    def __init__(self, error: Exception | None) -> None:
        self.log = MemoryLog()
        super().__init__(self.log)
        self.error = error

    async def publish(self, batch: Batch) -> Answer:
        if batch.epoch == E1 and self.error is not None:
            raise self.error
        return await super().publish(batch)

    async def renew(self, epochs: Iterable[tuple[str, str]], seconds: float = 10.0) -> None:
        if self.error is not None:
            raise self.error
        await super().renew(epochs, seconds)

    async def aclose(self) -> None:
        await self.log.aclose()


async def stays_until_mended(error: Exception, caplog: pytest.LogCaptureFixture) -> None:
    """Hold a journal at which `error` is raised to staying, and to keeping no other waiting."""
    path = left(E1)
    left(E2, end=True)

    way = Faulty(error)
    assert await deliver_journals(URL, way) == 1
    assert files() == [path.name]
    assert await deliver_journals(URL, way) == 0
    (record,) = caplog.records
    assert f"{path.name} of session s1 stays" in record.getMessage()
    way.error = None
    assert await deliver_journals(URL, way) == 1
    assert files() == []


@pytest.mark.requirement("G-PUMP-7")
async def test_a_journal_that_cannot_be_set_aside_keeps_nobody_waiting(
    caplog: pytest.LogCaptureFixture,
) -> None:
    path = left(E1)
    path.with_name(path.name + REFUSED).mkdir()
    left(E2, end=True)

    way = Faulty(OperationError(ErrorCode.UNSUPPORTED_INPUT))
    assert await deliver_journals(URL, way) == 1
    assert files() == [path.name, path.name + REFUSED]
    assert path.name in caplog.text


@pytest.mark.requirement("G-PUMP-6", "G-PUMP-7")
@pytest.mark.parametrize(
    "code", [ErrorCode.INTERNAL, ErrorCode.PERMISSION_DENIED, ErrorCode.STORAGE_FAILED]
)
async def test_a_journal_at_which_the_log_fails_keeps_nobody_waiting(
    code: ErrorCode, caplog: pytest.LogCaptureFixture
) -> None:
    await stays_until_mended(OperationError(code), caplog)


class _UnknownError(Exception):
    """One that nobody knows."""


@pytest.mark.requirement("G-PUMP-6", "G-PUMP-7")
@pytest.mark.parametrize(
    "error",
    [
        TypeError("object of type 'NoneType' has no len()"),
        ValueError("not a number"),
        KeyError("seq"),
        AssertionError(),
        _UnknownError("never heard of"),
        RuntimeError("no thread can be started"),
        MemoryError(),
    ],
    ids=lambda error: type(error).__name__,
)
async def test_a_journal_at_which_something_unforeseen_fails_stays_until_it_can_be_delivered(
    error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    await stays_until_mended(error, caplog)


@pytest.mark.requirement("G-PUMP-7")
async def test_what_is_no_journal_keeps_nobody_waiting() -> None:
    path = left(E1)
    path.unlink()
    os.mkfifo(path)
    left(E2, end=True)

    with anyio.fail_after(10):
        assert await deliver_journals(URL, LocalTransport(MemoryLog())) == 1
    assert files() == [path.name]


@pytest.mark.requirement("G-READ-1")
async def test_journals_are_delivered_in_their_order_when_the_clock_steps_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    left(E1, end=True)
    an_hour_ago = time.time_ns() - 3_600_000_000_000
    monkeypatch.setattr(time, "time_ns", lambda: an_hour_ago)
    left(E2, end=True)

    log = MemoryLog()
    assert await deliver_journals(URL, LocalTransport(log)) == 2
    epochs = [line for line in await read_all(log) if "reset" in line]
    assert epochs == [f"reset {E2[0]} new_epoch"]


@pytest.mark.parametrize(
    "error", [OperationError(ErrorCode.UNAVAILABLE), RuntimeError("no thread can be started")]
)
async def test_a_lease_that_cannot_be_renewed_is_told_once_and_stops_nothing(
    error: Exception, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_log, "RENEW_EVERY_S", 0.0)
    way = Faulty(error)
    shared = SharedLog(way, way.aclose)
    shared.epochs.add(("s1", E1))

    async def renew_often() -> int:
        caplog.clear()
        for _ in range(3):
            await shared.renew_when_due()
        return len(caplog.records)

    assert await renew_often() == 1
    way.error = None
    assert await renew_often() == 0
    way.error = error
    assert await renew_often() == 1


@pytest.mark.requirement("G-SINK-8")
def test_a_journal_that_waits_for_the_disk_has_its_name_there_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    sync = os.fsync

    def noted(fd: int) -> None:
        synced.append(os.fstat(fd).st_ino)
        sync(fd)

    monkeypatch.setattr(os, "fsync", noted)
    folder = tmp_path / "journals"
    Journal(folder / "one.journal-v1", HEAD, fsync=True).open()
    assert synced[-1] == folder.stat().st_ino
    synced.clear()
    Journal(folder / "two.journal-v1", HEAD).open()
    assert synced == []
