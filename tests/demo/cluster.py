"""`make demo-cluster`: three servers, two hubs, four agents and a tail; a leader and a hub die.

What each agent told is counted at the end, as its reader got it and as it is stored: all of it
must be there, in order, none of it twice. The exit status is 1 when it is not.
`COMPASS_TEST_CLUSTER_KILLS` says how often both die.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import anyio
from anyio.to_thread import run_sync

from agent_processes import AgentProcess
from commands import COMPASS
from hubs import serving
from nats_clusters import NatsCluster
from stored import read_items
from tallies import HubReader, faults

if TYPE_CHECKING:
    from collections.abc import Callable

STREAM = "demo"
AGENTS = ("ada", "ben", "cleo", "dora")
SHOWN, PAUSE_S, SHOWN_PAUSE_S = AGENTS[0], 0.05, 1.0
"""The one that the tail shows is slow, so that there is not too much to see."""

TAIL = "the tail"
PATIENCE_S = 60
STEP, SHOWN_STEP = 20, 1
"""Messages that must be read of each before, between and after the kills."""


def say(text: str) -> None:
    print(f"\n=== {text}", flush=True)


class Demo:
    """Two hubs on one log; the one at which more is read is killed.

    Args:
        folder: Where the hubs' sockets are.
        cluster: The servers.
    """

    def __init__(self, folder: Path, cluster: NatsCluster) -> None:
        self._cluster = cluster
        self._log = cluster.log_url(STREAM)
        self._sockets = [folder / name / "s" for name in ("a", "b")]
        self._targets = [f"unix:{socket}" for socket in self._sockets]
        self._hubs: list[subprocess.Popen[str]] = []
        one, two = self._targets
        self._ways = [(one, two) if number % 2 else (two, one) for number in range(len(AGENTS))]
        self._news = anyio.Event()
        self._messages: dict[str, int] = dict.fromkeys((*AGENTS, TAIL), 0)
        # Each is read at the hub that its agent does not publish to.
        self._readers = [
            HubReader(there, session, others=[here], progress=self._noting(session))
            for session, (here, there) in zip(AGENTS, self._ways, strict=True)
        ]

    async def play(self, kills: int) -> list[str]:
        """Run all of it; return what went wrong."""
        with ExitStack() as stack:
            self._hubs = [await self._serve(stack, number) for number in range(2)]
            say("Four agents publish to two hubs; each is read at the other one")
            agents = self._agents(stack)
            tail = self._tail(stack)
            told: list[int] = []
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._show, tail)
                for reader in self._readers:
                    tasks.start_soon(_read, reader)
                await self._all_read_on()
                for _ in range(kills):
                    await self._kill_the_leader()
                    await self._kill_the_hub(stack)
                say("The agents end")
                told = await self._end(agents)
            status = await run_sync(tail.wait, PATIENCE_S)
        wrong = [] if status == 0 else [f"the tail ended with {status}"]
        for session, number in zip(AGENTS, told, strict=True):
            wrong += await self._check(session, number)
        return wrong

    def _tail(self, stack: ExitStack) -> subprocess.Popen[str]:
        command = [COMPASS, "tail", SHOWN, "--log", self._ways[0][1], "--wait", "20"]
        tail = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        stack.callback(tail.kill)
        return tail

    async def _show(self, tail: subprocess.Popen[str]) -> None:
        """Print what the tail does, until it ends."""
        assert tail.stdout is not None
        note = self._noting(TAIL)
        while line := await run_sync(tail.stdout.readline, abandon_on_cancel=True):
            print(f"    {line}", end="", flush=True)
            note()

    def _noting(self, name: str) -> Callable[[], None]:
        def note() -> None:
            self._messages[name] += 1
            self._news.set()

        return note

    async def _serve(self, stack: ExitStack, number: int) -> subprocess.Popen[str]:
        hub = serving("--log", self._log, "--unix", str(self._sockets[number]))
        process, _ = await run_sync(stack.enter_context, hub)
        return process

    def _agents(self, stack: ExitStack) -> list[AgentProcess]:
        agents: list[AgentProcess] = []
        for session, (way, _) in zip(AGENTS, self._ways, strict=True):
            pause = SHOWN_PAUSE_S if session == SHOWN else PAUSE_S
            agent = AgentProcess(way, session, pause=pause)
            stack.enter_context(agent.process)
            stack.callback(agent.process.kill)
            agents.append(agent)
        return agents

    async def _all_read_on(self) -> None:
        """Wait until each reader got more, and say how long that took."""
        began = time.monotonic()
        few = (SHOWN, TAIL)
        wanted = {
            one: number + (SHOWN_STEP if one in few else STEP)
            for one, number in self._messages.items()
        }
        with anyio.fail_after(PATIENCE_S):
            while any(self._messages[one] < number for one, number in wanted.items()):
                self._news = anyio.Event()
                await self._news.wait()
        print(f"    all are read on, after {time.monotonic() - began:.1f} s", flush=True)

    async def _kill_the_leader(self) -> None:
        leader = await self._cluster.leader(STREAM)
        say(f"kill -9 of the leader, {leader.url}")
        await run_sync(leader.kill)
        after = await self._cluster.leader(STREAM)
        print(f"    {after.url} leads now", flush=True)
        await self._all_read_on()
        await run_sync(leader.start)

    async def _kill_the_hub(self, stack: ExitStack) -> None:
        # Without a leader no hub can read: some readers are not where they began.
        places = [reader.at for reader in self._readers]
        number = max(range(2), key=lambda one: places.count(self._targets[one]))
        target = self._targets[number]
        say(
            f"The server is back; kill -9 of a hub: {places.count(target)} read on at the other one"
        )
        self._hubs[number].kill()
        await run_sync(self._hubs[number].wait)
        with suppress(FileNotFoundError):
            self._sockets[number].unlink()
        with anyio.fail_after(PATIENCE_S):
            while any(reader.at == target for reader in self._readers):
                with anyio.move_on_after(0.05):
                    await anyio.Event().wait()
        self._hubs[number] = await self._serve(stack, number)
        say("The hub is back; its agents send again what it did not answer")
        await self._all_read_on()

    async def _end(self, agents: list[AgentProcess]) -> list[int]:
        for agent in agents:
            agent.tell_to_stop()
        with anyio.fail_after(PATIENCE_S):
            return [await run_sync(agent.told) for agent in agents]

    async def _check(self, session: str, told: int) -> list[str]:
        """Compare what the agent told with what was read, live and afterwards."""
        reader = self._readers[AGENTS.index(session)]
        tally = reader.tally
        stored = await read_items(self._log, session)
        received, missing = (sum(some.values()) for some in (tally.received, tally.missing))
        print(
            f"    {session}: {len(tally.injected)} of {told} injections,"
            f" {received} frames + {missing} told as lost = {tally.ended} emitted;"
            f" read at {1 + reader.moves} hubs"
        )
        return [f"{session}: {fault}" for fault in faults(told, tally, stored)]


async def _read(reader: HubReader) -> None:
    await reader.read(leave_after=5_000)


def main() -> int:
    """Play it; return the exit status."""
    kills = int(os.environ.get("COMPASS_TEST_CLUSTER_KILLS", "1"))
    with tempfile.TemporaryDirectory(prefix="compass-", dir="/tmp") as name:
        folder = Path(name)
        for hub in ("a", "b"):
            (folder / hub).mkdir(mode=0o700)
        os.environ["XDG_STATE_HOME"] = str(folder / "state")  # what the agents' journals are in
        cluster = NatsCluster(folder / "nats")
        try:
            say("Three servers find each other")
            cluster.start(STREAM)
            wrong = anyio.run(Demo(folder, cluster).play, kills)
        finally:
            cluster.stop()
    print(*wrong or ["\nNothing was lost."], sep="\n", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
