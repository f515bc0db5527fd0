"""The table of docs/agents.md is what the recordings give; `COMPASS_WRITE_DOCS=1` writes it."""

from __future__ import annotations

import os
import re
from collections import Counter
from pathlib import Path

from agent_tables import COLUMNS, cells
from command_runs import AGENTS, SCENARIOS, CommandRun, command_runs

PAGE = Path(__file__).resolve().parents[2] / "docs/agents.md"
BEGIN, END = "<!-- commands: begin -->\n", "<!-- commands: end -->\n"
TITLES = {"claude-code": "Claude Code", "codex": "Codex", "gemini": "Gemini CLI"}
HEAD = f"| agent | run | {COLUMNS} |\n| --- | --- | --- | --- | --- | --- | --- |\n"
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
    built = " (built)" if "built" in run.meta else ""
    return f"| {TITLES[run.agent]} | {DID[run.scenario]}{built} | {cells(run.frames())} |\n"


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


def test_every_sdk_has_what_its_tests_need_and_a_row_for_each_scene() -> None:
    makefile = (PAGE.parents[1] / "Makefile").read_text("utf-8")
    (line,) = re.findall(r"^AGENT_SDKS := (.*)$", makefile, re.MULTILINE)
    names = sorted(line.split())
    folder = PAGE.parents[1] / "tests/agents"
    assert sorted(path.stem for path in folder.glob("requirements/*.txt")) == names
    tests = sorted(path.stem for path in folder.glob("test_*.py"))
    assert tests == sorted(f"test_{name.replace('-', '_')}" for name in names)
    table = PAGE.read_text("utf-8").partition("<!-- sdks: begin -->")[2]
    rows = table.partition("<!-- sdks: end -->")[0].splitlines()
    titles = Counter(row.split(" | ")[0].removeprefix("| ") for row in rows if row)
    del titles["SDK"], titles["---"]
    assert {title.split(",")[0].lower() for title in titles} == set(names)
    assert set(titles.values()) == {9}
