"""Whoever opens a session delivers what others left: all of it, once, in its place."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import pytest

from compass_agent.errors.codes import ErrorCode, OperationError
from compass_agent.log import SessionLog
from compass_agent.log.memory import MemoryLog
from compass_agent.runtime.journals import deliver_journals, journal_folder, new_journal
from compass_agent.sink.journal import REFUSED
from compass_agent.sink.records import JournalHead
from compass_agent.transport import LocalTransport
from compass_agent.wire import Answer, Batch, FrameItem, SessionMeta
from journals import full_disk, kept, message_of, open_descriptors
from left_behind import URL, file_of, files, left, writer
from sinks import error, text
from writing_logs import E1, E2, E3, Clock, read_all


@dataclass
class Recorder:
    """A way to a log that notes what goes there, and refuses what holds `bad`."""

    log: SessionLog
    bad: bytes = b"\0never\0"
    batches: list[Batch] = field(default_factory=list[Batch])

    async def open(
        self, session: str, epoch: str, meta: SessionMeta | None = None, *, recovered: bool = False
    ) -> None:
        assert recovered
        await self.log.open(session, epoch, meta, recovered=recovered)

    async def publish(self, batch: Batch) -> Answer:
        self.batches.append(batch)
        if any(self.bad in data for _, data in batch.priority):
            raise OperationError(ErrorCode.UNSUPPORTED_INPUT)
        return await self.log.append(batch)

    async def renew(self, epochs: Iterable[tuple[str, str]], seconds: float = 10.0) -> None:
        await self.log.renew(epochs, seconds)


class Closed(Recorder):
    """A way to a log that takes nothing."""

    def __init__(self, code: ErrorCode) -> None:
        super().__init__(MemoryLog())
        self.code = code

    async def publish(self, batch: Batch) -> Answer:
        self.batches.append(batch)
        raise OperationError(self.code)


@pytest.mark.requirement("G-PUMP-6")
async def test_what_a_process_left_is_delivered_and_its_file_removed() -> None:
    left()
    way = Recorder(MemoryLog())

    assert await deliver_journals(URL, way) == 1

    (batch,) = way.batches
    assert [(seq, message_of(data)) for seq, data in batch.priority] == [
        (2, "first"),
        (4, "second"),
    ]
    assert (batch.prev_priority, batch.trace, batch.through) == (0, [], 0)
    assert files() == []
    (summary,) = await way.log.sessions()
    assert (summary.title, summary.ended) == ("a title", False)


async def test_the_log_closes_the_epoch_and_says_that_the_writer_is_gone() -> None:
    left()
    log = MemoryLog()
    await deliver_journals(URL, LocalTransport(log))

    assert await read_all(log) == [
        "gap 1-1 writer_gone",
        "p2",
        "gap 3-3 writer_gone",
        "p4",
        "state 6",
    ]


async def test_trace_that_arrived_before_is_not_lost_by_it() -> None:
    sink = writer()
    for frame in (text(), error("first"), text()):
        sink.emit(frame)
    batch = sink.take()
    assert batch is not None
    log = MemoryLog()
    await log.open("s1", E1)
    await log.append(batch)
    sink.emit(error("second"))
    sink.close_journal()

    await deliver_journals(URL, LocalTransport(log))

    assert await read_all(log) == ["t1", "p2", "t3", "p4", "state 6"]


async def test_an_end_mark_is_delivered_too() -> None:
    left(end=True)
    log = MemoryLog()
    await deliver_journals(URL, LocalTransport(log))

    assert await read_all(log) == ["gap 1-1 dropped", "p2", "gap 3-3 dropped", "p4", "end 4 5"]
    assert files() == []


async def test_an_end_mark_alone_is_delivered_too() -> None:
    sink = writer()
    sink.emit(error())
    batch = sink.take()
    assert batch is not None
    log = MemoryLog()
    await log.open("s1", E1)
    sink.settle(batch, await log.append(batch))
    sink.end(5)
    sink.close_journal()

    await deliver_journals(URL, LocalTransport(log))

    assert await read_all(log) == ["p1", "end 1 5"]


async def test_what_the_log_has_already_is_not_stored_twice() -> None:
    path = left(end=True)
    copy = path.read_bytes()
    log = MemoryLog()
    await deliver_journals(URL, LocalTransport(log))
    before = await read_all(log)
    path.write_bytes(copy)

    await deliver_journals(URL, LocalTransport(log))

    assert await read_all(log) == before
    assert files() == []


async def test_a_delivery_that_broke_off_goes_on() -> None:
    left()
    with pytest.raises(OperationError):
        await deliver_journals(URL, Closed(ErrorCode.UNAVAILABLE))
    assert len(files()) == 1

    assert await deliver_journals(URL, Recorder(MemoryLog())) == 1


@pytest.mark.requirement("G-PUMP-6")
async def test_epochs_are_delivered_in_the_order_in_which_they_were_opened() -> None:
    for place, epoch in enumerate((E3, E1, E2)):
        path = left(epoch)
        log, _, rest = path.name.split("-", 2)
        path.rename(path.with_name(f"{log}-{place:013d}-{rest}"))
    way = Recorder(MemoryLog())
    await deliver_journals(URL, way)

    assert [batch.epoch for batch in way.batches] == [E3, E1, E2]


async def test_the_journal_of_a_writer_that_lives_is_not_touched() -> None:
    sink = writer()
    sink.emit(error())
    path = file_of(E1)
    before = path.read_bytes()

    assert await deliver_journals(URL, Closed(ErrorCode.UNSUPPORTED_INPUT)) == 0
    assert path.read_bytes() == before
    sink.emit(error())
    assert len(kept(path).frames) == 2


async def test_the_journals_of_another_log_are_not_touched() -> None:
    left(url="sqlite:/elsewhere/log.db")

    assert await deliver_journals(URL, Closed(ErrorCode.UNSUPPORTED_INPUT)) == 0
    assert len(files()) == 1


def test_a_log_in_memory_has_no_journal() -> None:
    assert new_journal(JournalHead("s1", E1, "memory:")) is None
    assert not journal_folder().exists()


async def test_the_same_file_by_another_name_is_the_same_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    left(url="sqlite:log.db")

    assert await deliver_journals(f"sqlite:{tmp_path}/log.db", Recorder(MemoryLog())) == 1


async def test_a_journal_with_nothing_in_it_goes_and_opens_nothing() -> None:
    writer().close_journal()
    way = Recorder(MemoryLog())
    await deliver_journals(URL, way)

    assert files() == []
    assert await way.log.sessions() == []


@pytest.mark.requirement("G-PUMP-7")
@pytest.mark.parametrize("code", [ErrorCode.UNSUPPORTED_INPUT, ErrorCode.CONFLICT])
async def test_a_journal_that_the_log_will_never_take_is_kept_aside(
    code: ErrorCode, caplog: pytest.LogCaptureFixture
) -> None:
    path = left()
    await deliver_journals(URL, Closed(code))

    assert files() == [path.name + REFUSED]
    assert len(caplog.records) == 1
    assert await deliver_journals(URL, Recorder(MemoryLog())) == 0


@pytest.mark.requirement("G-PUMP-7")
async def test_a_damaged_head_is_kept_aside(caplog: pytest.LogCaptureFixture) -> None:
    path = left()
    path.write_bytes(b"\0" + path.read_bytes()[1:])
    left(E2)

    assert await deliver_journals(URL, Recorder(MemoryLog())) == 1
    assert files() == [path.name + REFUSED]
    assert len(caplog.records) == 1


@pytest.mark.requirement("G-PUMP-7")
async def test_one_refused_frame_becomes_a_notice_and_the_journal_is_kept() -> None:
    sink = writer()
    for number in range(9):
        sink.emit(error(f"number {number}"))
    sink.end(5)
    sink.close_journal()
    way = Recorder(MemoryLog(), bad=b"number 4")

    await deliver_journals(URL, way)

    pages = [page async for page in way.log.read("s1", follow=False)]
    words = [message_of(i.data) for page in pages for i in page.items if isinstance(i, FrameItem)]
    assert words[:4] + words[5:] == [f"number {number}" for number in range(9) if number != 4]
    assert "refused" in words[4]
    (name,) = files()
    assert name.endswith(REFUSED)


async def test_a_session_that_is_being_deleted_keeps_nobody_else_waiting() -> None:
    left()

    assert await deliver_journals(URL, Closed(ErrorCode.NOT_FOUND)) == 0
    assert len(files()) == 1


async def test_a_frame_that_no_journal_and_no_log_has_is_a_gap() -> None:
    sink = writer()
    sink.emit(error("one"))
    with full_disk(file_of(E1).stat().st_size):
        sink.emit(error("not in the journal"))
    sink.emit(error("three"))
    sink.close_journal()
    log = MemoryLog()
    await deliver_journals(URL, LocalTransport(log))

    assert await read_all(log) == ["p1", "gap 2-2 log_loss", "p3", "state 6"]


async def test_many_frames_go_in_batches() -> None:
    sink = writer()
    for _ in range(600):
        sink.emit(error())
    for _ in range(3):
        sink.emit(error("x" * 200_000))
    sink.close_journal()
    way = Recorder(MemoryLog())
    await deliver_journals(URL, way)

    assert [len(batch.priority) for batch in way.batches] == [256, 256, 89, 1, 1]
    assert [batch.prev_priority for batch in way.batches] == [0, 256, 512, 601, 602]


@pytest.mark.requirement("G-PUMP-6")
async def test_two_that_deliver_at_once_deliver_each_journal_once() -> None:
    for number in range(20):
        left(f"{number:016x}", session=f"s{number}")
    log = MemoryLog()
    ways = [Recorder(log), Recorder(log)]
    async with anyio.create_task_group() as tasks:
        for way in ways:
            tasks.start_soon(deliver_journals, URL, way)

    epochs = [batch.epoch for way in ways for batch in way.batches]
    assert sorted(epochs) == [f"{number:016x}" for number in range(20)]
    assert files() == []


async def test_no_descriptor_stays_open() -> None:
    left()
    await deliver_journals(URL, Recorder(MemoryLog()))
    before = open_descriptors()
    for number in range(5):
        left(f"{number:016x}")
    left("f" * 16).write_bytes(b"no journal")
    await deliver_journals(URL, Recorder(MemoryLog()))

    assert open_descriptors() == before


async def test_a_file_that_never_got_its_name_goes_after_a_while() -> None:
    path = left()
    fresh, old = (path.with_name(f".{path.name}{number}.new") for number in range(2))
    fresh.touch()
    old.touch()
    os.utime(old, (0, 0))
    await deliver_journals(URL, Recorder(MemoryLog()))

    assert files() == [fresh.name]


async def test_an_epoch_comes_after_one_whose_writer_is_gone_too() -> None:
    sink = writer(E1)
    sink.emit(error())
    batch = sink.take()
    assert batch is not None
    log = MemoryLog(now_ms=Clock())
    await log.open("s1", E1)  # its writer is taken to live for ten seconds
    sink.settle(batch, await log.append(batch))
    sink.close_journal()
    path = left(E2)
    path.rename(path.with_name(path.name.replace("-1", "-9", 1)))  # opened later

    await deliver_journals(URL, LocalTransport(log))

    words = await read_all(log)
    assert words[:2] == ["p1", "reset 2 new_epoch"]


async def test_a_journal_that_is_delivered_late_stands_before_the_writer_at_work() -> None:
    left(E1)
    log = MemoryLog(now_ms=Clock())
    await log.open("s1", E2)
    await log.append(Batch("s1", E2, 1, [(1, error().SerializeToString())], through=1))
    await deliver_journals(URL, LocalTransport(log))

    assert await read_all(log) == [
        "gap 1-1 writer_gone",
        "p2",
        "gap 3-3 writer_gone",
        "p4",
        "reset 2 new_epoch",
        "p1",
    ]
