"""Pours frames through a hub beside a reader that never reads, and measures what that costs."""

from __future__ import annotations

__all__ = ("LARGE", "MIB", "PER_SECOND", "Run", "Size", "both")

import os
import time
from contextlib import ExitStack, aclosing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
from anyio.to_thread import run_sync

from hubs import following, serving
from pouring_agent import PouringAgent, stamp_of
from still_reader import still_reader

if TYPE_CHECKING:
    from compass.v1.compass_pb2 import AgentSessionFrame

MIB = 1024 * 1024
PER_SECOND = 4_000
LARGE = 512 * 1024 - 512
LARGE_PER_SECOND = 40
PATIENCE_S = 300


def resident(pid: int) -> int:
    """The memory of a process that is in use, in bytes."""
    pages = int(Path(f"/proc/{pid}/statm").read_text("ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


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
