"""The pump sends until everything was answered, and stops in time."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import anyio
import pytest

from compass_agent.errors.codes import ErrorCode, OperationError
from compass_agent.publish import Pump
from compass_agent.publish.pump import delay_before
from compass_agent.sink import FrameSink
from sinks import assert_balanced, error, refused, stored, text

if TYPE_CHECKING:
    from compass_agent.wire import Answer, Batch


class Log:
    """Takes batches as a log does; fails as it is told to."""

    def __init__(self, *failures: Exception) -> None:
        self.batches: list[Batch] = []
        self.tries: list[Batch] = []
        self._failures = list(failures)
        self.open = anyio.Event()
        self.open.set()
        self.asked = anyio.Event()

    async def publish(self, batch: Batch) -> Answer:
        self.tries.append(batch)
        self.asked.set()
        await self.open.wait()
        if self._failures:
            raise self._failures.pop(0)
        self.batches.append(batch)
        return stored(batch)

    def positions(self) -> list[int]:
        return sorted(seq for batch in self.batches for seq, _ in [*batch.priority, *batch.trace])


@pytest.mark.requirement("G-PUMP-5")
async def test_leaving_the_block_publishes_everything_and_the_end() -> None:
    sink, log = FrameSink("s"), Log()
    async with Pump(sink, log):
        for _ in range(600):
            sink.emit(text())
        sink.emit(error())
        sink.end(4)

    assert log.positions() == list(range(1, 602))
    assert log.batches[-1].end is not None
    assert log.batches[0].priority[0][0] == 601
    assert sink.is_drained()
    assert_balanced(sink)


async def test_frames_that_are_emitted_while_it_waits_wake_it() -> None:
    sink, log = FrameSink("s"), Log()
    async with Pump(sink, log):
        await anyio.wait_all_tasks_blocked()
        sink.emit(error())
        with anyio.fail_after(5):
            await log.asked.wait()


async def test_frames_of_another_thread_wake_it() -> None:
    sink, log = FrameSink("s"), Log()
    async with Pump(sink, log):
        await anyio.wait_all_tasks_blocked()
        thread = threading.Thread(target=sink.emit, args=(error(),))
        thread.start()
        with anyio.fail_after(5):
            await log.asked.wait()
        thread.join()


@pytest.mark.requirement("G-PUMP-3")
@pytest.mark.parametrize(
    "failure", [OperationError(ErrorCode.UNAVAILABLE), RuntimeError("broken pipe"), TimeoutError()]
)
async def test_an_unanswered_batch_goes_again_unchanged(failure: Exception) -> None:
    sink, log = FrameSink("s"), Log(failure, failure)
    async with Pump(sink, log):
        sink.emit(error())
        sink.emit(text())

    assert [id(batch) for batch in log.tries[:3]] == [id(log.tries[0])] * 3
    assert log.positions() == [1, 2]


@pytest.mark.requirement("G-SINK-4")
async def test_meanwhile_the_trace_lane_drops_and_priority_piles_up() -> None:
    sink, log = FrameSink("s", trace_capacity=2), Log()
    log.open = anyio.Event()
    async with Pump(sink, log):
        sink.emit(text())
        with anyio.fail_after(5):
            await log.asked.wait()
        for _ in range(5):
            sink.emit(text())
            sink.emit(error())
        assert sink.statistics().priority.waiting == 5
        assert sink.statistics().trace.lost == 3
        log.open.set()

    assert sink.statistics().priority.delivered == 5
    assert_balanced(sink)


@pytest.mark.requirement("G-PUMP-4")
async def test_what_is_refused_for_good_does_not_stop_the_rest() -> None:
    class Picky(Log):
        async def publish(self, batch: Batch) -> Answer:
            self.tries.append(batch)
            if any(b"bad" in data for _, data in batch.trace):
                if len(self.tries) % 2:
                    raise OperationError(ErrorCode.UNSUPPORTED_INPUT)
                return refused(batch)
            self.batches.append(batch)
            return stored(batch)

    sink, log = FrameSink("s"), Picky()
    async with Pump(sink, log):
        for number in range(10):
            sink.emit(text("bad" if number == 3 else "good"))

    assert log.positions() == [1, 2, 3, 5, 6, 7, 8, 9, 10]
    assert sink.statistics().trace.lost == 1


@pytest.mark.requirement("G-PUMP-5")
async def test_closing_returns_in_time_when_the_far_side_hangs() -> None:
    sink, log = FrameSink("s"), Log()
    log.open = anyio.Event()
    pump = Pump(sink, log)
    with anyio.fail_after(5):
        async with pump:
            sink.emit(error())
            await log.asked.wait()
            sink.emit(text())
            await pump.aclose(timeout=0.05)

    assert sink.statistics().priority.in_doubt == 1
    assert sink.statistics().trace.lost == 1
    assert_balanced(sink)


@pytest.mark.requirement("G-PUMP-5")
async def test_cancelling_the_host_still_flushes() -> None:
    sink, log = FrameSink("s"), Log()
    with anyio.CancelScope() as scope:
        async with Pump(sink, log):
            sink.emit(error())
            scope.cancel()
            await anyio.sleep_forever()

    assert log.positions() == [1]


async def test_an_exception_of_the_block_leaves_it_unchanged() -> None:
    boom = RuntimeError("boom")
    with pytest.raises(RuntimeError) as caught:
        async with Pump(FrameSink("s"), Log()):
            raise boom

    assert caught.value is boom


async def test_a_failing_log_is_complained_about_once(caplog: pytest.LogCaptureFixture) -> None:
    sink, log = FrameSink("s"), Log(*[OperationError(ErrorCode.UNAVAILABLE)] * 3)
    async with Pump(sink, log):
        sink.emit(error())

    (told,) = (record.getMessage() for record in caplog.records)
    assert told.startswith("frames could not be published, trying again: ")
    assert "Error(" not in told


@pytest.mark.requirement("G-PUMP-3")
def test_retries_wait_longer_and_longer_up_to_half_a_minute() -> None:
    assert [delay_before(attempt) for attempt in range(2, 8)] == [0.05, 0.2, 0.8, 1.6, 3.2, 6.4]
    assert delay_before(100) == 30.0
