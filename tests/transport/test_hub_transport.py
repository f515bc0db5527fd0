"""The agent's end of a hub: typed failures, and the same batch again until it is answered."""

from __future__ import annotations

import socket
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import anyio
import grpc
import pytest
from grpc import aio

from compass_agent.errors.codes import ErrorCode, OperationError
from compass_agent.log.memory import MemoryLog
from compass_agent.runtime.hub import running_hub
from compass_agent.transport.grpc import GrpcTransport, hub_transport
from compass_agent.wire import Answer, Batch, SessionMeta
from compass_agent.wire.publish import PUBLISH_FRAME, answer_to_bytes
from writing_logs import E1, E2, S, batch, end, failed, read_all, text

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

TOKEN = "-".join(["0123456789abcdef"] * 2)
META = SessionMeta("Fix it", "pi", "1.0")


@pytest.fixture
async def transport(place: Path) -> AsyncGenerator[GrpcTransport]:
    made = hub_transport(f"unix:{place}")
    yield made
    await made.aclose()


async def again(transport: GrpcTransport, batch: Batch) -> Answer:
    """Publish as the pump does, without its pauses."""
    with anyio.fail_after(20):
        while True:
            try:
                return await transport.publish(batch)
            except OperationError as error:
                if error.code is not ErrorCode.UNAVAILABLE:
                    raise
                await anyio.lowlevel.checkpoint()


async def code_of(transport: GrpcTransport, *, opens: bool = False) -> ErrorCode:
    """The code of the error that opening, or publishing, raises."""
    try:
        with anyio.fail_after(20):
            if opens:
                await transport.open(S, E1, META)
            else:
                await transport.publish(batch(1, trace=[1], through=1))
    except OperationError as error:
        return error.code
    pytest.fail("no error was raised")


async def test_what_is_published_is_in_the_hubs_log(place: Path, transport: GrpcTransport) -> None:
    log = MemoryLog()
    async with running_hub(log, unix=place):
        await transport.open(S, E1, META)
        answer = await transport.publish(batch(1, priority=[1], trace=[2], through=2))
        assert answer == Answer(1, 1, 2)
        assert (await transport.publish(end(2, 2, 1))).code is None
    assert await read_all(log) == ["p1", "t2", "end 2 4"]
    assert [summary.title for summary in await log.sessions()] == ["Fix it"]


async def test_sessions_share_a_transport(place: Path, transport: GrpcTransport) -> None:
    log = MemoryLog()

    async def publish(session: str) -> None:
        await transport.open(session, E1)
        for number in range(1, 11):
            one = batch(number, trace=[number], through=number, session=session)
            await transport.publish(one)

    async with running_hub(log, unix=place), anyio.create_task_group() as tasks:
        for number in range(8):
            tasks.start_soon(publish, f"s{number}")
    for number in range(8):
        assert len(await read_all(log, session=f"s{number}")) == 10


@pytest.mark.requirement("G-HUB-1")
async def test_without_a_hub_publishing_is_unavailable_and_goes_on_when_there_is_one(
    place: Path, transport: GrpcTransport
) -> None:
    assert await code_of(transport, opens=True) is ErrorCode.UNAVAILABLE
    log = MemoryLog()
    async with running_hub(log, unix=place):
        await again(transport, batch(1, trace=[1], through=1))
    assert await code_of(transport) is ErrorCode.UNAVAILABLE
    async with running_hub(log, unix=place):
        await again(transport, batch(2, trace=[2], through=2))
    assert await read_all(log) == ["t1", "t2"]


async def test_a_hub_that_came_back_with_an_empty_log_is_told_of_the_session_again(
    place: Path, transport: GrpcTransport
) -> None:
    async with running_hub(MemoryLog(), unix=place):
        await transport.open(S, E1, META)
    log = MemoryLog()
    async with running_hub(log, unix=place):
        answer = await again(transport, batch(1, trace=[1], through=1))
        assert answer.code is None
    assert [summary.title for summary in await log.sessions()] == ["Fix it"]


@pytest.mark.requirement("G-HUB-3")
async def test_renewing_brings_an_idle_session_back_to_a_hub_that_came_back(
    place: Path, transport: GrpcTransport
) -> None:
    log = MemoryLog()
    async with running_hub(log, unix=place):
        await transport.open(S, E1, META)
    async with running_hub(log, unix=place) as hub:
        with anyio.fail_after(20):
            while (S, E1) not in hub.ingest.writers:
                with suppress(OperationError):  # the hub is not there yet
                    await transport.renew([(S, E1), (S, E2)])
                await anyio.lowlevel.checkpoint()
        transport.forget(S, E1)
        with anyio.fail_after(5):
            while hub.ingest.writers:
                await anyio.lowlevel.checkpoint()


class StuckLog(MemoryLog):
    """Stores, and says so only when it is allowed to."""

    def __init__(self) -> None:
        super().__init__()
        self.stored = anyio.Event()
        self.gate = anyio.Event()

    async def append(self, batch: Batch) -> Answer:
        answer = await super().append(batch)
        self.stored.set()
        await self.gate.wait()
        return answer


@pytest.mark.requirement("G-HUB-1")
async def test_a_publish_that_is_cancelled_may_be_repeated(
    place: Path, transport: GrpcTransport
) -> None:
    log = StuckLog()
    first = batch(1, priority=[1], trace=[2], through=2)
    async with running_hub(log, unix=place):
        await transport.open(S, E1, META)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(transport.publish, first)
            with anyio.fail_after(10):
                await log.stored.wait()
            tasks.cancel_scope.cancel()
        log.gate.set()
        assert (await again(transport, first)) == Answer(1, 1, 2)
        assert (await transport.publish(batch(2, trace=[3], through=3, prev_priority=1))).batch == 2
    assert await read_all(log) == ["p1", "t2", "t3"]


async def test_a_batch_that_is_refused_for_good_is_answered_so(
    place: Path, transport: GrpcTransport
) -> None:
    async with running_hub(MemoryLog(), unix=place):
        await transport.open(S, E1, META)
        bad = await transport.publish(batch(1, priority={1: b"\xff"}, through=1))
        assert bad.code is ErrorCode.UNSUPPORTED_INPUT
        await transport.publish(end(2, 0))
        after = await transport.publish(batch(3, priority=[1], through=1))
        assert after.code is ErrorCode.CONFLICT


async def test_a_batch_above_the_largest_message_is_refused_and_not_repeated_for_ever(
    place: Path, transport: GrpcTransport
) -> None:
    async with running_hub(MemoryLog(), unix=place):
        await transport.open(S, E1, META)
        large = Batch(S, E1, 1, trace=[(1, text("x" * 65 * 1024 * 1024))], through=1)
        with pytest.raises(OperationError) as caught:
            await transport.publish(large)
    assert caught.value.code is ErrorCode.UNSUPPORTED_INPUT


async def test_an_epoch_that_was_not_opened_is_not_found(
    place: Path, transport: GrpcTransport
) -> None:
    async with running_hub(MemoryLog(), unix=place):
        assert await code_of(transport) is ErrorCode.NOT_FOUND


async def test_names_that_the_log_refuses_are_refused(
    place: Path, transport: GrpcTransport
) -> None:
    async with running_hub(MemoryLog(), unix=place):
        with pytest.raises(OperationError) as caught:
            await transport.open("a/b", E1)
    assert caught.value.code is ErrorCode.UNSUPPORTED_INPUT


@pytest.mark.requirement("G-PUMP-6")
async def test_what_a_writer_that_is_gone_left_stands_before_the_one_that_is_at_work(
    place: Path, transport: GrpcTransport
) -> None:
    log = MemoryLog()
    async with running_hub(log, unix=place) as hub:
        await transport.open(S, E2, META)
        await transport.publish(batch(1, priority=[1], through=1, epoch=E2))
        await transport.open(S, E1, META, recovered=True)
        await transport.publish(batch(1, priority={2: failed("no")}))
        await transport.renew([(S, E1)], 0.0)
        assert hub.ingest.writers == {(S, E2): 1}
    assert await read_all(log) == ["gap 1-1 writer_gone", "p2", "reset 2 new_epoch", "p1"]
    (summary,) = await log.sessions()
    assert (summary.epoch, summary.last_error) == (E2, None)


async def test_a_hub_is_told_that_a_writer_is_gone_and_opens_nothing_for_that(
    place: Path, transport: GrpcTransport
) -> None:
    log = MemoryLog()
    async with running_hub(log, unix=place):
        await transport.renew([(S, E1)], 0.0)
        assert await log.sessions() == []
        await transport.open(S, E1, META, recovered=True)
        assert await log.sessions() == []
        await transport.publish(batch(1, priority=[1]))
        await transport.publish(batch(2, priority=[2], prev_priority=1))
        await transport.renew([(S, E1)], 0.0)
        assert await read_all(log) == ["p1", "p2", "state 6"]


async def test_by_tcp_the_token_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = MemoryLog()
    async with running_hub(log, listen="127.0.0.1:0", token=TOKEN) as hub:
        url = f"grpc://{hub.targets[0]}"
        for token in (None, "", TOKEN[:-1], TOKEN + "x"):
            transport = GrpcTransport(hub.targets[0], token)
            assert await code_of(transport, opens=True) is ErrorCode.PERMISSION_DENIED
            assert await code_of(transport) is ErrorCode.PERMISSION_DENIED
            await transport.aclose()
        assert await log.sessions() == []
        monkeypatch.setenv("COMPASS_TOKEN_FILE", str(tmp_path / "token"))
        with pytest.raises(OperationError) as caught:
            hub_transport(url)
        assert caught.value.code is ErrorCode.PERMISSION_DENIED
        (tmp_path / "token").write_text(TOKEN + "\n", "ascii")
        transport = hub_transport(url)
        await transport.open(S, E1, META)
        await transport.aclose()
    assert [summary.session for summary in await log.sessions()] == [S]


async def test_tcp_without_a_token_and_a_taken_port_are_refused() -> None:
    for token in (None, ""):
        with pytest.raises(OperationError) as caught:
            async with running_hub(MemoryLog(), listen="127.0.0.1:0", token=token):
                pass
        assert caught.value.code is ErrorCode.PERMISSION_DENIED
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        listen = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(OperationError) as caught:
            async with running_hub(MemoryLog(), listen=listen, token=TOKEN):
                pass
    assert caught.value.code is ErrorCode.CONFLICT


async def test_an_answer_to_another_batch_is_no_answer(place: Path) -> None:
    async def confused(_: object, context: Any) -> None:
        while isinstance(await context.read(), bytes):
            await context.write(answer_to_bytes(S, E1, Answer(7, 0, 0)))

    handler: grpc.RpcMethodHandler[bytes, bytes] = grpc.stream_stream_rpc_method_handler(confused)
    server = aio.server()
    server.add_generic_rpc_handlers(
        (grpc.method_handlers_generic_handler(PUBLISH_FRAME[0], {PUBLISH_FRAME[1]: handler}),)
    )
    server.add_insecure_port(f"unix:{place}")
    await server.start()
    transport = hub_transport(f"unix:{place}")
    try:
        assert await code_of(transport) is ErrorCode.UNAVAILABLE
        # The next one is asked on a new call: nothing of the old one is read as its answer.
        answer = await transport.publish(batch(7, trace=[1], through=1))
        assert answer.batch == 7
    finally:
        await transport.aclose()
        await server.stop(0)
