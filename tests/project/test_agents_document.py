"""The table of docs/agents.md is what the recordings give; `COMPASS_WRITE_DOCS=1` writes it."""

from __future__ import annotations

import os
from pathlib import Path

from command_runs import AGENTS, SCENARIOS, CommandRun, command_runs
from compass_agent.frames import SessionErrorKind
from reading_frames import described, errors_of, states_of

PAGE = Path(__file__).resolve().parents[2] / "docs/agents.md"
BEGIN, END = "<!-- commands: begin -->\n", "<!-- commands: end -->\n"
TITLES = {"claude-code": "Claude Code", "codex": "Codex", "gemini": "Gemini CLI"}
NONE = "-"
HEAD = (
    "| agent | run | kind | message | status | retry after | frames before it |\n"
    "| --- | --- | --- | --- | --- | --- | --- |\n"
)
DID = {
    "text": "answer",
    "tools": "tools",
    "plan": "plan",
    "err-401": "HTTP 401",
    "err-429": "HTTP 429, retry-after 7",
    "err-500": "HTTP 500",
    "err-mid": "error within the stream",
    "err-cut": "cut after two deltas",
    "sigint-streaming": "SIGINT while it streams",
    "sigint-tool": "SIGINT in a tool",
}


def row(run: CommandRun) -> str:
    """Return one line of the table."""
    frames = run.frames()
    errors = errors_of(frames)
    before = described(frames)
    if errors:
        (error,) = errors
        kind = SessionErrorKind.Name(error.kind).removeprefix("SESSION_ERROR_KIND_")
        message = error.message
        status = str(error.status) if error.HasField("status") else NONE
        wait = f"{error.retry_after_ms / 1000:g} s" if error.retry_after_ms else NONE
        place = next(i for i, line in enumerate(before) if line.startswith(f"{kind} "))
        before = before[:place]
    else:
        kind, message, status, wait = NONE, states_of(frames)[-2], NONE, NONE
        before = before[:-2]
    told = ", ".join(count(before))
    built = " (built)" if "built" in run.meta else ""
    did = f"{DID[run.scenario]}{built}"
    return f"| {TITLES[run.agent]} | {did} | {kind} | {message} | {status} | {wait} | {told} |\n"


def count(lines: list[str]) -> list[str]:
    """Return how many frames of each kind there are, in the order of their first."""
    counts: dict[str, int] = {}
    for line in lines:
        kind = line.split()[0]
        counts[kind] = counts.get(kind, 0) + 1
    return [f"{number} {kind}" for kind, number in counts.items()]


def table() -> str:
    runs = {(run.agent, run.scenario): run for run in command_runs()}
    places = [(agent, scenario) for agent in AGENTS for scenario in SCENARIOS]
    return HEAD + "".join(row(runs[place]) for place in places if place in runs)


def test_the_table_is_what_comes_of_the_recordings() -> None:
    page = PAGE.read_text("utf-8")
    head, _, rest = page.partition(BEGIN)
    shown, _, foot = rest.partition(END)
    made = f"\n{table()}\n"
    if os.environ.get("COMPASS_WRITE_DOCS") == "1":
        PAGE.write_text(head + BEGIN + made + END + foot, "utf-8")
        return
    assert shown == made, "run this test with COMPASS_WRITE_DOCS=1"


def test_every_recording_has_a_row() -> None:
    assert {run.scenario for run in command_runs()} == set(SCENARIOS) == set(DID)
    assert {run.agent for run in command_runs()} == set(AGENTS) == set(TITLES)
