"""A hub is killed and comes back: what never drops is there once and in order, for every reader."""

from __future__ import annotations

import signal
from contextlib import ExitStack, aclosing
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from compass_agent import Session
from hubs import following, serving, short_folder
from stored import frames_in

if TYPE_CHECKING:
    from pathlib import Path

    from compass.v1.compass_pb2 import AgentSessionFrame

PATIENCE_S = 20


class Agent:
    """Emits injections, which ride the lane that never drops, and notices between them."""

    def __init__(self, session: Session, a_time: int) -> None:
        self.session = session
        self.a_time = a_time
        self.sent: list[str] = []

    def work(self) -> None:
        for _ in range(self.a_time):
            self.sent.append(f"m{len(self.sent)}")
            self.session.inject("steer", self.sent[-1], "@ada")
            self.session.notice("noise")


class Reader:
    """Reads the injections, and goes on after its cursor each time."""

    def __init__(self) -> None:
        self.read: list[str] = []
        self._cursor: dict[str, Any] = {}

    def read_on(self, target: str, to: int) -> None:
        """Read to the end, or until `to` injections were read in all."""
        anyio.run(partial(self._read_on, target, to))

    async def _read_on(self, target: str, to: int) -> None:
        with anyio.fail_after(PATIENCE_S):
            async with aclosing(following(target, "s1", **self._cursor)) as frames:
                async for frame in frames:
                    self._note(frame)
                    if len(self.read) >= to:
                        return

    def _note(self, frame: AgentSessionFrame) -> None:
        if frame.event.HasField("session_injection"):
            self.read.append(frame.event.session_injection.message_id)
        if frame.seq:
            self._cursor.update(after_epoch=frame.epoch, after_seq=frame.seq)


@pytest.mark.requirement("G-HUB-1")
@pytest.mark.parametrize(
    ("kills", "a_time"), [(1, 300), pytest.param(10, 1_000, marks=pytest.mark.slow)]
)
def test_a_hub_that_is_killed_and_comes_back_has_every_priority_frame_once_and_in_order(
    monkeypatch: pytest.MonkeyPatch, kills: int, a_time: int
) -> None:
    reader = Reader()
    with ExitStack() as stack:
        folder: Path = stack.enter_context(short_folder())
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
        log = f"sqlite:{folder / 'hub.db'}"
        with ExitStack() as session:
            agent = Agent(
                session.enter_context(Session("s1", log="unix:", close_timeout=PATIENCE_S)), a_time
            )
            for _ in range(kills):
                with serving("--log", log) as (process, (url,)):
                    agent.work()
                    reader.read_on(url, len(agent.sent) - a_time // 4)
                    agent.work()  # some of this is under way now
                    process.kill()
                    assert process.wait(PATIENCE_S) == -signal.SIGKILL
            with serving("--log", log) as (_, (url,)):
                agent.work()
                session.close()
                reader.read_on(url, len(agent.sent) + 1)
        stored = [frame.typed_event.session_injection for frame in frames_in(log, "s1")]
    assert reader.read == agent.sent
    assert [one.message_id for one in stored if one.message_id] == agent.sent
    counted = agent.session.statistics().priority
    assert counted.delivered == counted.emitted
