"""The same rules of the gate in many forms, without a repository: pages and messages as values."""

from __future__ import annotations

from pathlib import Path

import pytest

from gate.commits import check_step
from gate.history import Commit, Pages
from gate.kept import Kept
from gate.records import Change, change, parse_record
from gate.standing import check_standing
from ledgers import ledger, note, record, row

FIVE = row(5, link="five.md")
SIX = row(6, link="six.md")
BEFORE = Pages(ledger(FIVE), {"one.md": record("DL-1", "DL-2"), "five.md": record("DL-5")})
SUPERSEDED = "Superseded by DL-1 (A, 2026-01-02)"


def with_rows(*rows: str, free: int = 7, six: str = "") -> Pages:
    """The pages with more rows, and the record `six.md`."""
    texts = {**BEFORE.texts, "six.md": six or record("DL-6", "DL-7")}
    return Pages(ledger(FIVE, *rows, free=free), texts)


def standing(pages: Pages, root: Path) -> list[str]:
    """What is wrong with pages, once they lie in a folder."""
    designs = root / "docs/designs"
    designs.mkdir(parents=True)
    for path, text in {"DECISIONS.md": pages.source or "", **pages.texts}.items():
        (designs / path).write_text(text, "utf-8")
    return [finding.wrong for finding in check_standing(pages, root)]


def step(message: str, after: Pages) -> list[str]:
    """What is wrong with a commit of this message, from `BEFORE` to these pages."""
    commit = Commit("1" * 40, ("0" * 40,), message)
    return [finding.wrong for finding in check_step(commit, [BEFORE], after, Kept(), after)]


@pytest.mark.parametrize(
    "status",
    [
        "active (A, 2026-01-02)",
        "Active",
        "Active (A)",
        "Active (2026-01-02)",
        "Active (A,2026-01-02)",
        "Active (A, 2026-1-2)",
        "Active (A, 2026-02-30)",
        "Active ( , 2026-01-02)",
        "Active (A, 2026-01-02).",
        "**Active** (A, 2026-01-02)",
        "Superseded (A, 2026-01-02)",
        "Superseded by 1 (A, 2026-01-02)",
        "Superseded by [DL-1](one.md) (A, 2026-01-02)",
        "Proposed (A, 2026-01-02)",
        "",
    ],
)
def test_a_status_has_no_third_form(tmp_path: Path, status: str) -> None:
    found = standing(with_rows(row(6, status=status, link="six.md")), tmp_path)
    assert found == [f"malformed status {status!r}"]


@pytest.mark.parametrize("cell", ["", "6", "DL-", "DL-06", "DL-6a", "dl-6", "DL 6"])
def test_a_number_has_no_second_form(tmp_path: Path, cell: str) -> None:
    line = f"| {cell} | Decision 6 holds. | Active (A, 2026-01-02) | [why](one.md) |"
    found = standing(Pages(ledger(FIVE, line), BEFORE.texts), tmp_path)
    assert found == [f"a row without a number: its first cell is {cell!r}"]


@pytest.mark.parametrize("line", ["| DL-6 | It holds. |", "DL-6 | a | b.", row(6) + " more |"])
def test_a_row_has_four_cells(tmp_path: Path, line: str) -> None:
    (found,) = standing(Pages(ledger(FIVE, line), BEFORE.texts), tmp_path)
    assert found.startswith("a row has 4 cells, this one has ")


@pytest.mark.parametrize(
    "cell",
    ["why", "[a](six.md) [b](one.md)", "[a](https://x.y)", "see [a](six.md)", "[a](/six.md)",
     "[a](../designs/six.md)", "[a](DECISIONS.md)", "[a](#all)"],
)  # fmt: skip
def test_a_last_cell_is_one_link_into_the_folder(tmp_path: Path, cell: str) -> None:
    line = row(6).replace("[why](one.md)", cell)
    found = standing(Pages(ledger(FIVE, line, free=7), BEFORE.texts), tmp_path)
    assert "its last cell is not one relative link to a record" in found


@pytest.mark.parametrize("anchor", ["Choice", "what-it-is", "what-it-is-(dl-6)", "choice-1"])
def test_an_anchor_is_exact(tmp_path: Path, anchor: str) -> None:
    found = standing(with_rows(row(6, link=f"six.md#{anchor}")), tmp_path)
    assert found == [f"a dead anchor: six.md#{anchor}"]


@pytest.mark.parametrize(
    ("link", "told"),
    [
        ("[a](../gone.md#x)", "a dead link: ../gone.md#x"),
        ("[a](../../../outside)", "a dead link: ../../../outside"),
        ("[a](/docs/gone.md)", "a dead link: /docs/gone.md"),
        ("![a](picture.png)", "a dead link: picture.png"),
        ("[a][b]\n\n[b]: seven.md", "a dead link: seven.md"),
        ("[a](one.md#problems)", "a dead anchor: one.md#problems"),
        ("[a](#nowhere)", "a dead anchor: #nowhere"),
        ("[a](/file.py#problem)", "a dead anchor: /file.py#problem"),
    ],
)
def test_a_dead_link_is_found_however_it_is_written(tmp_path: Path, link: str, told: str) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "outside").touch()
    (root / "file.py").touch()
    pages = with_rows(SIX, six=record("DL-6") + f"\n{link}\n")
    assert standing(pages, root) == [told]


@pytest.mark.parametrize(
    "opening",
    [
        "# Reasons\n\nStatus: Active (A, 2026-01-02)\n",
        "# Reasons\n\nSome words.\n\nStatus: Active\n",
        "# Reasons\n\n**Status:** Active\n",
        "# Reasons\n\nStatus: Superseded\n",
        "# Reasons\n\nStatus: Superseded by DL-01\n",
        "# Reasons\n\nStatus: Active\nand more\n",
        "# Reasons\nStatus: Active\n",
        "Status: Active\n",
    ],
)
def test_a_record_opens_with_title_and_status(tmp_path: Path, opening: str) -> None:
    text = record("DL-6").replace("# Reasons\n\nStatus: Active\n", opening)
    assert standing(with_rows(SIX, six=text), tmp_path) == ["does not open with its status"]


@pytest.mark.parametrize(
    ("status", "said", "fine"),
    [
        ("Active (A, 2026-01-02)", "Active", True),
        ("Active (A, 2026-01-02)", "Superseded by DL-1", False),
        (SUPERSEDED, "Superseded by DL-1", True),
        (SUPERSEDED, "Superseded by DL-2", False),
        (SUPERSEDED, "Active", False),
    ],
)
def test_the_status_of_a_record_is_that_of_its_rows(
    tmp_path: Path, status: str, said: str, *, fine: bool
) -> None:
    pages = with_rows(row(6, link="six.md", status=status), six=record("DL-6", status=said))
    assert (standing(pages, tmp_path) == []) is fine


@pytest.mark.parametrize(
    "message",
    [
        "Ledger-impact: DL-6, DL-7",
        "ledger-impact:   DL-7,DL-6  ",
        "Ledger-impact: DL-6,\n  DL-7",
        "Reviewed-by: B\nLedger-impact: DL-6\nSigned-off-by: A\nLedger-impact: DL-7",
        "Ledger-impact: DL-6, DL-7\n\nAnd a last paragraph.",
    ],
)
def test_rows_are_named_in_any_order_and_place(message: str) -> None:
    after = with_rows(SIX, row(7, link="six.md"), free=8)
    assert step(f"Decide it\n\n{message}\n", after) == []


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ("Decide it\n\n    Ledger-impact: DL-6", "none of them"),
        ("Decide it\n\nSee Ledger-impact: DL-6", "none of them"),
        ("Decide it\n\nLedger-impact: DL-7", "DL-7"),
        ("Decide it\n\nLedger-impact: DL-6\nLedger-impact: DL-1", "DL-1, DL-6"),
    ],
)
def test_rows_that_are_named_are_those_that_are_added(message: str, told: str) -> None:
    assert step(message, with_rows(SIX)) == [f"adds DL-6, and its message names {told}"]


@pytest.mark.parametrize(
    "value", ["", "DL-6 DL-7", "dl-6", "DL-6.", "DL-6,", "6", "yes", "nonesuch"]
)
def test_a_line_that_cannot_be_read_is_told(value: str) -> None:
    found = step(f"Decide it\n\nLedger-impact: {value}\n", with_rows(SIX))
    assert found == [f"cannot read `Ledger-impact: {value}`"]


@pytest.mark.parametrize("value", ["none", "None ", "none.", "none ()", "none: -", "none (1)"])
def test_no_impact_needs_a_reason(value: str) -> None:
    found = step(f"Spell it\n\nLedger-impact: {value}\n", BEFORE)
    assert found == ["`Ledger-impact: none` gives no reason"]


@pytest.mark.parametrize(
    "value", ["none (spelling)", "none: spelling", "NONE - a typo", "none typo", "none (the\n  r)"]
)
def test_a_reason_may_be_written_in_many_ways(value: str) -> None:
    texts = {**BEFORE.texts, "five.md": record("DL-5").replace("Something", "Some thing")}
    assert step(f"Spell it\n\nLedger-impact: {value}\n", Pages(BEFORE.source, texts)) == []


@pytest.mark.parametrize("old", ["# Reasons", "be chosen", "What it is", "## Cost\n", "Status: A"])
def test_every_part_of_a_record_counts(old: str) -> None:
    texts = {**BEFORE.texts, "five.md": record("DL-5").replace(old, f"{old}x")}
    found = step("Change it", Pages(BEFORE.source, texts))
    assert found == ["touches the record five.md, but not the ledger"]


def notes(*texts: str) -> str:
    """A record with these at its top."""
    return record("DL-5", notes="\n".join(texts))


NEWER = note("2026-04-05", "a newer fact.")


@pytest.mark.parametrize(
    ("before", "after", "what"),
    [
        ([notes()], notes(note()), Change.NOTES),
        ([notes(note())], notes(NEWER, note()), Change.NOTES),
        ([notes(note())], notes(note(), NEWER), Change.NOTES),
        ([notes(note())], notes(note()), Change.NONE),
        ([notes(note())], notes(note()).replace("\n\n\n", "\n\n"), Change.NONE),
        ([notes(note())], notes(), Change.TEXT),
        ([notes(note())], notes(NEWER), Change.TEXT),
        ([notes()], notes("> A later fact.\n"), Change.TEXT),
        ([notes()], notes("> 2026-02-30: x.\n"), Change.TEXT),
        ([notes()], notes("> 2026-02-03:\n"), Change.TEXT),
        ([notes()], notes("2026-02-03: x.\n"), Change.TEXT),
        ([notes()], notes("- x\n"), Change.TEXT),
        ([notes(note()), notes(NEWER)], notes(note(), NEWER), Change.NOTES),
        ([notes(note()), notes(NEWER)], notes(note()), Change.TEXT),
        ([notes(note()), notes()], notes(note()), Change.NOTES),
        ([notes(), notes().replace("be ch", "be Ch")], notes(), Change.NONE),
        ([notes(), notes().replace("be ch", "be Ch")], notes().replace("be ch", "x"), Change.TEXT),
        ([notes()], notes(note()).replace(": Active", ": Superseded by DL-1"), Change.STATUS),
    ],
)
def test_what_became_of_a_record(before: list[str], after: str, what: Change) -> None:
    assert change([parse_record(text) for text in before], parse_record(after)) is what


def test_a_merge_is_asked_for_a_record_that_no_parent_has() -> None:
    theirs = with_rows(SIX)
    after = Pages(theirs.source, {**theirs.texts, "seven.md": record("DL-7")})
    merge = Commit("1" * 40, ("0" * 40, "2" * 40), "Merge it")
    found = [finding.wrong for finding in check_step(merge, [BEFORE, theirs], after, Kept(), after)]
    assert found == ["touches the record seven.md, but not the ledger"]
