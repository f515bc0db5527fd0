"""A hub is killed again and again under an agent and a tail in plain Python: all is told once."""

from __future__ import annotations

import os
import random
import signal
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING

import anyio
import pytest
from anyio.to_thread import run_sync

from agent_processes import agents_at_work
from compass_agent.client import End, Frame, Gap, Link, LinkStatus, TailError, TailItem, tail
from compass_agent.errors.codes import ErrorCode
from compass_agent.view import fold
from compass_agent.view.entries import Injection
from compass_subscriber.v1 import SessionInjection
from hubs import serving, short_folder
from stored import frames_in

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

SESSION = "s1"
PATIENCE_S = 60
FEW = 2


class Told:
    """What the tail was told; each frame and gap has to be at its place.

    Attributes:
        items: All of it.
        injected: The ids of the injections, in order.
        missing: How many frames lay within gaps.
        last: The last place.
    """

    def __init__(self) -> None:
        self.items: list[TailItem] = []
        self.injected: list[str] = []
        self.missing = 0
        self.last = 0
        self.ended = False
        self.links: list[Link] = []
        self._news = anyio.Event()

    def on_link(self, link: Link) -> None:
        self.links.append(link)

    def note(self, item: TailItem) -> None:
        match item:
            case Gap():
                assert item.first_seq == self.last + 1
                self.last = item.last_seq
                self.missing += item.count
            case Frame():
                assert not item.late
                assert item.seq == self.last + 1
                self.last = item.seq
                if isinstance(item.content, SessionInjection):
                    self.injected.append(item.content.message_id)
            case End():
                assert item.last_seq == self.last
                self.ended = True
            case _:
                pass
        self.items.append(item)
        self._news.set()

    async def until(self, items: int) -> None:
        """Wait until so many items were told, or the end was."""
        with anyio.fail_after(PATIENCE_S):
            while len(self.items) < items and not self.ended:
                self._news = anyio.Event()
                await self._news.wait()


async def read(url: str, told: Told) -> None:
    there = False
    while not there:
        try:
            async for item in tail(url, SESSION, on_link=told.on_link, patience_s=PATIENCE_S):
                there = True
                told.note(item)
        except TailError as error:
            # The agent has not published yet.
            if there or error.code is not ErrorCode.NOT_FOUND:
                raise
            told.links.clear()


async def killed_and_killed(
    folder: Path, kills: int, told: Told, *, agent_through_hub: bool
) -> int:
    """Run all of it; return how many injections the agent told."""
    socket, log = folder / "hub.sock", f"sqlite:{folder / 'hub.db'}"
    arguments = ("--log", log, "--unix", str(socket))
    published = f"unix:{socket}" if agent_through_hub else log
    dice = random.Random()  # noqa: S311 - dice
    choices = [0, 1, 10, 100] if kills > FEW else [1, 10]
    number = 0
    with agents_at_work(published, [SESSION]) as (agent,):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(read, f"unix:{socket}", told)
            for _ in range(kills):
                with ExitStack() as stack:
                    process: subprocess.Popen[str]
                    process, _ = await run_sync(stack.enter_context, serving(*arguments))
                    await told.until(len(told.items) + dice.choice(choices))
                    process.send_signal(signal.SIGKILL)
                    assert await run_sync(process.wait, PATIENCE_S) == -signal.SIGKILL
            with ExitStack() as stack:
                await run_sync(stack.enter_context, serving(*arguments))
                agent.tell_to_stop()
                with anyio.fail_after(PATIENCE_S):
                    number = await run_sync(agent.told)
                while not told.ended:
                    await told.until(len(told.items) + 1)
    return number


def check_tail_kills(kills: int, *, agent_through_hub: bool) -> None:
    told = Told()
    with short_folder() as folder:
        run = partial(killed_and_killed, agent_through_hub=agent_through_hub)
        number = anyio.run(run, folder, kills, told)
        stored = frames_in(f"sqlite:{folder / 'hub.db'}", SESSION)
    frames = [item for item in told.items if isinstance(item, Frame)]
    assert told.injected == [str(one) for one in range(number)]  # none lost, none twice, in order
    assert number
    assert [frame.data for frame in frames] == [frame.SerializeToString() for frame in stored]
    assert len(frames) + told.missing == told.last
    away = [link.status for link in told.links]
    assert away == [LinkStatus.AWAY, LinkStatus.BACK] * (len(away) // 2)
    entries = [entry for entry in fold(told.items) if isinstance(entry, Injection)]
    assert len(entries) == number
    print(f"{kills} kills: {len(frames)} frames, {told.missing} in gaps, {len(away)} changes")


@pytest.mark.slow
@pytest.mark.requirement("G-CLIENT-2", "G-HUB-1")
def test_a_tail_whose_hub_is_killed_twice_is_told_everything_once() -> None:
    check_tail_kills(FEW, agent_through_hub=False)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.requirement("G-CLIENT-1", "G-CLIENT-2", "G-HUB-1")
def test_a_tail_whose_hub_is_killed_fifty_times_is_told_everything_once() -> None:
    kills = int(os.environ.get("COMPASS_TEST_TAIL_KILLS", "50"))
    check_tail_kills(kills, agent_through_hub=True)
