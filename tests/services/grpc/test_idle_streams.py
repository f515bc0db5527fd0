"""A tail that is idle stays up, however often its client asks whether the hub is there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio
import pytest
from grpc import aio

from compass.v1.compass_pb2 import SubscribeAgentSessionRequest
from compass_agent.log.memory import MemoryLog
from compass_agent.runtime.hub import running_hub
from compass_agent.wire.relay import SUBSCRIBE
from writing_logs import E1, S, batch

if TYPE_CHECKING:
    from pathlib import Path

_PINGS = (
    ("grpc.keepalive_time_ms", 1_000),
    ("grpc.keepalive_timeout_ms", 5_000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.max_pings_without_data", 0),
)


@pytest.mark.slow
@pytest.mark.requirement("G-HUB-4")
async def test_a_client_that_pings_every_second_is_not_sent_away(place: Path) -> None:
    log = MemoryLog()
    await log.open(S, E1)
    await log.append(batch(1, trace=[1], through=1))
    async with (
        running_hub(log, unix=place) as hub,
        aio.insecure_channel(hub.targets[0], options=_PINGS) as channel,
    ):
        ask: aio.UnaryStreamMultiCallable[bytes, bytes] = channel.unary_stream(
            "/{}/{}".format(*SUBSCRIBE)
        )
        call = ask(SubscribeAgentSessionRequest(session_id=S, max_batch=64).SerializeToString())
        read: Any = call.read
        await read()

        async def renew() -> None:
            """Keep the writer alive, so that nothing is told."""
            while True:
                await log.renew([(S, E1)])
                with anyio.move_on_after(2):
                    await anyio.Event().wait()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(renew)
            with pytest.raises(TimeoutError), anyio.fail_after(12):
                await read()
            tasks.cancel_scope.cancel()
