"""A hub takes what agents publish, and answers each batch; leases live as long as the calls."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

import anyio
import grpc
import pytest
from grpc import aio

from compass_agent.errors.codes import ErrorCode, OperationError
from compass_agent.log.memory import MemoryLog
from compass_agent.runtime.hub import running_hub
from compass_agent.transport.grpc import ingest
from compass_agent.wire import Batch, SessionMeta
from compass_agent.wire.publish import request_to_bytes
from hubs import published, publishing
from writing_logs import E1, E2, Clock, S, batch, end, read_all, text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from compass_agent.wire import Answer

SECRET = "sk-ant-api03-" + "a1B2c3D4" * 6
META = SessionMeta("Fix it", "pi", "1.0")


class BrokenLog(MemoryLog):
    """Fails to append as it is told."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error: Exception | None = error

    async def append(self, batch: Batch) -> Answer:
        if self.error is not None:
            raise self.error
        return await super().append(batch)


async def test_batches_are_stored_and_each_is_answered_also_when_it_comes_twice(
    place: Path,
) -> None:
    log = MemoryLog()
    async with running_hub(log, unix=place) as hub, publishing(hub.targets[0]) as call:
        first = batch(1, priority=[1], trace=[2, 3], through=3)
        assert (await published(call, first, META)).through == 3
        again = await published(call, first)
        assert (again.last_priority, again.through, again.code) == (1, 3, None)
        missing = await published(call, batch(2, priority=[9], prev_priority=5, through=9))
        assert missing.missing_from == 2
        late = await published(call, batch(3, trace=[2], through=4, prev_priority=1))
        assert late.late_trace == 1
        assert (await published(call, end(4, 4, 1))).through == 4
    assert await read_all(log) == ["p1", "t2", "t3", "gap 4-4 dropped", "end 4 4"]
    (summary,) = await log.sessions()
    assert (summary.title, summary.agent, summary.version) == ("Fix it", "pi", "1.0")


def storage_away() -> OperationError:
    error = OperationError(ErrorCode.UNAVAILABLE)
    error.__cause__ = OSError(f"why: {SECRET}")
    return error


@pytest.mark.requirement("G-ERR-2")
@pytest.mark.parametrize(
    ("error", "code"),
    [
        (lambda: RuntimeError(f"why: {SECRET}"), ErrorCode.INTERNAL),
        (lambda: ConnectionResetError(f"why: {SECRET}"), ErrorCode.UNAVAILABLE),
        (storage_away, ErrorCode.UNAVAILABLE),
    ],
)
async def test_a_batch_that_cannot_be_stored_is_answered_by_its_code_and_the_cause_is_logged(
    place: Path,
    error: Callable[[], Exception],
    code: ErrorCode,
    caplog: pytest.LogCaptureFixture,
) -> None:
    log = BrokenLog(error())
    async with running_hub(log, unix=place) as hub, publishing(hub.targets[0]) as call:
        assert (await published(call, batch(1, priority=[1], through=1), META)).code is code
    (record,) = (one for one in caplog.records if one.name.startswith("compass"))
    assert "why: " in record.getMessage()
    assert (record.exc_info, SECRET in caplog.text) == (None, False)


@pytest.mark.requirement("G-HUB-2")
async def test_one_call_carries_many_sessions(place: Path) -> None:
    log = MemoryLog()
    sessions = [f"s{number}" for number in range(40)]
    async with running_hub(log, unix=place) as hub, publishing(hub.targets[0]) as call:
        for session in sessions:
            await call.write(
                request_to_bytes(batch(1, trace=[1], through=1, session=session), META)
            )
        await call.done_writing()
        answers = [data async for data in call]
    assert len(answers) == 40
    for session in sessions:
        assert await read_all(log, session=session) == ["t1"]


async def test_an_older_writer_is_told_that_it_is_sealed(place: Path) -> None:
    async with running_hub(MemoryLog(), unix=place) as hub, publishing(hub.targets[0]) as call:
        await published(call, batch(1, trace=[1], through=1), META)
        await published(call, batch(1, trace=[1], through=1, epoch=E2), META)
        told = await published(call, batch(2, priority=[2], trace=[3], through=3))
    assert (told.sealed, told.late_trace, told.last_priority) == (True, 1, 2)


@pytest.mark.requirement("G-HUB-2")
@pytest.mark.parametrize(
    ("bad", "code"),
    [
        (batch(2, priority={2: b"\xff\xff"}, through=2), ErrorCode.UNSUPPORTED_INPUT),
        (Batch(S, E1, 2, trace=[(2, b"\x12\x7f")], through=2), ErrorCode.UNSUPPORTED_INPUT),
        (Batch(S, E1, 2, trace=[(2, text("x" * 10_000_000))]), ErrorCode.UNSUPPORTED_INPUT),
        (Batch(S, E1, 2**64 - 1), ErrorCode.UNSUPPORTED_INPUT),
        (batch(1, session="unknown"), ErrorCode.NOT_FOUND),
        (batch(1, session="no/name"), ErrorCode.NOT_FOUND),
    ],
    ids=["priority", "trace", "10 MB", "number", "unknown", "no name"],
)
async def test_a_batch_that_cannot_be_taken_is_answered_and_the_call_goes_on(
    place: Path, bad: Batch, code: ErrorCode
) -> None:
    log = MemoryLog()
    async with running_hub(log, unix=place) as hub, publishing(hub.targets[0]) as call:
        await published(call, batch(1, trace=[1], through=1), META)
        assert (await published(call, bad)).code is code
        assert (await published(call, batch(2, trace=[2], through=2))).code is None
    assert await read_all(log) == ["t1", "t2"]


async def test_a_batch_of_six_mib_is_taken(place: Path) -> None:
    log = MemoryLog()
    large = Batch(
        S, E1, 1, trace=[(seq, text("x" * 512 * 1024)) for seq in range(1, 13)], through=12
    )
    async with running_hub(log, unix=place) as hub, publishing(hub.targets[0]) as call:
        assert (await published(call, large, META)).code is None
    assert await read_all(log) == [f"t{seq}" for seq in range(1, 13)]


@pytest.mark.requirement("G-HUB-2")
@pytest.mark.parametrize(
    ("error", "code"),
    [
        (OperationError(ErrorCode.UNAVAILABLE), ErrorCode.UNAVAILABLE),
        (OperationError(ErrorCode.NOT_READY), ErrorCode.UNAVAILABLE),
        (OperationError(ErrorCode.STORAGE_FAILED), ErrorCode.STORAGE_FAILED),
        (RuntimeError("a secret path"), ErrorCode.INTERNAL),
    ],
)
async def test_what_the_log_cannot_do_is_answered_by_its_code(
    place: Path, error: Exception, code: ErrorCode
) -> None:
    log = BrokenLog(error)
    async with running_hub(log, unix=place) as hub, publishing(hub.targets[0]) as call:
        first = batch(1, trace=[1], through=1)
        assert (await published(call, first, META)).code is code
        log.error = None
        assert (await published(call, first)).code is None


@pytest.mark.requirement("G-HUB-6")
async def test_a_message_that_is_none_ends_the_call_with_our_own_words(place: Path) -> None:
    async with running_hub(MemoryLog(), unix=place) as hub, publishing(hub.targets[0]) as call:
        await call.write(b"\xff\xff\xff")
        with pytest.raises(aio.AioRpcError) as caught:
            await call.read()
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert caught.value.details() == "a message is no PublishFrameRequest"


@pytest.mark.requirement("G-HUB-3")
async def test_a_writer_lives_as_long_as_its_call_and_ten_seconds_more(place: Path) -> None:
    clock = Clock()
    renewed: list[list[tuple[str, str]]] = []

    class Watched(MemoryLog):
        async def renew(self, epochs: Iterable[tuple[str, str]], seconds: float = 10.0) -> None:
            renewed.append(list(epochs))
            await super().renew(renewed[-1], seconds)
            told.set()

    log, told = Watched(now_ms=clock), anyio.Event()
    async with running_hub(log, unix=place) as hub:
        async with publishing(hub.targets[0]) as call:
            await published(call, batch(1, trace=[1], through=1), META)
            clock.pass_s(9)
            with anyio.fail_after(10):
                await told.wait()
            assert renewed[-1] == [(S, E1)]
            clock.pass_s(9)
            assert await read_all(log) == ["t1"]
        with anyio.fail_after(5):
            while hub.ingest.writers:
                await anyio.lowlevel.checkpoint()
        clock.pass_s(2)
        assert await read_all(log) == ["t1", "state 6"]


@pytest.mark.requirement("G-HUB-3")
async def test_leases_that_cannot_be_renewed_are_told_once_and_renewed_as_soon_as_they_can_be(
    place: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(ingest, "_RENEW_EVERY_S", 0.01)
    fails = iter([True, True, True, False, True, True])

    class Failing(MemoryLog):
        async def renew(self, epochs: Iterable[tuple[str, str]], seconds: float = 10.0) -> None:
            fail = next(fails, None)
            if fail:
                raise RuntimeError("nobody expected this")
            await super().renew(epochs, seconds)
            if fail is None:
                over.set()

    log, over = Failing(), anyio.Event()
    async with running_hub(log, unix=place) as hub, publishing(hub.targets[0]) as call:
        await published(call, batch(1, trace=[1], through=1), META)
        with anyio.fail_after(10):
            await over.wait()
    told = [one for one in caplog.records if "could not be renewed" in one.getMessage()]
    assert len(told) == 2


async def test_a_hub_that_stops_ends_calls_as_unavailable(place: Path) -> None:
    async with AsyncExitStack() as stack:
        async with running_hub(MemoryLog(), unix=place) as hub:
            call = await stack.enter_async_context(publishing(hub.targets[0]))
            await published(call, batch(1, trace=[1], through=1), META)
            begun = anyio.current_time()
        assert anyio.current_time() - begun < 4, "the hub waited for its clients"
        with anyio.fail_after(10), pytest.raises(aio.AioRpcError) as caught:
            await call.read()
    assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
