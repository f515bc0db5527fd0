"""The page of figures is what its generator writes, with a reason beside each miss."""

from __future__ import annotations

import importlib
import importlib.util
import json
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
BENCH = ROOT / "tests/bench"
PAGE = ROOT / "docs/performance.md"
CELLS = re.compile(r"^\| (?!row |---)([^|]+) \|.*\| (met|shown|\*\*missed\*\*) \|$", re.MULTILINE)
MACHINE = {"system": "Plan 9", "processors": 2, "python": "3.11.7", "load": 0.5}


@pytest.fixture
def generator(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The generator's module, with what is beside it at hand as for a script."""
    monkeypatch.setattr(sys, "path", [str(BENCH), *sys.path])
    for name in ("measure", "notes"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    spec = importlib.util.spec_from_file_location("bench_page", BENCH / "page.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def row(name: str, ratio: float) -> dict[str, object]:
    ratios = [ratio - 0.25, ratio, ratio + 0.25]
    figures: dict[str, object] = {"floor": 100.0, "ours": 100 * ratio, "ratios": ratios}
    return {"name": name, "unit": "k/s", **figures, "limit": 0.5, "at_least": True}


def test_the_generator_writes_figures_between_the_marks_alone(
    generator: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page, file = tmp_path / "page.md", tmp_path / "bench.json"
    text = PAGE.read_text("utf-8")
    page.write_text(text, "utf-8")
    rows = [row("SQLite append", 1.5), row("NATS, 64 a record", 0.4), row("a new row", 0.3)]
    file.write_text(json.dumps({"machine": MACHINE, "rows": rows}), "utf-8")
    assert generator.main([str(file), "--page", str(page)]) == 0
    made = page.read_text("utf-8")
    assert made.partition(generator.BEGIN)[0] == text.partition(generator.BEGIN)[0]
    assert made.partition(generator.END)[2] == text.partition(generator.END)[2]
    assert "Measured on Plan 9, 2 processors, Python 3.11.7, load 0.5 before." in made
    figures = "| 100.00 k/s | 150.00 k/s | 1.50 | 1.25 to 1.75 | at least 0.5 |"
    assert f"| SQLite append {figures} met |" in made
    assert CELLS.findall(made) == [
        ("SQLite append", "met"),
        ("NATS, 64 a record", "**missed**"),
        ("a new row", "**missed**"),
    ]
    why = made.partition("### What is missed, and why\n")[2].partition("<!--")[0]
    assert "**NATS, 64 a record**: A record costs" in why
    assert "**a new row**: not looked into yet" in why
    assert "SQLite" not in why
    absent = set(generator.NOTES) - {"SQLite append", "NATS, 64 a record"}
    told = re.search(r"^Not measured in this run: (.+)\.$", made, re.MULTILINE)
    assert told
    assert set(told[1].split("; ")) == absent
    printed = capsys.readouterr().out.splitlines()
    assert [line.partition(": ")[0] for line in printed] == ["missed", "missed"]
    again = page.read_text("utf-8")
    assert generator.main([str(file), "--page", str(page)]) == 0
    assert page.read_text("utf-8") == again


def test_a_page_without_the_marks_is_left_as_it_is(generator: ModuleType, tmp_path: Path) -> None:
    page, file = tmp_path / "page.md", tmp_path / "bench.json"
    page.write_text("# A page\n", "utf-8")
    file.write_text(json.dumps({"machine": MACHINE, "rows": []}), "utf-8")
    with pytest.raises(ValueError, match="lacks"):
        generator.main([str(file), "--page", str(page)])
    assert page.read_text("utf-8") == "# A page\n"


@pytest.mark.parametrize(("count", "expected"), [(1, 1_000), (100, 99_000), (200, 198_000)])
@pytest.mark.usefixtures("generator")
def test_of_a_hundred_the_worst_alone_is_beyond_the_99th_percentile(
    count: int, expected: float
) -> None:
    measure = importlib.import_module("measure")
    assert measure.p99_ms([float(number) for number in range(count, 0, -1)]) == expected


def test_every_row_of_the_page_is_described_and_every_miss_explained(generator: ModuleType) -> None:
    found = dict(CELLS.findall(PAGE.read_text("utf-8")))
    assert found, "make bench-page"
    absent = re.search(r"^Not measured in this run: (.+)\.$", PAGE.read_text("utf-8"), re.MULTILINE)
    assert {*found, *(absent[1].split("; ") if absent else ())} == set(generator.NOTES)
    unexplained = [
        name
        for name, kept in found.items()
        if kept == "**missed**" and not generator.NOTES[name].why
    ]
    assert unexplained == []
