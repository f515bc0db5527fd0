"""A hub is killed again and again under agents and readers: nothing is lost, nothing read twice."""

from __future__ import annotations

import os
import random
import signal
from contextlib import ExitStack, asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING

import anyio
import pytest
from anyio.to_thread import run_sync

from agent_processes import AgentProcess, agents_at_work
from hubs import serving, short_folder
from stored import frames_in
from tallies import HubReader

if TYPE_CHECKING:
    import subprocess
    from collections.abc import AsyncGenerator
    from pathlib import Path

PATIENCE_S = 60


class Kills:
    """One run: agents publish, readers read, and the hub between them is killed.

    Args:
        folder: Where the hub's socket and its log are.
        pairs: How many agents there are, and as many readers.
        dice: Decides when the hub is killed.
        by: The signal; on SIGTERM a hub ends well.
    """

    def __init__(self, folder: Path, pairs: int, dice: random.Random, by: signal.Signals) -> None:
        self.log = f"sqlite:{folder / 'hub.db'}"
        self.sessions = [f"s{number}" for number in range(pairs)]
        self._socket = folder / "hub.sock"
        self._dice = dice
        self._by = by
        self._messages = 0
        self._news = anyio.Event()
        self.readers = [
            HubReader(
                f"unix:{self._socket}", one, max_batch=64 * (number % 2), progress=self._progress
            )
            for number, one in enumerate(self.sessions)
        ]

    def _progress(self) -> None:
        self._messages += 1
        self._news.set()

    async def run(self, kills: int) -> list[int]:
        """Kill the hub so often, then let all come to its end; return what each agent told."""
        told: list[int] = []
        with agents_at_work(f"unix:{self._socket}", self.sessions) as agents:
            async with anyio.create_task_group() as tasks:
                for reader in self.readers:
                    read = partial(reader.read, leave_after=self._dice.choice([50, 500, 5_000]))
                    tasks.start_soon(read)
                for _ in range(kills):
                    await self._live_and_die(self._dice.choice([0, 1, 10, 100, 500]))
                told = await self._end(agents)
        return told

    async def _live_and_die(self, messages: int) -> None:
        """Let a hub give so many messages to readers, then kill it while it goes on."""
        async with self._hub() as process:
            await self._until(self._messages + messages)
            process.send_signal(self._by)
            status = await run_sync(process.wait, PATIENCE_S)
            assert status == (0 if self._by == signal.SIGTERM else -self._by)

    @asynccontextmanager
    async def _hub(self) -> AsyncGenerator[subprocess.Popen[str]]:
        """A hub, from when it listens; readers go on reading while it starts."""
        with ExitStack() as stack:
            hub = serving("--log", self.log, "--unix", str(self._socket))
            process, _ = await run_sync(stack.enter_context, hub)
            yield process

    async def _until(self, messages: int) -> None:
        with anyio.fail_after(PATIENCE_S):
            while self._messages < messages:
                self._news = anyio.Event()
                await self._news.wait()

    async def _end(self, agents: list[AgentProcess]) -> list[int]:
        async with self._hub():
            for agent in agents:
                agent.tell_to_stop()
            with anyio.fail_after(PATIENCE_S):
                told = [await run_sync(agent.told) for agent in agents]
                while any(reader.tally.ended is None for reader in self.readers):
                    self._news = anyio.Event()
                    await self._news.wait()
            return told


def check_hub_kills(kills: int, pairs: int, by: signal.Signals) -> None:
    with short_folder() as folder:
        run = Kills(folder, pairs, random.Random(), by)  # noqa: S311 - dice
        told = anyio.run(run.run, kills)
        for number, reader in zip(told, run.readers, strict=True):
            expected = [str(one) for one in range(number)]
            assert number
            assert reader.tally.injected == expected  # none lost, none twice, in order
            assert [reader.tally.ended] == [*reader.tally.last.values()]
            reader.tally.check()
        for session, number in zip(run.sessions, told, strict=True):
            events = [frame.typed_event for frame in frames_in(run.log, session)]
            stored = [
                one.session_injection.message_id
                for one in events
                if one.HasField("session_injection")
            ]
            assert stored == [str(one) for one in range(number)]
    lost = sum(sum(reader.tally.missing.values()) for reader in run.readers)
    print(f"{kills} kills: {sum(told)} injections, {lost} frames in gaps")
    print(f"{sum(reader.calls for reader in run.readers)} calls of readers")


@pytest.mark.slow
@pytest.mark.requirement("G-HUB-1", "G-READ-2")
@pytest.mark.parametrize("by", [signal.SIGKILL, signal.SIGTERM])
def test_a_hub_that_goes_a_few_times_under_three_agents_loses_nothing(by: signal.Signals) -> None:
    check_hub_kills(3, 3, by)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.requirement("G-HUB-1", "G-READ-2")
def test_a_hub_that_is_killed_often_under_eight_agents_loses_nothing() -> None:
    check_hub_kills(int(os.environ.get("COMPASS_TEST_HUB_KILLS", "100")), 8, signal.SIGKILL)
