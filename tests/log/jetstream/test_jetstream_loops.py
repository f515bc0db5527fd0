"""A log that works on its caller's loop does what one with a thread of its own does."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import anyio
import pytest
from anyio.from_thread import start_blocking_portal
from anyio.lowlevel import checkpoint
from anyio.to_thread import run_sync

from compass_agent.errors.codes import ErrorCode, OperationError
from nats_logs import fresh_log
from writing_logs import E1, S, batch, read_all

if TYPE_CHECKING:
    from nats_servers import NatsServer


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_log_on_its_callers_loop_has_no_thread(nats_server: NatsServer) -> None:
    log = await fresh_log(nats_server, one_loop=True)
    before = threading.active_count()
    await log.open(S, E1)
    assert threading.active_count() == before
    other = await fresh_log(nats_server)
    await other.open(S, E1)
    assert threading.active_count() > before
    await other.aclose()
    await log.aclose()


async def test_a_caller_that_is_cancelled_leaves_its_append_to_go_on(
    nats_server: NatsServer,
) -> None:
    log = await fresh_log(nats_server, one_loop=True)
    await log.open(S, E1)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(log.append, batch(1, priority=[1], through=1))
        await checkpoint()
        tasks.cancel_scope.cancel()
    with anyio.fail_after(5):
        while not (await log.sessions())[0].frames:
            await checkpoint()
    assert "p1" in await read_all(log)
    await log.aclose()


async def test_another_loop_may_call_it_as_well(nats_server: NatsServer) -> None:
    log = await fresh_log(nats_server, one_loop=True)
    await log.open(S, E1)

    def elsewhere() -> int:
        with start_blocking_portal("asyncio") as portal:
            return portal.call(log.append, batch(1, trace=[1], through=1)).through

    assert await run_sync(elsewhere) == 1
    await log.aclose()


async def test_a_closed_log_is_unavailable_on_any_loop(nats_server: NatsServer) -> None:
    log = await fresh_log(nats_server, one_loop=True)
    await log.open(S, E1)
    await log.aclose()
    await log.aclose()
    with pytest.raises(OperationError) as caught:
        await log.open(S, E1)
    assert caught.value.code is ErrorCode.UNAVAILABLE
