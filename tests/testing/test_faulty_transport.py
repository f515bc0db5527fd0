"""A transport that misbehaves on demand, and the pump that must lose nothing by it."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compass_agent.errors.codes import ErrorCode, OperationError
from compass_agent.log.memory import MemoryLog
from compass_agent.publish import Pump
from compass_agent.sink import FrameSink
from compass_agent.testing import Fault, FaultyTransport
from compass_agent.transport import LocalTransport
from sinks import assert_balanced, error, text
from writing_logs import E1, S, batch, read_all

if TYPE_CHECKING:
    from collections.abc import Iterable


async def faulty(*plan: Fault) -> tuple[MemoryLog, FaultyTransport]:
    log = MemoryLog()
    transport = FaultyTransport(LocalTransport(log), plan)
    await transport.open(S, E1)
    return log, transport


async def test_without_a_plan_everything_passes() -> None:
    log, transport = await faulty()
    answer = await transport.publish(batch(1, trace=[1], through=1))
    await transport.renew([(S, E1)], 0)

    assert (answer.batch, answer.through) == (1, 1)
    assert await read_all(log) == ["t1", "state 6"]


@pytest.mark.parametrize(
    ("fault", "raised", "stored"),
    [
        (Fault.FAIL, ErrorCode.UNAVAILABLE, []),
        (Fault.REFUSE, ErrorCode.UNSUPPORTED_INPUT, []),
        (Fault.DONE_UNKNOWN, None, ["t1"]),
        (Fault.NOT_DONE_UNKNOWN, None, []),
        (Fault.LATE, None, []),
    ],
)
async def test_a_fault_tells_the_sender_one_thing_and_does_another(
    fault: Fault, raised: ErrorCode | None, stored: list[str]
) -> None:
    log, transport = await faulty(fault)
    sent = batch(1, trace=[1], through=1)
    if raised:
        with pytest.raises(OperationError) as caught:
            await transport.publish(sent)
        assert caught.value.code is raised
    else:
        with pytest.raises(ConnectionResetError):
            await transport.publish(sent)

    assert await read_all(log) == stored
    assert (transport.tries, len(transport.delivered)) == ([sent], len(stored))
    await transport.publish(sent)
    assert await read_all(log) == ["t1"]


async def test_a_stalled_batch_passes_when_it_is_released() -> None:
    log, transport = await faulty(Fault.STALL)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(transport.publish, batch(1, trace=[1], through=1))
        with anyio.fail_after(5):
            await transport.stalled.wait()
        assert await read_all(log) == []
        transport.release()
    assert await read_all(log) == ["t1"]
    assert not transport.stalled.is_set()


async def test_a_batch_is_delivered_twice_or_after_a_later_one() -> None:
    _, transport = await faulty(Fault.TWICE, Fault.LATE)
    first, second, third = (batch(n, trace=[n], through=n) for n in (1, 2, 3))
    await transport.publish(first)
    with pytest.raises(ConnectionResetError):
        await transport.publish(second)
    await transport.publish(second)
    await transport.publish(third)

    assert [one.number for one in transport.delivered] == [1, 1, 2, 3, 2]


async def pumped(plan: Iterable[Fault]) -> None:
    """Whatever happens on the way, the log has each frame once, and the counters say so."""
    log = MemoryLog()
    transport = FaultyTransport(LocalTransport(log), plan)
    sink = FrameSink(S, epoch=E1)
    await transport.open(S, E1)
    async with Pump(sink, transport):
        for number in range(600):
            sink.emit(error() if number % 10 == 0 else text())
        sink.end(4)

    assert sink.is_drained()
    assert_balanced(sink)
    statistics = sink.statistics()
    assert (statistics.priority.delivered, statistics.trace.delivered) == (60, 540)
    read = await read_all(log)
    assert read[-1] == "end 600 4"
    assert [int(word[1:]) for word in read[:-1]] == [*range(1, 601)]


HARMLESS = [fault for fault in Fault if fault not in (Fault.STALL, Fault.REFUSE)]


@pytest.mark.requirement("G-PUMP-3")
@given(plan=st.lists(st.sampled_from(HARMLESS), max_size=5))
def test_the_pump_loses_nothing_by_any_faults(plan: list[Fault]) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("compass_agent.publish.pump.delay_before", lambda _: 0.0)  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType] - any attempt
        anyio.run(pumped, plan)


async def test_a_plan_may_be_endless() -> None:
    log, _ = await faulty()
    transport = FaultyTransport(LocalTransport(log), itertools.cycle([Fault.FAIL, Fault.NONE]))
    for number in range(1, 5):
        sent = batch(number, trace=[number], through=number)
        with pytest.raises(OperationError):
            await transport.publish(sent)
        await transport.publish(sent)
    assert len(await read_all(log)) == 4


async def test_a_publisher_of_ones_own_needs_nothing_but_publish() -> None:
    class Mine:
        publish = MemoryLog().append

    transport = FaultyTransport(Mine())
    await transport.open(S, E1)
    await transport.renew([(S, E1)])
    with pytest.raises(OperationError):
        await transport.publish(batch(1, trace=[1]))
