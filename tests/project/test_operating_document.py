"""The page about operating names every variable of the environment that the program looks at."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from compass_agent.log import default_path, default_socket
from compass_agent.telemetry.metrics import INSTRUMENTS

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/operating.md").read_text("utf-8")
VARIABLE = re.compile(r"(?:COMPASS|XDG)_[A-Z_]+")


def looked_at() -> set[str]:
    """Return the names that stand as texts of their own in the sources."""
    found: set[str] = set()
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found |= {node.value} & set(VARIABLE.findall(node.value))
    return found


def test_the_page_names_the_variables_that_count() -> None:
    section = PAGE.partition("## Environment\n")[2].partition("\n## ")[0]
    assert looked_at() == set(VARIABLE.findall(section))
    assert "COMPASS_LOG" in looked_at()


def test_the_page_names_the_files_that_there_are() -> None:
    assert f"`$XDG_STATE_HOME/compass/{default_path().name}`" in PAGE
    assert f"`$XDG_RUNTIME_DIR/compass/{default_socket().name}`" in PAGE


def test_the_page_names_the_metrics_that_there_are() -> None:
    section = PAGE.partition("## Metrics\n")[2].partition("\n## ")[0]
    told = re.findall(r"^\| `([a-z._]+)` \| (counter|up and down) \|", section, re.MULTILINE)
    kinds = {False: "counter", True: "up and down"}
    assert told == [(one.name, kinds[one.falls]) for one in INSTRUMENTS]
