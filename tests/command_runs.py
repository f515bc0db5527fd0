"""What installed commands of agents wrote, and what comes of it, for tests and docs/agents.md."""

from __future__ import annotations

__all__ = ("AGENTS", "SCENARIOS", "CommandRun", "command_run", "command_runs")

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from compass_agent.adapters import adapter_for
from compass_agent.events import AgentExited, MessageFailed
from compass_agent.mapping import EventMapper
from reading_frames import frames_of
from recordings import COMMANDS

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from compass_agent.events import InnerEvent
    from compass_agent.frames import SessionFrame

AGENTS = ("claude-code", "codex", "gemini")
SCENARIOS = (
    *("text", "tools", "plan", "err-401", "err-429", "err-500", "err-mid", "err-cut"),
    *("sigint-streaming", "sigint-tool"),
)


@dataclass(frozen=True)
class CommandRun:
    """One run of a command.

    Attributes:
        agent: The format's name.
        scenario: What its provider did, or how it was stopped.
        data: Its standard output.
        meta: How it was recorded, and how it ended.
    """

    agent: str
    scenario: str
    data: bytes
    meta: dict[str, Any]

    @property
    def stopped(self) -> bool:
        """Whether it was interrupted."""
        return self.scenario.startswith("sigint")

    def events(self, pieces: Iterable[bytes] | None = None) -> list[InnerEvent]:
        """Return its inner events, from its bytes as a whole or in these pieces."""
        adapter = adapter_for(self.agent)
        given = [self.data] if pieces is None else pieces
        events = [event for piece in given for event in adapter.feed(piece)]
        return events + adapter.end(self.meta["exit_code"])

    def frames(self, events: Iterable[InnerEvent] | None = None) -> list[SessionFrame]:
        """Return its frames, as `compass run` gives them; the clock stands still."""
        mapper = EventMapper(now=lambda: 0)
        frames: list[SessionFrame] = []
        for event in self.events() if events is None else events:
            ends = isinstance(event, MessageFailed | AgentExited)
            # It was asked before the agent said so; asking twice would be two stops.
            if self.stopped and ends and not mapper.last_error:
                mapper.request_stop("user")
            frames += frames_of(mapper.map(event))
        return frames


def command_run(agent: str, scenario: str) -> CommandRun:
    """Return one run."""
    return _read(COMMANDS / agent / f"{scenario}.jsonl")


def command_runs() -> list[CommandRun]:
    """Return all runs."""
    return [_read(path) for path in sorted(COMMANDS.glob("*/*.jsonl"))]


def _read(path: Path) -> CommandRun:
    meta = json.loads(path.with_name(f"{path.name}.meta.json").read_bytes())
    return CommandRun(path.parent.name, path.stem, path.read_bytes(), meta)
