"""Write the table of docs/performance.md from what a bench measured.

    python tests/bench/page.py FILE [--page PAGE]

FILE is what `tests/bench/bench.py --json FILE` wrote.
"""

from __future__ import annotations

__all__ = ("main", "page_with", "table")

import argparse
import json
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from measure import Row
from notes import NOTES, UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

PAGE = Path(__file__).resolve().parents[2] / "docs/performance.md"
BEGIN, END = "<!-- bench: begin -->\n", "<!-- bench: end -->\n"
HEAD = ("row", "floor", "ours", "ratio", "spread", "limit", "")


def main(words: Sequence[str] | None = None) -> int:
    """Write the page; return the exit status."""
    parser = argparse.ArgumentParser(description="Write docs/performance.md from a bench.")
    parser.add_argument("file", type=Path, metavar="FILE", help="what bench.py --json wrote")
    parser.add_argument("--page", type=Path, default=PAGE, help="the page to write")
    options = parser.parse_args(words)
    measured: dict[str, Any] = json.loads(options.file.read_text("utf-8"))
    figures: list[dict[str, Any]] = measured["rows"]
    rows = [_row(figure) for figure in figures]
    page: Path = options.page
    page.write_text(page_with(page.read_text("utf-8"), measured["machine"], rows), "utf-8")
    for row in rows:
        if not row.met:
            print(f"missed: {row.name}: {NOTES.get(row.name, UNKNOWN).why or UNKNOWN.why}")
    return 0


def _row(figure: dict[str, Any]) -> Row:
    """Return the row; what is told beside it follows from it."""
    known = {field.name: figure[field.name] for field in fields(Row) if field.name in figure}
    return replace(Row(**known), ratios=tuple(figure["ratios"]))


def page_with(page: str, machine: dict[str, object], rows: Sequence[Row]) -> str:
    """Return the page with these figures in the place of those that it has."""
    head, begin, rest = page.partition(BEGIN)
    _, end, foot = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the page lacks {(BEGIN + END).split()}")
    return f"{head}{BEGIN}\n{_measured(machine)}\n\n{table(rows)}\n{_told(rows)}\n{END}{foot}"


def table(rows: Iterable[Row]) -> str:
    """Return the figures as a table in Markdown."""
    lines = [HEAD, tuple("---" for _ in HEAD), *map(_cells, rows)]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines).replace("|  |", "| |")


def _cells(row: Row) -> tuple[str, ...]:
    unit = "µs" if row.unit == "us" else row.unit
    return (
        row.name,
        f"{row.floor:.2f} {unit}",
        f"{row.ours:.2f} {unit}",
        f"{row.ratio:.2f}",
        f"{min(row.ratios):.2f} to {max(row.ratios):.2f}" if len(row.ratios) > 1 else "-",
        row.bound,
        ("met" if row.met else "**missed**") if row.limit is not None else "shown",
    )


def _measured(machine: dict[str, object]) -> str:
    told = "Measured on {system}, {processors} processors, Python {python}, load {load} before."
    return told.format(**machine)


def _told(rows: Sequence[Row]) -> str:
    floors = [f"- **{row.name}**: {NOTES.get(row.name, UNKNOWN).floor}." for row in rows]
    missed = [
        f"- **{row.name}**: {NOTES.get(row.name, UNKNOWN).why or UNKNOWN.why}"
        for row in rows
        if not row.met
    ]
    absent = [name for name in NOTES if name not in {row.name for row in rows}]
    return "\n".join(
        [
            *([f"Not measured in this run: {'; '.join(absent)}.", ""] if absent else []),
            "### What the floors are",
            *_list(floors),
            "",
            "### What is missed, and why",
            *(_list(missed) if missed else ["", "Nothing."]),
            "",
        ]
    )


def _list(lines: list[str]) -> list[str]:
    return ["", *lines]


if __name__ == "__main__":
    raise SystemExit(main())
