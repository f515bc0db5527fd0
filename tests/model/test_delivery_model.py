"""The promises of delivery, run as a model, and the real logs held to it."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from compass_agent.sink import outbox
from model.machine import DeliveryMachine
from model.real_logs import RealLogs


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """So small that batches overflow in both ways."""
    monkeypatch.setattr(outbox, "_BATCH_FRAMES", 4)
    monkeypatch.setattr(outbox, "_BATCH_BYTES", 600)


@pytest.mark.requirement("G-SINK-6", "G-SINK-7", "G-PUMP-2", "G-PUMP-4")
@pytest.mark.timeout(1_800)
def test_the_rules_keep_their_promises_in_every_order_of_events() -> None:
    run_state_machine_as_test(
        DeliveryMachine, settings=settings(max_examples=2 * settings().max_examples)
    )


@pytest.mark.requirement(
    "G-LOG-1",
    "G-LOG-2",
    "G-LOG-3",
    "G-LOG-5",
    "G-LOG-6",
    "G-READ-1",
    "G-READ-2",
    "G-READ-3",
    "G-KEEP-1",
)
@pytest.mark.timeout(1_800)
def test_the_logs_answer_as_the_rules_say_and_give_readers_the_same() -> None:
    class Beside(DeliveryMachine):
        real_logs = RealLogs

    few = max(10, settings().max_examples // 2)
    run_state_machine_as_test(Beside, settings=settings(max_examples=few, stateful_step_count=40))
