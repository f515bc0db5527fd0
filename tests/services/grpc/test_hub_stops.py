"""A hub that stops tells every call so, whatever that call is in the middle of."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread
import grpc
import pytest
from grpc import aio

from compass_agent.log.memory import MemoryLog
from compass_agent.runtime.hub import running_hub
from compass_agent.services.grpc import subscribers
from compass_agent.wire import Batch
from compass_agent.wire.relay import Relay
from full_reader import LARGER_THAN_A_SOCKETS_BUFFER, full_reader
from hubs import subscribed
from writing_logs import E1, S, batch, text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.mark.requirement("G-HUB-1")
async def test_a_call_whose_first_message_is_under_way_is_told_unavailable(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = MemoryLog()
    one = batch(1, trace=[1], through=1)
    await log.open(S, one.epoch)
    await log.append(one)

    async with running_hub(log, unix=place) as hub:
        stop = hub._guard.stop  # pyright: ignore[reportPrivateUsage] - at this very moment

        class Stopping(Relay):
            def messages(self, items: Any) -> Iterator[bytes]:
                # Runs as soon as the call waits for its write to be done.
                asyncio.get_running_loop().call_soon(stop)
                return super().messages(items)

        monkeypatch.setattr(subscribers, "Relay", Stopping)
        with anyio.fail_after(5):
            async with subscribed(hub.targets[0], session_id=S) as reader:
                with pytest.raises(aio.AioRpcError) as caught:
                    await reader.rest()
    assert caught.value.code() is grpc.StatusCode.UNAVAILABLE


@pytest.mark.requirement("G-HUB-1", "G-HUB-4")
async def test_a_reader_whose_connection_is_full_does_not_hold_up_the_stop(
    place: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "compass_agent")
    log = MemoryLog()
    one = Batch(S, E1, 1, trace=[(1, text("x" * LARGER_THAN_A_SOCKETS_BUFFER))], through=1)
    await log.open(S, one.epoch)
    await log.append(one)

    with full_reader(S) as reader:
        async with running_hub(log, unix=place) as hub:
            await anyio.to_thread.run_sync(reader.begin, place)
            assert hub.subscribers.count == 1
            # With the fault, the stop would go on for as long as the connection is there.
            asyncio.get_running_loop().call_later(8, reader.close)
            began = anyio.current_time()
        assert anyio.current_time() - began < 5
    # Nothing of the call is left, either: that would keep the process from ending.
    assert [record.getMessage() for record in caplog.records] == ["connections were broken off: 1"]
