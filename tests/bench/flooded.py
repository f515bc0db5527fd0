"""An error's way while the trace lane is flooded with ten times what drains, and while it is idle.

The far side takes the same time for every batch, as a disk or a network does that is slow to
answer. Nothing of this is told by who emits: the status is asked of the log, and a reader follows.
"""

from __future__ import annotations

__all__ = ("Ways", "measure_ways")

import random
import threading
import time
from contextlib import aclosing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio

from compass_agent import FrameSink, Pump
from compass_agent.frames import FrameBuilder, SessionErrorKind, SessionFrame
from compass_agent.log import open_log
from compass_agent.wire import FrameItem

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from pathlib import Path

    from compass_agent.log import SessionLog
    from compass_agent.wire import Answer, Batch

_BUILD = FrameBuilder(lambda: time.time_ns() // 1_000_000)
_SESSION = "flooded"
_BATCH_FRAMES = 256
_LANE_FRAMES = 1_024
_FLOOD = 10
_BURST_S = 0.005
_PATIENCE_S = 20.0


@dataclass(frozen=True, slots=True)
class Ways:
    """Seconds that errors took, an error each; and the lane.

    Attributes:
        idle_status: From emit until the list of sessions shows it, with nothing else to send.
        status: Likewise, flooded.
        tail: From emit until a reader has it, flooded.
        lane: In which the drain emptied one full trace lane.
        lost: Trace frames that were dropped meanwhile.
    """

    idle_status: list[float]
    status: list[float]
    tail: list[float]
    lane: float
    lost: int


async def _pass(seconds: float) -> None:
    """Let time pass: it is what is measured here."""
    with anyio.move_on_after(seconds):
        await anyio.sleep_forever()


class _Slow:
    """A way to a log on which every batch takes its time; notes when the status shows an error."""

    def __init__(self, log: SessionLog, batch_s: float, news: Callable[[], None]) -> None:
        self.shown: dict[str, float] = {}
        self._news = news
        self._log = log
        self._batch_s = batch_s

    async def publish(self, batch: Batch) -> Answer:
        await _pass(self._batch_s)
        answer = await self._log.append(batch)
        if batch.priority:
            (session,) = await self._log.sessions()
            if session.last_error is not None:
                self.shown.setdefault(session.last_error.message, time.perf_counter())
                self._news()
        return answer


class _Run:
    def __init__(self, log: SessionLog, batch_s: float) -> None:
        self._log = log
        self._batch_s = batch_s
        self._slow = _Slow(log, batch_s, self._wake)
        self._read: dict[str, float] = {}
        self._news = anyio.Event()
        self.sink = FrameSink(_SESSION, trace_capacity=_LANE_FRAMES)

    async def measure(self, errors: int) -> Ways:
        """Measure first idle, then flooded."""
        idle: list[float] = []
        status: list[float] = []
        tail: list[float] = []
        lane = 0.0
        await self._log.open(_SESSION, self.sink.epoch)
        async with anyio.create_task_group() as tasks, Pump(self.sink, self._slow):
            tasks.start_soon(self._follow)
            await self._probe("idle", errors, idle, [])
            lane = await self._empty_a_lane()
            with _flood(self.sink, _FLOOD * _BATCH_FRAMES / self._batch_s):
                await self._probe("flooded", errors, status, tail)
            tasks.cancel_scope.cancel()
        return Ways(idle, status, tail, lane, self.sink.statistics().trace.lost)

    def _wake(self) -> None:
        self._news.set()

    async def _follow(self) -> None:
        async with aclosing(self._log.read(_SESSION)) as pages:
            async for page in pages:
                now = time.perf_counter()
                for item in page.items:
                    if isinstance(item, FrameItem) and item.priority:
                        event = SessionFrame.FromString(item.data).typed_event
                        self._read[event.session_error.message] = now
                        self._wake()

    async def _probe(self, name: str, errors: int, status: list[float], tail: list[float]) -> None:
        """Emit so many errors, each at another moment of a batch, and note their ways."""
        for number in range(errors):
            await _pass(random.random() * self._batch_s)  # noqa: S311 - dice
            message = f"{name} {number}"
            frame = _BUILD.session_error(SessionErrorKind.SESSION_ERROR_KIND_ERROR, message)
            emitted = time.perf_counter()
            self.sink.emit(frame)
            await self._until_told(message)
            status.append(self._slow.shown[message] - emitted)
            tail.append(self._read[message] - emitted)

    async def _until_told(self, message: str) -> None:
        with anyio.fail_after(_PATIENCE_S):
            while not (message in self._read and message in self._slow.shown):
                self._news = anyio.Event()
                await self._news.wait()

    async def _empty_a_lane(self) -> float:
        """Return the seconds until a full lane was answered."""
        for _ in range(_LANE_FRAMES):
            self.sink.emit(_BUILD.assistant_text("x", "1"))
        begin = time.perf_counter()
        while self.sink.statistics().trace.waiting or self.sink.statistics().trace.in_doubt:
            await _pass(_BURST_S)
        return time.perf_counter() - begin


@contextmanager
def _flood(sink: FrameSink, per_second: float) -> Generator[None]:
    """Emit trace frames at this rate from a thread of its own, until the block is left."""
    stop = threading.Event()

    def pour() -> None:
        frame = _BUILD.assistant_text("x", "1")
        begin = time.perf_counter()
        emitted = 0
        while not stop.wait(_BURST_S):
            due = int((time.perf_counter() - begin) * per_second)
            for _ in range(due - emitted):
                sink.emit(frame)
            emitted = due

    thread = threading.Thread(target=pour)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def measure_ways(path: Path, *, errors: int, batch_s: float) -> Ways:
    """Measure so many errors idle and flooded, in a SQLite log at `path`.

    Args:
        path: A file that is not there yet.
        errors: How many, each way.
        batch_s: Seconds that the far side takes for a batch.
    """

    async def measure() -> Ways:
        log = open_log(f"sqlite:{path}")
        try:
            return await _Run(log, batch_s).measure(errors)
        finally:
            await log.aclose()

    return anyio.run(measure)
