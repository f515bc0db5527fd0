"""Agents for tests, each a process of its own that publishes until it is told to stop.

Run as a program it is one of them: `agent_processes.py LOG SESSION PAUSE FRAMES`.
"""

from __future__ import annotations

__all__ = ("AgentProcess", "agents_at_work")

import os
import select
import subprocess
import sys
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from compass_agent import open_session

if TYPE_CHECKING:
    from collections.abc import Generator

_DELTA = {"type": "message_update", "assistantMessageEvent": {"type": "text_delta", "delta": "x"}}

# A lane this small overflows whenever the hub is away, so that readers have gaps to count.
_TRACE_CAPACITY = 64
_CLOSE_S = 60.0


class AgentProcess:
    """One agent at work.

    Args:
        log: The URL that it publishes to.
        session: Its session.
        pause: Seconds between two injections.
        words: How many trace frames go with each.
    """

    def __init__(self, log: str, session: str, *, pause: float = 0.02, words: int = 3) -> None:
        self.session = session
        self.process = subprocess.Popen(
            [sys.executable, __file__, log, session, str(pause), str(words)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def tell_to_stop(self) -> None:
        """Have it end its session well; it may take as long as its log is away."""
        assert self.process.stdin is not None
        self.process.stdin.close()

    def told(self) -> int:
        """How many injections returned: those with the ids "0", "1", … Waits for the end."""
        assert self.process.stdout is not None
        return int(self.process.stdout.read())


@contextmanager
def agents_at_work(log: str, sessions: list[str]) -> Generator[list[AgentProcess]]:
    """An agent for each session; those that are still there at the end are killed."""
    with ExitStack() as stack:
        agents = [AgentProcess(log, session) for session in sessions]
        for agent in agents:
            stack.enter_context(agent.process)
            stack.callback(agent.process.kill)
        yield agents


def _work(log: str, session_id: str, pause: float, words: int) -> int:
    number = 0
    with open_session(
        session_id, log=log, trace_capacity=_TRACE_CAPACITY, close_timeout=_CLOSE_S
    ) as session:
        while not select.select([sys.stdin], [], [], pause)[0]:
            session.inject("steer", str(number), "test")
            number += 1
            for _ in range(words):
                session.feed(_DELTA)
    return number


if __name__ == "__main__":
    url, name, between, beside = sys.argv[1:]
    os.write(1, b"%d" % _work(url, name, float(between), int(beside)))
