"""The log on JetStream keeps what every log promises, and no less than the others in any order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from compass_agent.log.memory import MemoryLog
from compass_agent.sink import outbox
from compass_agent.testing import check_log
from model.machine import DeliveryMachine
from model.real_logs import RealLogs
from nats_logs import fresh_log

if TYPE_CHECKING:
    from pathlib import Path

    from compass_agent.log import SessionLog
    from nats_servers import NatsServer


@pytest.mark.requirement("G-NATS-1")
@pytest.mark.parametrize("one_loop", [False, pytest.param(True, marks=pytest.mark.slow)])
async def test_the_log_on_jetstream_keeps_every_promise_of_a_log(
    nats_server: NatsServer, *, one_loop: bool
) -> None:
    await check_log(lambda: fresh_log(nats_server, one_loop=one_loop))


@pytest.mark.requirement("G-NATS-1")
@pytest.mark.timeout(1_800)
def test_the_log_on_jetstream_answers_and_reads_as_the_one_in_memory(
    nats_server: NatsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox, "_BATCH_FRAMES", 4)
    monkeypatch.setattr(outbox, "_BATCH_BYTES", 600)

    class OnNats(RealLogs):
        async def make_logs(self, folder: Path) -> list[SessionLog]:  # noqa: ARG002 - these need none
            there = await fresh_log(nats_server, self.clock, ahead_s=0)
            return [MemoryLog(now_ms=self.clock, ahead_s=0), there]

    class Beside(DeliveryMachine):
        real_logs = OnNats

    few = max(10, settings().max_examples // 5)
    run_state_machine_as_test(Beside, settings=settings(max_examples=few, stateful_step_count=30))
