"""A reader that never reads costs agent and hub a bounded room, and other readers no time."""

from __future__ import annotations

import os
import time
from contextlib import ExitStack, aclosing
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import anyio
import pytest
from anyio.to_thread import run_sync

from hubs import following, serving, short_folder
from pouring_agent import PouringAgent, stamp_of
from still_reader import still_reader

if TYPE_CHECKING:
    from collections.abc import Callable

    from compass.v1.compass_pb2 import AgentSessionFrame

MIB = 1024 * 1024
LANE = 8 * MIB
WINDOW = 6 * MIB
ROOM = LANE + WINDOW + 8 * MIB
PER_SECOND = 4_000
LARGE = 512 * 1024 - 512
LARGE_PER_SECOND = 40
PATIENCE_S = 300
LONGEST_EMIT_US = 1_000
SHORTEST_S = 0.01
"""A way shorter than this says more about the machine than about the hub."""


def resident(pid: int) -> int:
    """The memory of a process that is in use, in bytes."""
    pages = int(Path(f"/proc/{pid}/statm").read_text("ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def p99(values: list[float]) -> float:
    return sorted(values)[len(values) * 99 // 100]


def usual_p99(values: list[float]) -> float:
    """The median of the p99 of half a second each, whatever else the machine did meanwhile."""
    some = PER_SECOND // 2
    return median(p99(values[at : at + some]) for at in range(0, len(values), some))


@dataclass
class Watched:
    """The most memory that some processes had, from when it is made."""

    pids: dict[str, int]
    begin: dict[str, int] = field(init=False)
    most: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        self.begin = {name: resident(pid) for name, pid in self.pids.items()}
        self.most = dict(self.begin)

    def look(self) -> None:
        for name, pid in self.pids.items():
            self.most[name] = max(self.most[name], resident(pid))

    def growth(self) -> dict[str, int]:
        return {name: most - self.begin[name] for name, most in self.most.items()}


class Reader:
    """Reads a session to its end, and times each small frame from its telling to here."""

    def __init__(self, target: str, session: str, watched: Watched) -> None:
        self.seconds: list[float] = []
        self.begun = anyio.Event()
        self._frames = following(target, session, max_batch=64)
        self._watched = watched

    async def read(self) -> None:
        async with aclosing(self._frames) as frames:
            async for frame in frames:
                self._note(frame, time.monotonic())
                self._watched.look()
                self.begun.set()

    def _note(self, frame: AgentSessionFrame, now: float) -> None:
        for one in (frame, *frame.more):
            text = one.event.assistant_text.text
            if text and len(text) < LARGE:
                self.seconds.append(now - stamp_of(text))


@dataclass
class Size:
    """How much is told."""

    small: int
    large: int


@dataclass
class Run:
    """What one pouring came to: seconds that frames took, and microseconds that calls took."""

    ways: list[float]
    small: dict[str, float]
    large: dict[str, float]


async def pour(
    agent: PouringAgent, target: str, session: str, size: Size, watched: Watched, *, still: bool
) -> Run:
    """Open a session, tell so much, and end it, with a reader beside that reads all."""
    await run_sync(agent.do, "open", session)
    reader = Reader(target, session, watched)
    small: dict[str, float] = {}
    large: dict[str, float] = {}
    with ExitStack() as stack:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(reader.read)
            await reader.begun.wait()
            if still:
                stack.enter_context(still_reader(target, session))
            small = await run_sync(agent.do, "pour", size.small, 1024, PER_SECOND)
            large = await run_sync(agent.do, "pour", size.large, LARGE, LARGE_PER_SECOND)
            await run_sync(agent.do, "close")
        watched.look()
    return Run(reader.seconds, small, large)


async def both(folder: Path, size: Size) -> tuple[list[Run], Run, dict[str, int]]:
    """Runs without the reader that never reads, before and after the one with it; how memory grew.

    What changes over time, such as the size of the file, meets both alike.
    """
    place = folder / "hub.sock"
    arguments = ("--log", f"sqlite:{folder / 'hub.db'}", "--unix", str(place))
    with serving(*arguments) as (hub, _), PouringAgent(f"unix:{place}") as agent:
        with anyio.fail_after(PATIENCE_S):
            pids = {"hub": hub.pid, "agent": agent.process.pid}
            few = Size(500, 5)
            await pour(agent, f"unix:{place}", "warm", few, Watched(pids), still=False)
            watched = Watched(pids)
            half = Size(size.small // 2, size.large // 2)
            before = await pour(agent, f"unix:{place}", "before", half, watched, still=False)
            beside = await pour(agent, f"unix:{place}", "beside", size, watched, still=True)
            after = await pour(agent, f"unix:{place}", "after", half, watched, still=False)
        return [before, after], beside, watched.growth()


def check_still_reader(size: Size) -> None:
    with short_folder() as folder:
        alone, beside, growth = anyio.run(both, folder, size)
    ways = [way for run in alone for way in run.ways]
    emits = max(run.small["p999"] for run in alone)
    large_emits = max(run.large["p50"] for run in alone)
    print(
        f"memory grew by { ({name: f'{grown / MIB:.1f} MiB' for name, grown in growth.items()}) }"
    )
    print(f"p99 of the way to the other reader: {told(p99, ways, beside.ways)} ms")
    print(f"likewise, in most half seconds: {told(usual_p99, ways, beside.ways)} ms")
    print(f"p99.9 of emit: {emits:.0f}, beside {beside.small['p999']:.0f} us")
    print(f"median emit of a large frame: {large_emits:.0f}, beside {beside.large['p50']:.0f} us")
    assert max(growth.values()) < ROOM
    # What another process delays, it delays in both runs.
    assert beside.small["p999"] < max(LONGEST_EMIT_US, 3 * emits)
    assert beside.large["p50"] < max(LONGEST_EMIT_US, 3 * large_emits)
    assert usual_p99(beside.ways) < 2 * max(usual_p99(ways), SHORTEST_S)


def told(measure: Callable[[list[float]], float], alone: list[float], beside: list[float]) -> str:
    return f"{measure(alone) * 1e3:.1f}, beside one that never reads {measure(beside) * 1e3:.1f}"


@pytest.mark.slow
@pytest.mark.requirement("G-HUB-4", "G-READ-4")
def test_a_reader_that_never_reads_costs_a_window_and_delays_nobody() -> None:
    check_still_reader(Size(8_000, 40))


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.requirement("G-HUB-4", "G-READ-4")
def test_a_reader_that_reads_none_of_many_frames_costs_a_window_and_delays_nobody() -> None:
    small = int(os.environ.get("COMPASS_TEST_UNREAD", "100000"))
    check_still_reader(Size(small, max(1, small // 500)))
