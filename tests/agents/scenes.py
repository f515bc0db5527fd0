"""The scenes that every SDK plays against the provider on the loopback, and how they are told.

A test of an SDK says how it is run (`Run`), and hands that to `play` and to the checks below it.
"""

from __future__ import annotations

__all__ = (
    "ROUNDS",
    "SCENES",
    "STOPS",
    "Agent",
    "Played",
    "Stage",
    "check_cut_off",
    "check_failures",
    "check_left_early",
    "check_stops",
    "check_table",
    "play",
    "run_samples",
)

import os
import re
import subprocess
import sys
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import anyio
from anyio import from_thread, lowlevel

from agent_tables import COLUMNS, cells
from clis.dialects import TEXT
from compass_agent import open_session
from compass_agent.events import TextDelta, ToolEnded, ToolStarted
from compass_agent.frames import SessionErrorKind
from compass_agent.testing import capture_frames, check_events
from compass_agent.testing.told import Told
from reading_frames import described

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Awaitable, Callable

    from provider_server import Provider

    from compass_agent import Session
    from compass_agent.testing import CapturedFrames

PAGE = Path(__file__).resolve().parents[2] / "docs/agents.md"
BEGIN, END = "<!-- sdks: begin -->\n", "<!-- sdks: end -->\n"
HEAD = f"| SDK | run | {COLUMNS} |\n| --- | --- | --- | --- | --- | --- | --- |\n"
# The order of the table.
TITLES = (
    "openai, Chat Completions",
    "openai, Responses",
    "anthropic",
    "pydantic-ai, OpenAI",
    "pydantic-ai, Anthropic",
    "openai-agents, Responses",
    "openai-agents, Chat Completions",
    "claude-agent-sdk",
    "langgraph",
    "google-adk",
    "ACP",
)

ROUNDS = int(os.environ.get("COMPASS_TEST_STOPS", "3"))
_PATIENCE_S = 20
_PROGRAM = re.compile(r"^```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_SAMPLE = """
import sys
from compass_agent.testing import capture_frames
from reading_frames import described
with capture_frames() as frames:
    exec(sys.stdin.read(), {"__name__": "sample"})
print(*described(frames), sep="\\n")
"""
_ABORTED = SessionErrorKind.SESSION_ERROR_KIND_ABORTED
_ERROR = SessionErrorKind.SESSION_ERROR_KIND_ERROR

STOPS = {
    "before the request": "ok",
    "while connecting": "hold-connect",
    "between deltas": "hold-deltas",
    "in a tool": "tool",
    "between tool and next request": "hold-next",
    "after the last delta": "hold-last",
}
"""The points at which a run is stopped, and what the provider plays meanwhile."""

SCENES = {
    "answer": ("ok", ""),
    "tools": ("tool", ""),
    "HTTP 429, retry-after 7": ("429", ""),
    "HTTP 500": ("500", ""),
    "error within the stream": ("mid", ""),
    "cut after two deltas": ("cut", ""),
    "ended after two deltas, without an end": ("close", ""),
    "stopped while it streams": ("hold-deltas", "between deltas"),
    "stopped in a tool": ("tool", "in a tool"),
}
"""The runs of the table: what the provider plays, and where the run is stopped."""


@dataclass
class Stage:
    """What a run is given.

    Attributes:
        url: Where the provider plays the scene; `/v1` follows for OpenAI.
        session: The session that is driven.
        stop: How the run is stopped: the host cancels it, unless the run puts in an SDK's own way.
        raised: What the SDK raised, for runs that note it.
    """

    url: str
    session: Session
    stop: Callable[[], object]
    stop_at: str = ""
    patience: int = 0
    texts: int = 0
    cities: list[str] = field(default_factory=list[str])
    raised: list[Exception] = field(default_factory=list[Exception])

    async def watch(self, source: Awaitable[AsyncIterable[Any]]) -> AsyncGenerator[Any, None]:
        """Yield what an SDK's call gives, and note what it raises."""
        try:
            async for item in await source:
                yield item
        except Exception as error:
            self.raised.append(error)
            raise

    async def weather(self, city: str) -> str:
        """Be the tool: answer, or hang until the run is stopped."""
        self.cities.append(city)
        if self.stop_at == "in a tool":
            await self.stop_soon()
            await anyio.sleep_forever()
        return f"sunny in {city}"

    async def seen(self, event: object) -> None:
        """Stop the run when `event` was the one to wait for."""
        if isinstance(event, TextDelta):
            self.texts += 1
            reached = self.texts == {"between deltas": 2, "after the last delta": len(TEXT)}.get(
                self.stop_at
            )
        else:
            reached = isinstance(event, ToolEnded) and self.stop_at.startswith("between tool")
        if reached:
            await self.stop_soon()

    async def stop_soon(self) -> None:
        """Stop the run, once others have had their turn."""
        for _ in range(self.patience):
            await lowlevel.checkpoint()
        self.stop()


Run: TypeAlias = "Callable[[Stage], AsyncGenerator[Any, None]]"


@dataclass(frozen=True)
class Agent:
    """An SDK: its title in the table, and how it is run.

    Attributes:
        stops: The points at which it can be stopped.
    """

    title: str
    run: Run
    stops: tuple[str, ...] = tuple(STOPS)


@dataclass(frozen=True)
class Played:
    """What came of a run: its frames, its events, and what it raised."""

    frames: CapturedFrames
    events: list[object]
    raised: BaseException | None
    stage: Stage

    def text(self) -> str:
        """Return the answer."""
        return "".join(self.frames.texts())

    def described(self) -> list[str]:
        """Return one line a frame."""
        return described(self.frames)


async def play(
    run: Run, provider: Provider, scene: str, *, stop_at: str = "", patience: int = 0
) -> Played:
    """Drive a session with a run of an SDK; check that what it tells is in order.

    Args:
        run: Gives the events of the run.
        provider: Who answers.
        scene: What it plays.
        stop_at: One of `STOPS`; empty: the run is not stopped.
        patience: How often others may have their turn between the point and the stop.
    """
    events: list[object] = []
    raised: BaseException | None = None
    with capture_frames() as frames, anyio.fail_after(_PATIENCE_S):
        session, scope = open_session("s1"), anyio.CancelScope()
        stage = Stage(f"{provider.url}/{scene}", session, scope.cancel, stop_at, patience)
        async with session:
            with scope:
                if stop_at == "before the request":
                    scope.cancel()
                provider.on_request = _on_request(stage) if stop_at == "while connecting" else None
                try:
                    await session.drive(_watched(run(stage), stage, events))
                except BaseException as error:
                    raised = error
                    if not isinstance(error, Exception):
                        raise
                finally:
                    provider.on_request = None
    told = Told()
    for frame in frames:
        assert told.take(frame) is None
    assert told.end() is None
    if raised is None and not stop_at:
        check_events(events)
    return Played(frames, events, raised, stage)


def _on_request(stage: Stage) -> Callable[[], None]:
    """Return what stops the run from the provider's thread."""
    token = lowlevel.current_token()
    return lambda: from_thread.run(stage.stop_soon, token=token)


async def _watched(
    run: AsyncGenerator[Any, None], stage: Stage, events: list[object]
) -> AsyncIterator[object]:
    async with aclosing(run):
        async for event in run:
            events.append(event)
            yield event
            await stage.seen(event)


async def check_stops(agent: Agent, provider: Provider, stop_at: str, rounds: int = ROUNDS) -> None:
    """Check that a run that is stopped there is always told as stopped, never as failed.

    Only one that may have been over by then may be told as complete.
    """
    for number in range(rounds):
        scene = STOPS[stop_at]
        if scene == "hold-last" and number % 2:
            scene = "ok"
        patience = number % 10
        played = await play(agent.run, provider, scene, stop_at=stop_at, patience=patience)
        kinds = [error.kind for error in played.frames.errors()]
        states = played.frames.states()
        complete = scene == "ok" and not kinds and states[-2:] == ["READY", "STOPPED"]
        assert kinds == [_ABORTED] or complete, f"round {number}: {kinds} {states}"


async def check_failures(agent: Agent, provider: Provider) -> dict[str, Played]:
    """Check what holds for all failures; return what came of each scene.

    One failure is told once, and what the SDK raised is what the caller gets.
    """
    runs = {scene: await play(agent.run, provider, scene) for scene in ("429", "500", "mid", "cut")}
    for scene, played in runs.items():
        (error,) = played.frames.errors()
        assert error.kind == _ERROR, scene
        assert played.frames.states()[-1] == "ERRORED", scene
        assert [played.raised] == (played.stage.raised or [played.raised]), scene
    return runs


async def check_cut_off(agent: Agent, provider: Provider) -> None:
    """Check that an answer without its end is no success, although nothing is raised."""
    played = await play(agent.run, provider, "close")
    (error,) = played.frames.errors()
    assert (error.kind, error.code) == (_ERROR, "adapter.no_terminal")
    assert played.frames.states()[-1] == "ERRORED"
    assert played.text() == "".join(TEXT[:2])
    assert played.raised is None


async def check_left_early(agent: Agent, provider: Provider) -> None:
    """Check that a host's loop that is left in a tool leaves no tool open, and no failure."""
    told = Told()
    with capture_frames() as frames, anyio.fail_after(_PATIENCE_S):
        async with open_session("s1") as session:
            stage = Stage(f"{provider.url}/tool", session, lambda: None, "in a tool")
            async with aclosing(agent.run(stage)) as run:
                async for event in run:
                    session.feed(event)
                    if isinstance(event, ToolStarted):
                        break
    assert [broken for frame in frames if (broken := told.take(frame))] == []
    assert not told.open_tools
    assert not frames.errors(), described(frames)
    assert described(frames)[-2].endswith(" INTERRUPTED")
    assert frames.states() == ["STARTING", "WORKING", "STOPPED"]


async def check_table(agent: Agent, provider: Provider) -> None:
    """Check that the rows of docs/agents.md are what comes of the scenes, or write them."""
    rows: list[str] = []
    for did, (scene, stop_at) in SCENES.items():
        played = await play(agent.run, provider, scene, stop_at=stop_at)
        rows.append(f"| {agent.title} | {did} | {cells(played.frames)} |\n")
    page = PAGE.read_text("utf-8")
    head, _, rest = page.partition(BEGIN)
    shown, _, foot = rest.partition(END)
    lines = shown.splitlines(keepends=True)
    if os.environ.get("COMPASS_WRITE_DOCS") == "1":
        by_title = {title: _rows_of(title, lines) for title in TITLES} | {agent.title: rows}
        table = HEAD + "".join(row for title in TITLES for row in by_title[title])
        PAGE.write_text(f"{head}{BEGIN}\n{table}\n{END}{foot}", "utf-8")
        return
    assert _rows_of(agent.title, lines) == rows, "run this test with COMPASS_WRITE_DOCS=1"


def run_samples(heading: str, **environment: str) -> list[list[str]]:
    """Run the programs of docs/agents.md below a heading; return a line for each frame of each."""
    _, _, rest = PAGE.read_text("utf-8").partition(f"\n### {heading}\n")
    programs = _PROGRAM.findall(rest.partition("\n### ")[0])
    path = os.pathsep.join(sys.path)
    told: list[list[str]] = []
    for program in programs:
        done = subprocess.run(
            [sys.executable, "-c", _SAMPLE],
            input=program,
            env={**os.environ, "PYTHONPATH": path, "PYTHONUTF8": "1", **environment},
            timeout=2 * _PATIENCE_S,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        told.append(done.stdout.splitlines())
    return told


def _rows_of(title: str, lines: list[str]) -> list[str]:
    return [line for line in lines if line.startswith(f"| {title} |")]
