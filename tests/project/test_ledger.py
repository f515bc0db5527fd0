"""The ledger of decisions is regular: ids, statuses, links, and records that say why."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import pytest

DESIGNS = Path(__file__).resolve().parents[2] / "docs/designs"
LEDGER = DESIGNS / "DECISIONS.md"
HEADER = "| ID | Decision | Status | Record |"
WHO_AND_WHEN = r"\([^(),|]+, \d{4}-\d{2}-\d{2}\)"
STATUS = re.compile(rf"Active {WHO_AND_WHEN}|Superseded by DL-(?P<by>\d+) {WHO_AND_WHEN}")
LINK = re.compile(r"\[[^\]]+\]\((?P<file>[^)#]+)(#(?P<anchor>[^)]+))?\)")
# Given away to others; never ours.
RESERVED = {319, 320, 321}


class Row(NamedTuple):
    """One decision."""

    section: str
    number: int
    decision: str
    status: str
    record: str


def read_rows() -> list[Row]:
    """Return the rows of all sections, in order."""
    rows: list[Row] = []
    section = ""
    for line in LEDGER.read_text("utf-8").splitlines():
        if line.startswith("## "):
            section = line.removeprefix("## ")
        elif line.startswith("| DL-"):
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            assert len(cells) == 4, line
            rows.append(Row(section, int(cells[0].removeprefix("DL-")), *cells[1:]))
        elif line.startswith("|"):
            assert line == HEADER or set(line) <= set("|- "), line
    return rows


RECORDS = sorted({path.name for path in DESIGNS.glob("*.md")} - {LEDGER.name})
ROWS = read_rows()
IDS = [f"DL-{row.number}" for row in ROWS]


def anchors(path: Path) -> set[str]:
    """Return the anchors of a page's headings, as web hosts make them."""
    headings = re.findall(r"^#+ (.+)$", path.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_an_id_is_given_once_and_never_one_that_belongs_to_others() -> None:
    numbers = [row.number for row in ROWS]
    assert len(numbers) == len(set(numbers))
    assert RESERVED & set(numbers) == set()


def test_ids_ascend_within_a_section() -> None:
    for section in {row.section for row in ROWS}:
        numbers = [row.number for row in ROWS if row.section == section]
        assert numbers == sorted(numbers), section


def test_the_ledger_names_the_next_free_number() -> None:
    told = re.search(r"next free number is (\d+)", LEDGER.read_text("utf-8"))
    assert told
    assert int(told[1]) == max(row.number for row in ROWS) + 1


@pytest.mark.parametrize("row", ROWS, ids=IDS)
def test_a_status_has_one_of_two_exact_forms(row: Row) -> None:
    status = STATUS.fullmatch(row.status)
    assert status, row.status
    if status["by"]:
        assert int(status["by"]) in {other.number for other in ROWS}


@pytest.mark.parametrize("row", ROWS, ids=IDS)
def test_a_row_is_one_sentence_with_a_record_that_gives_its_reasons(row: Row) -> None:
    assert row.section
    assert row.decision.endswith(".")
    link = LINK.fullmatch(row.record)
    assert link, row.record
    record = DESIGNS / link["file"]
    assert record.is_file()
    if link["anchor"]:
        assert link["anchor"] in anchors(record)
    assert f"DL-{row.number}" in record.read_text("utf-8")


@pytest.mark.parametrize("name", RECORDS)
def test_a_record_says_its_status_problem_choice_alternatives_and_cost(name: str) -> None:
    text = (DESIGNS / name).read_text("utf-8")
    assert re.search(r"\A# .+\n\nStatus: (Active|Superseded by DL-\d+)\n", text)
    for heading in ("Problem", "Constraints", "Choice", "Alternatives", "Cost"):
        assert re.search(rf"^##+ {heading}$", text, re.MULTILINE), heading
    assert f"({name}" in LEDGER.read_text("utf-8"), "no row points here"
