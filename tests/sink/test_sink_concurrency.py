"""Emitting from everywhere at once: threads, event loops, signal handlers, finalizers, dying tasks.

Whatever interrupts what, every frame is accounted for, exactly, and nothing waits for ever.
"""

from __future__ import annotations

import gc
import signal
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

import anyio
import pytest
from anyio.lowlevel import checkpoint

from compass_agent.sink import FrameSink
from sinks import assert_balanced, error, stored, text

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from types import FrameType
    from typing import Self

    from compass_agent.frames import SessionFrame

pytestmark = pytest.mark.requirement("G-SINK-1", "G-SINK-6")

THREADS = 8
CAPACITY = 128
PRIORITY_EVERY = 50
TEXT, ERROR = text(), error()
SIGNALS = (signal.SIGUSR1, signal.SIGVTALRM)


@contextmanager
def switching(interval: float | None) -> Generator[None]:
    """Let threads take turns that often."""
    before = sys.getswitchinterval()
    if interval is not None:
        sys.setswitchinterval(interval)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


class Drain:
    """Takes batches in a thread until it is told to stop, and then all that is left."""

    def __init__(self, sink: FrameSink, pause: float = 0.0) -> None:
        self.sink = sink
        self.pause = pause
        self.priority: list[int] = []
        self.trace: list[int] = []
        self.batches = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(30)
        assert not self._thread.is_alive(), "the sink's lock was never released"

    def _run(self) -> None:
        while not self._stop.wait(self.pause):
            self._take()
        while self._take():
            pass

    def _take(self) -> bool:
        batch = self.sink.take()
        if batch is None:
            return False
        self.batches += 1
        assert_balanced(self.sink)
        self.priority += [seq for seq, _ in batch.priority]
        self.trace += [seq for seq, _ in batch.trace]
        self.sink.settle(batch, stored(batch))
        return True


def check(drain: Drain, *, emitted: int, priority: int) -> None:
    """Compare what came out with what went in: nothing twice, nothing unaccounted for."""
    sink = drain.sink
    assert_balanced(sink)
    lanes = sink.statistics()
    assert (lanes.priority.emitted, lanes.trace.emitted) == (priority, emitted - priority)
    assert (lanes.priority.delivered, lanes.priority.lost) == (priority, 0)
    assert lanes.priority.waiting + lanes.trace.waiting + lanes.trace.in_doubt == 0
    assert lanes.trace.delivered == len(drain.trace) == len({*drain.trace})
    assert lanes.trace.delivered + lanes.trace.lost == lanes.trace.emitted
    for lane in (drain.priority, drain.trace):
        assert lane == sorted(lane)
    assert len(drain.priority) == priority
    assert max([*drain.priority, *drain.trace]) == emitted
    assert {*drain.priority}.isdisjoint(drain.trace)


def in_threads(work: Callable[[], None], count: int = THREADS) -> None:
    threads = [threading.Thread(target=work) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def flood(frames: int, pause: float) -> FrameSink:
    sink = FrameSink("s", trace_capacity=CAPACITY)

    def emit() -> None:
        for number in range(frames):
            sink.emit(ERROR if number % PRIORITY_EVERY == 0 else TEXT)

    with Drain(sink, pause) as drain:
        in_threads(emit)
    urgent = THREADS * ((frames - 1) // PRIORITY_EVERY + 1)
    check(drain, emitted=THREADS * frames, priority=urgent)
    return sink


@pytest.mark.parametrize("interval", [None, 1e-6])
@pytest.mark.parametrize("pause", [0.0, 0.005])
def test_threads_lose_no_count(interval: float | None, pause: float) -> None:
    with switching(interval):
        sink = flood(1_000, pause)
    assert sink.statistics().trace.peak <= CAPACITY


@pytest.mark.slow
@pytest.mark.parametrize("interval", [None, 1e-6])
@pytest.mark.parametrize("run", range(20))
def test_eight_threads_of_twenty_thousand_emits_lose_no_count(
    interval: float | None, run: int
) -> None:
    del run
    with switching(interval):
        sink = flood(20_000, 0.005)
    assert sink.statistics().trace.lost > 0, "the drain was not slow"


def test_several_event_loops_share_a_sink() -> None:
    sink = FrameSink("s", trace_capacity=CAPACITY)
    backends = iter(["asyncio", "trio"] * 2)

    async def emit() -> None:
        async with anyio.create_task_group() as tasks:
            for _ in range(5):
                tasks.start_soon(emit_some)

    async def emit_some() -> None:
        for number in range(100):
            sink.emit(ERROR if number % PRIORITY_EVERY == 0 else TEXT)
            await checkpoint()

    with Drain(sink) as drain:
        in_threads(lambda: anyio.run(emit, backend=next(backends)), 4)
    check(drain, emitted=4 * 5 * 100, priority=4 * 5 * 2)


@contextmanager
def interrupted(
    handler: Callable[[int, FrameType | None], object], *, hammered: bool = True
) -> Generator[None]:
    """Interrupt the main thread by a timer and, often, by another thread; else once."""
    if threading.current_thread() is not threading.main_thread():
        pytest.skip("signals go to the main thread alone")
    main, stop = threading.get_ident(), threading.Event()

    def hammer() -> None:
        while not stop.wait(1e-5):
            signal.pthread_kill(main, signal.SIGUSR1)

    hammering = threading.Thread(target=hammer)
    before = [(number, signal.signal(number, handler)) for number in SIGNALS]
    # Not the real-time timer: the tests' own time limit uses it.
    signal.setitimer(signal.ITIMER_VIRTUAL, 1e-4, 1e-4 if hammered else 0)
    if hammered:
        hammering.start()
    try:
        yield
    finally:
        stop.set()
        if hammered:
            hammering.join()
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        for number, old in before:
            signal.signal(number, old)


def test_a_signal_handler_emits_while_the_main_thread_emits() -> None:
    sink = FrameSink("s", trace_capacity=CAPACITY)
    handled: list[int] = []

    def handler(number: int, _: FrameType | None) -> None:
        handled.append(number)
        sink.emit(ERROR)

    emitted = 0
    with Drain(sink) as drain:
        with interrupted(handler):
            while len(handled) < 500:
                sink.emit(TEXT)
                emitted += 1
        assert {*SIGNALS} <= {*handled}
    check(drain, emitted=emitted + len(handled), priority=len(handled))


def test_an_interrupt_that_raises_leaves_no_lock_behind_and_no_count_wrong() -> None:
    """As Ctrl-C does: it may end the emit that it interrupts, and nothing else."""

    def handler(number: int, _: FrameType | None) -> None:
        # An exception of the class that emit swallows would prove nothing.
        raise KeyboardInterrupt(number)

    def emit_for_ever(sink: FrameSink) -> None:
        while True:
            sink.emit(TEXT)

    for _ in range(60):
        sink = FrameSink("s", trace_capacity=CAPACITY)
        with pytest.raises(KeyboardInterrupt), interrupted(handler, hammered=False):
            emit_for_ever(sink)
        with Drain(sink):
            assert_balanced(sink)
        assert_balanced(sink)


def test_finalizers_emit_while_others_emit() -> None:
    sink = FrameSink("s", trace_capacity=CAPACITY)
    finalized: list[int] = []

    class Dying:
        def __init__(self) -> None:
            self.itself = self

        def __del__(self) -> None:
            finalized.append(1)
            sink.emit(ERROR)

    def emit() -> None:
        for _ in range(500):
            Dying()
            sink.emit(TEXT)

    before = gc.get_threshold()
    gc.set_threshold(3)
    try:
        with Drain(sink) as drain:
            in_threads(emit, 4)
            gc.collect()
    finally:
        gc.set_threshold(*before)
    assert len(finalized) == 4 * 500
    check(drain, emitted=2 * 4 * 500, priority=4 * 500)


async def test_tasks_that_are_cancelled_emit_to_their_end() -> None:
    sink = FrameSink("s", trace_capacity=CAPACITY)
    counts: list[int] = []

    async def emit(frame: SessionFrame) -> None:
        emitted = 0
        try:
            while True:
                sink.emit(frame)
                emitted += 1
                await checkpoint()
        finally:
            for _ in range(10):
                sink.emit(ERROR)
            counts.append(emitted)

    with Drain(sink) as drain:
        async with anyio.create_task_group() as tasks:
            for _ in range(50):
                tasks.start_soon(emit, TEXT)
            for _ in range(20):
                await checkpoint()
            tasks.cancel_scope.cancel()
    assert len(counts) == 50
    check(drain, emitted=sum(counts) + 500, priority=500)


@pytest.mark.requirement("G-SINK-5")
def test_the_default_bounds_are_1024_frames_and_8_mib() -> None:
    small, large = FrameSink("s"), FrameSink("s")
    for _ in range(1_100):
        small.emit(TEXT)
    for _ in range(100):
        large.emit(text("x" * 500_000))
    assert small.statistics().trace.waiting == 1_024
    assert large.statistics().trace.waiting == 16
    for sink in (small, large):
        assert_balanced(sink)


@pytest.mark.requirement("G-SINK-4")
def test_no_number_of_priority_frames_makes_one_drop() -> None:
    sink = FrameSink("s", trace_capacity=1, trace_bytes=1)
    for _ in range(20_000):
        sink.emit(ERROR)
    lane = sink.statistics().priority
    assert (lane.waiting, lane.lost, lane.peak) == (20_000, 0, 20_000)
