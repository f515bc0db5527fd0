"""What the engine lost is told at its place, and all that it still has is read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import anyio.lowlevel
import nats
import pytest

from compass_agent.errors.codes import OperationError
from compass_agent.frames import Cursor
from compass_agent.log import open_log
from compass_agent.log.jetstream import JetStreamLog
from compass_agent.log.jetstream.faults import DamagedError
from compass_agent.log.retention import Retention
from compass_agent.wire import SessionMeta
from nats_logs import fresh_log, fresh_stream, server_with_rights
from nats_servers import NatsServer
from writing_logs import E1, E2, S, batch, failed, read_all, text

if TYPE_CHECKING:
    from pathlib import Path


def flip(folder: Path, marker: bytes) -> None:
    """Change one byte of a message as it lies on the disk."""
    (file,) = [one for one in folder.rglob("*.blk") if marker in one.read_bytes()]
    data = bytearray(file.read_bytes())
    data[data.index(marker)] ^= 0xFF
    file.write_bytes(data)


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize(
    ("marker", "gap"),
    [
        (b"PRIORITY2", ["t9", "gap 10-10 log_loss", "t11", "t12"]),
        (b"TRACE2", ["t8", "gap 9-9 log_loss", "p10", "gap 11-12 log_loss"]),
    ],
)
async def test_a_byte_that_flipped_on_the_disk_costs_one_record_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, marker: bytes, gap: list[str]
) -> None:
    monkeypatch.setattr("compass_agent.log.jetstream.blocks._LAG_TRIES", 2)
    server = NatsServer(tmp_path)
    server.start()
    stream = await fresh_stream(server, {"storage": "file"})
    log = JetStreamLog([server.url], stream)
    for session in (S, "other"):
        await log.open(session, E1)
        for k in range(5):
            one = batch(
                k + 1,
                priority={k * 4 + 2: failed(f"{session} PRIORITY{k}")},
                trace=[k * 4 + 1, k * 4 + 3, k * 4 + 4],
                through=k * 4 + 4,
                prev_priority=max(0, k * 4 - 2),
                session=session,
            )
            one.trace[0] = (k * 4 + 1, text(f"{session} TRACE{k}"))
            await log.append(one)
    await log.aclose()
    server.stop()
    flip(tmp_path, b"s1 " + marker)
    server.start()
    log = JetStreamLog([server.url], stream)
    whole = [f"{'p' if seq % 4 == 2 else 't'}{seq}" for seq in range(1, 21)]
    with anyio.fail_after(20):
        assert await read_all(log, session="other") == whole
        read = await read_all(log)
        at = read.index(gap[0])
        assert read[at : at + len(gap)] == gap
        assert read[:at] == whole[:at]
        assert read[at + len(gap) :] == whole[12:]
        pruned = await log.prune(Retention(trace_frames=4))
        assert set(pruned.trimmed) == {S, "other"}
        assert (await read_all(log))[-4:] == ["t17", "p18", "t19", "t20"]
    await log.aclose()
    server.stop()


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_priority_that_somebody_removed_reads_as_a_fault(nats_server: NatsServer) -> None:
    log = await fresh_log(nats_server)
    await log.open(S, E1)
    await log.append(batch(1, priority=[2], trace=[1, 3], through=3))
    client = await nats.connect(nats_server.url)  # pyright: ignore[reportUnknownMemberType] - of options that are not used
    stream = log._engine.stream  # pyright: ignore[reportPrivateUsage] - to harm it
    await client.jetstream().purge_stream(stream, subject=f"{stream}.s.*.*.p.>")  # pyright: ignore[reportUnknownMemberType] - of options that are not used
    await client.close()
    assert await read_all(log) == ["t1", "gap 2-2 log_loss", "t3"]
    await log.aclose()


async def log_without_its_newest_record(
    folder: Path, *, priority: bool
) -> tuple[NatsServer, JetStreamLog]:
    """A log with the places 1 to 5; 3 to 5, in one record, were answered and are lost."""
    server = NatsServer(folder)
    server.start()
    stream = await fresh_stream(server, {"storage": "file"})
    log = JetStreamLog([server.url], stream)
    await log.open(S, E1)
    await log.append(batch(1, priority=[1], trace=[2], through=2))
    last = batch(2, through=5, prev_priority=1)
    lane = last.priority if priority else last.trace
    lane += [(seq, failed("NEWEST") if priority else text("NEWEST")) for seq in (3, 4, 5)]
    assert (await log.append(last)).code is None
    await log.open("other", E1)
    await log.aclose()
    server.stop()
    flip(folder, b"NEWEST")
    server.start()
    return server, JetStreamLog([server.url], stream)


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_session_whose_newest_record_is_lost_is_read_and_goes_on_behind_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("compass_agent.log.jetstream.blocks._LAG_TRIES", 2)
    server, log = await log_without_its_newest_record(tmp_path, priority=False)
    with anyio.fail_after(20):
        assert await read_all(log) == ["p1", "t2"]
        assert {one.session for one in await log.sessions()} == {"other", S}
        await log.renew([(S, E1)])  # what is known is written down again meanwhile
        answer = await log.append(batch(3, trace=[6, 9], through=9, prev_priority=1))
        assert (answer.code, answer.through, answer.late_trace) == (None, 9, 0)
        whole = ["p1", "t2", "gap 3-5 log_loss", "t6", "gap 7-8 dropped", "t9"]
        assert await read_all(log) == whole
        # Who had read what is lost goes on behind it.
        assert await read_all(log, after=Cursor(E1, 5)) == whole[3:]
    await log.aclose()
    log = JetStreamLog([server.url], log._engine.stream)  # pyright: ignore[reportPrivateUsage] - the same again
    with anyio.fail_after(20):
        assert await read_all(log) == whole
    await log.aclose()
    server.stop()


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_writer_is_told_that_its_newest_priority_record_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("compass_agent.log.jetstream.blocks._LAG_TRIES", 2)
    server, log = await log_without_its_newest_record(tmp_path, priority=True)
    with anyio.fail_after(20):
        answer = await log.append(batch(3, priority=[6], through=6, prev_priority=5))
        assert (answer.missing_from, answer.last_priority) == (2, 1)
        told = batch(3, priority=[6], through=6, prev_priority=5, lost_priority=5)
        assert (await log.append(told)).code is None
        assert await read_all(log) == ["p1", "t2", "gap 3-5 log_loss", "p6"]
    await log.aclose()
    server.stop()


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_new_writer_goes_on_where_the_newest_record_is_lost(tmp_path: Path) -> None:
    server, log = await log_without_its_newest_record(tmp_path, priority=True)
    with anyio.fail_after(20):
        await log.open(S, E2)
        assert (await log.append(batch(1, trace=[1], through=1, epoch=E2))).code is None
        assert await read_all(log) == ["p1", "t2", "reset 2 new_epoch", "t1"]
        await log.delete(S)
        assert [one.session for one in await log.sessions()] == ["other"]
    await log.aclose()
    server.stop()


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_writer_that_may_not_look_further_does_not_take_such_a_session_for_none(
    tmp_path: Path,
) -> None:
    server, mine, everything = await server_with_rights(tmp_path)
    log = open_log(mine)
    await log.open(S, E1)
    await log.append(batch(1, priority={1: failed("FIRST")}, through=1))
    await log.append(batch(2, priority={2: failed("NEWEST")}, through=2, prev_priority=1))
    await log.aclose()
    server.stop()
    flip(tmp_path, b"NEWEST")
    server.start()
    log = open_log(mine)
    owner = open_log(everything)
    with anyio.fail_after(20):
        with pytest.raises(DamagedError, match="refused"):
            await log.open(S, E2)
        assert await read_all(owner) == ["p1"]
        await owner.open(S, E2)
        assert (await log.append(batch(1, trace=[1], through=1, epoch=E2))).code is None
    await log.aclose()
    await owner.aclose()
    server.stop()


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("frames", [0, 1])
async def test_a_session_whose_sheet_is_lost_is_listed_and_can_be_removed(
    tmp_path: Path, frames: int
) -> None:
    server = NatsServer(tmp_path)
    server.start()
    stream = await fresh_stream(server, {"storage": "file"})
    log = JetStreamLog([server.url], stream)
    await log.open(S, E1, SessionMeta(title="SHEET"))
    for seq in range(1, frames + 1):
        await log.append(batch(seq, priority=[seq], through=seq))
    await log.open("other", E1)
    await log.aclose()
    server.stop()
    flip(tmp_path, b"SHEET")
    server.start()
    log = JetStreamLog([server.url], stream)
    with anyio.fail_after(20):
        assert [one.session for one in await log.sessions()] == ["other", S]
        await log.delete(S)
        assert [one.session for one in await log.sessions()] == ["other"]
        await log.open(S, E2)
        await log.append(batch(1, trace=[1], through=1, epoch=E2))
        await log.renew([(S, E2)])
        await log.aclose()
        log = JetStreamLog([server.url], stream)
        assert await read_all(log) == ["t1"]
    await log.aclose()
    server.stop()


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize(
    ("removed", "read"),
    [
        ([], ["gap 1-1 dropped", "p2", "gap 3-3 dropped", "p4", "gap 5-5 dropped", "p6"]),
        ([2], ["gap 1-2 log_loss", "gap 3-3 dropped", "p4", "gap 5-5 dropped", "p6"]),
        ([2, 4], ["gap 1-4 log_loss", "gap 5-5 dropped", "p6"]),
        ([2, 4, 6], ["gap 1-6 log_loss"]),
        ([4, 6], ["gap 1-1 dropped", "p2", "gap 3-6 log_loss"]),
    ],
)
async def test_priority_that_was_removed_in_a_row_is_never_told_as_dropped(
    nats_server: NatsServer, removed: list[int], read: list[str]
) -> None:
    log = await fresh_log(nats_server)
    await log.open(S, E1)
    for seq in (2, 4, 6):
        await log.append(batch(seq, priority=[seq], through=seq, prev_priority=seq - 2))
    await log.append(batch(7, trace=[7, 5000], through=5000, prev_priority=6))
    await remove(log, nats_server, [seq // 2 + 1 for seq in removed])
    assert await read_all(log) == [*read, "t7", "gap 8-4999 dropped", "t5000"]
    await log.aclose()


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_block_of_which_all_is_removed_is_told_as_a_fault(nats_server: NatsServer) -> None:
    log = await fresh_log(nats_server)
    await log.open(S, E1)
    await log.append(batch(1, priority=[100], through=100))
    await log.append(batch(2, trace=[5000], through=5000, prev_priority=100))
    await remove(log, nats_server, [2])
    assert await read_all(log) == ["gap 1-100 log_loss", "gap 101-4999 dropped", "t5000"]
    await log.aclose()


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("through", [3, 5000])
async def test_trace_that_was_dropped_is_no_fault_when_priority_is_a_page_further_on(
    nats_server: NatsServer, through: int
) -> None:
    log = await fresh_log(nats_server)
    await log.open(S, E1)
    await log.append(batch(1, trace=[1, 3], through=3))
    await log.append(batch(2, priority=[5000], through=through))
    whole = ["t1", "gap 2-2 dropped", "t3"]
    if through == 5000:
        whole += ["gap 4-4999 dropped", "p5000"]
    for page_frames in (2, 7):
        assert await read_all(log, page_frames=page_frames) == whole
    await log.aclose()


async def remove(log: JetStreamLog, server: NatsServer, places: list[int]) -> None:
    """Have somebody remove the messages at these places of the stream."""
    client = await nats.connect(server.url)  # pyright: ignore[reportUnknownMemberType] - of options that are not used
    stream = log._engine.stream  # pyright: ignore[reportPrivateUsage] - to harm it
    for place in places:
        await client.jetstream().delete_msg(stream, place)  # pyright: ignore[reportUnknownMemberType] - of options that are not used
    await client.close()


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("marker", [b"PRIORITY0", b"PRIORITY2", b"TRACE2"])
async def test_trace_that_was_removed_from_around_what_was_lost_reads_as_retention(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, marker: bytes
) -> None:
    monkeypatch.setattr("compass_agent.log.jetstream.blocks._LAG_TRIES", 2)
    server = NatsServer(tmp_path)
    server.start()
    stream = await fresh_stream(server, {"storage": "file"})
    log = JetStreamLog([server.url], stream)
    await log.open(S, E1)
    for k in range(6):
        first = k * 4 + 1
        one = batch(k + 1, trace=[first + 2], through=first + 2, prev_priority=max(0, first - 3))
        one.trace.insert(0, (first, text(f"TRACE{k}")))
        one.priority.append((first + 1, failed(f"PRIORITY{k}")))
        await log.append(one)
    await log.aclose()
    server.stop()
    flip(tmp_path, marker)
    server.start()
    log = JetStreamLog([server.url], stream)
    with anyio.fail_after(20):
        await log.prune(Retention(trace_frames=3))
        lost = {b"PRIORITY0": [2], b"PRIORITY2": [10]}.get(marker, [])
        expected: list[str] = []
        for word in ("1", "p2", "3-5", "p6", "7-9", "p10", "11-13", "p14", "15-17", "p18"):
            if word[0] == "p":
                seq = int(word[1:])
                expected.append(f"gap {seq}-{seq} log_loss" if seq in lost else word)
            else:
                expected.append(f"gap {word if '-' in word else '1-1'} retention")
        rest = ["t19", "gap 20-20 dropped", "t21", "p22", "t23"]
        assert await read_all(log) == [*expected, *rest]
    await log.aclose()
    server.stop()


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_what_a_server_that_was_killed_comes_back_without_is_lost_and_not_dropped(
    tmp_path: Path,
) -> None:
    server = NatsServer(tmp_path)
    server.start()
    stream = await fresh_stream(server, {"storage": "file"})
    log = JetStreamLog([server.url], stream)
    await log.open(S, E1)
    await log.append(batch(1, priority=[1], trace=[2], through=2))
    last = batch(2, through=5, prev_priority=1)
    last.trace.extend((seq, text("NEWEST")) for seq in (3, 4, 5))
    assert (await log.append(last)).code is None
    server.kill()
    flip(tmp_path, b"NEWEST")
    server.start()
    with anyio.fail_after(20):
        while True:
            try:
                await log.append(batch(3, trace=[6, 9], through=9, prev_priority=1))
            except OperationError:  # It is not connected again yet.
                await anyio.lowlevel.checkpoint()
            else:
                break
        whole = ["p1", "t2", "gap 3-5 log_loss", "t6", "gap 7-8 dropped", "t9"]
        assert await read_all(log) == whole
        await log.aclose()
        log = JetStreamLog([server.url], stream)
        assert await read_all(log) == whole
    await log.aclose()
    server.stop()
