"""A hub that stops tells every call so, whatever that call is in the middle of."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import anyio
import grpc
import pytest
from grpc import aio

from compass_agent.log.memory import MemoryLog
from compass_agent.runtime.hub import running_hub
from compass_agent.services.grpc import subscribers
from compass_agent.wire.relay import Relay
from hubs import subscribed
from writing_logs import S, batch

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
