"""The gate holds the pages to their forms: each rule broken once, and kept once."""

from __future__ import annotations

from pathlib import Path

import pytest

from gate.history import Pages
from gate.standing import check_standing
from ledgers import ROOT, Repo, ledger, make_repo, record, row

SUPERSEDED = "Superseded by DL-{} (A B, 2026-03-04)"
ADDS_6 = "Decide it\n\nLedger-impact: DL-6"


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_repo(tmp_path / "repo")


def five(**changed: str) -> str:
    """The row of decision 5, with something changed."""
    return row(5, **({"link": "five.md"} | changed))


def add_six(repo: Repo, line: str = "", *, text: str = "", free: int = 7) -> None:
    """Add decision 6 with a record of its own, or this row and this record, and commit."""
    repo.write("DECISIONS.md", ledger(five(), line or row(6, link="six.md"), free=free))
    repo.write("six.md", text or record("DL-6"))
    repo.commit(ADDS_6)


def test_our_own_ledger_and_records_keep_the_rules() -> None:
    designs = ROOT / "docs/designs"
    texts = {path.name: path.read_text("utf-8") for path in designs.glob("*.md")}
    pages = Pages(texts.pop("DECISIONS.md"), texts)
    assert len(pages.ledger.rows) >= 19
    assert len(texts) > 5
    assert check_standing(pages, ROOT) == []


def test_a_regular_ledger_passes(repo: Repo) -> None:
    assert "3 decisions, 0 commits since " in repo.passes()


def test_a_new_row_with_its_record_passes(repo: Repo) -> None:
    add_six(repo)
    assert "4 decisions, 1 commit since " in repo.passes()


def test_a_malformed_status_is_refused(repo: Repo) -> None:
    add_six(repo, row(6, link="six.md", status="Active"))
    repo.refuses("DECISIONS.md:13: DL-6: malformed status 'Active'", "Active (<who>, YYYY-MM-DD)")


def test_a_row_without_a_number_is_refused(repo: Repo) -> None:
    line = "| DL- | Decision 6 holds. | Active (A, 2026-01-02) | [why](one.md) |"
    repo.write("DECISIONS.md", ledger(five(), line))
    repo.commit()
    repo.refuses("DECISIONS.md:13: a row without a number", "DL-<number>")


def test_a_row_with_too_few_cells_is_refused(repo: Repo) -> None:
    repo.write("DECISIONS.md", ledger(five(), "| DL-6 | It holds. |"))
    repo.commit()
    repo.refuses("DECISIONS.md:13: a row has 4 cells, this one has 2")


def test_a_pipe_within_a_cell_is_escaped(repo: Repo) -> None:
    add_six(repo, row(6, "Either `a \\| b` or none.", link="six.md"))
    repo.passes()


def test_a_decision_that_is_no_sentence_is_refused(repo: Repo) -> None:
    add_six(repo, row(6, "batches", link="six.md"))
    repo.refuses("DL-6: its decision is no sentence")


def test_a_number_that_is_used_twice_is_refused(repo: Repo) -> None:
    again = row(5, "Another holds.", link="six.md")
    repo.write("DECISIONS.md", ledger(five(), again))
    repo.write("six.md", record("DL-5"))
    repo.commit()
    repo.refuses("DECISIONS.md:13: DL-5: a reused number: line 12 has it", "next free number, 6")


def test_a_number_that_the_head_gives_away_is_refused(repo: Repo) -> None:
    three = row(3, link="three.md")
    repo.write(
        "DECISIONS.md", ledger(three, five()).replace("3 and 4 belong", "3 and 4 to 4 belong")
    )
    repo.write("three.md", record("DL-3"))
    repo.commit("Decide\n\nLedger-impact: DL-3")
    repo.refuses("DL-3: a reused number: the head says that it stays unused")


def test_a_number_that_the_head_gave_away_at_the_base_is_refused(repo: Repo) -> None:
    repo.write("DECISIONS.md", ledger(row(3, link="three.md"), five()).replace("3 and 4", "4"))
    repo.write("three.md", record("DL-3"))
    repo.commit("Decide\n\nLedger-impact: DL-3")
    repo.refuses("DL-3: a reused number: the head said that it stays unused")


def test_a_hole_that_the_head_does_not_name_is_refused(repo: Repo) -> None:
    repo.write("DECISIONS.md", ledger(five()).replace("3 and 4", "3"))
    repo.commit()
    repo.refuses("DL-4 is a hole", "say in the head that 4 stays unused")


def test_holes_that_the_head_names_as_a_range_pass(repo: Repo) -> None:
    repo.write("DECISIONS.md", ledger(five(), row(9, link="nine.md"), free=10).replace(
        "3 and 4", "3, 4 and 6 to 8"
    ))  # fmt: skip
    repo.write("nine.md", record("DL-9"))
    repo.commit("Decide\n\nLedger-impact: DL-9")
    repo.passes()


def test_a_number_that_was_skipped_is_refused(repo: Repo) -> None:
    repo.write("DECISIONS.md", ledger(five(), row(7, link="seven.md"), free=8))
    repo.write("seven.md", record("DL-7"))
    repo.commit("Decide\n\nLedger-impact: DL-7")
    repo.refuses("DL-6 is a hole", "give a new decision this number")


def test_the_next_free_number_is_counted_up(repo: Repo) -> None:
    add_six(repo, free=6)
    repo.refuses("the head names 6 as the next free one; it is 7", "The next free number is 7.")


def test_rows_of_a_section_ascend(repo: Repo) -> None:
    repo.write("DECISIONS.md", ledger(five()).replace(row(2) + "\n", "") + row(2) + "\n")
    repo.commit()
    repo.refuses("DL-2: stands below DL-5")


def test_a_row_that_moves_to_another_section_passes(repo: Repo) -> None:
    lines = f"\n## More\n\n| ID | Decision | Status | Record |\n|---|:-:|---|---|\n{row(2)}\n"
    repo.write("DECISIONS.md", ledger(five()).replace(row(2) + "\n", "") + lines)
    repo.commit()
    repo.passes()


def test_a_superseded_row_passes_when_its_record_says_so(repo: Repo) -> None:
    old, new = five(status=SUPERSEDED.format(6)), row(6, link="six.md")
    repo.write("DECISIONS.md", ledger(old, new, free=7))
    repo.replace("five.md", "Status: Active", "Status: Superseded by DL-6")
    repo.write("six.md", record("DL-6"))
    repo.commit(ADDS_6)
    repo.passes()


def test_a_supersession_that_leads_nowhere_is_refused(repo: Repo) -> None:
    repo.write("DECISIONS.md", ledger(five(status=SUPERSEDED.format(8))))
    repo.replace("five.md", "Status: Active", "Status: Superseded by DL-8")
    repo.commit()
    repo.refuses("DL-5: superseded by DL-8, which has no row", "add the row DL-8")


def test_a_decision_that_supersedes_itself_is_refused(repo: Repo) -> None:
    repo.write("DECISIONS.md", ledger(five(status=SUPERSEDED.format(5))))
    repo.replace("five.md", "Status: Active", "Status: Superseded by DL-5")
    repo.commit()
    repo.refuses("DL-5: superseded in a circle: DL-5 → DL-5")


def test_supersessions_in_a_circle_are_refused(repo: Repo) -> None:
    text = ledger(five(status=SUPERSEDED.format(2)))
    two = row(2, status=SUPERSEDED.format(5))
    repo.write("DECISIONS.md", text.replace(row(2), two))
    repo.replace("five.md", "Status: Active", "Status: Superseded by DL-2")
    repo.commit()
    verdict = repo.gate()
    assert verdict.code == 1
    assert len(verdict.findings) == 2
    assert "DL-2: superseded in a circle: DL-2 → DL-5 → DL-2" in verdict.output
    assert "DL-5: superseded in a circle: DL-5 → DL-2 → DL-5" in verdict.output


def test_a_row_whose_record_is_not_there_is_refused(repo: Repo) -> None:
    repo.write("DECISIONS.md", ledger(five(), row(6, link="six.md"), free=7))
    repo.commit(ADDS_6)
    repo.refuses("DECISIONS.md:13: DL-6: a dead link: there is no record six.md")


def test_a_last_cell_that_is_no_link_is_refused(repo: Repo) -> None:
    repo.write("DECISIONS.md", ledger(five(), row(6).replace("[why](one.md)", "why"), free=7))
    repo.commit(ADDS_6)
    repo.refuses("DL-6: its last cell is not one relative link", "[<text>](<record>.md#<anchor>)")


def test_a_row_whose_record_does_not_name_it_is_refused(repo: Repo) -> None:
    add_six(repo, text=record("DL-60"))
    repo.refuses("DL-6: its record six.md does not name it")


def test_a_row_may_lead_to_an_anchor(repo: Repo) -> None:
    add_six(repo, row(6, link="six.md#what-it-is-dl-6"))
    repo.passes()


def test_a_dead_anchor_is_refused(repo: Repo) -> None:
    add_six(repo, row(6, link="six.md#what-it-is"))
    repo.refuses(
        "DECISIONS.md:13: a dead anchor: six.md#what-it-is", "use the heading in lower case"
    )


def test_a_dead_link_in_a_record_is_refused(repo: Repo) -> None:
    add_six(repo, text=record("DL-6") + "\n[a](seven.md)\n")
    repo.refuses("docs/designs/six.md:", "a dead link: seven.md")


def test_live_links_and_what_is_no_link_pass(repo: Repo) -> None:
    repo.write("/docs/other page.md", "# Über `a_b`\n\n## Twice\n\n## Twice\n")
    lines = [
        "[a](one.md#problem) [b](../other%20page.md#über-a_b) [c](<../other page.md#twice-1>)",
        "[d](/docs/other%20page.md) [e](https://no.where/x#y) [f](mailto:a@b.c) [g](#cost)",
        "[h](gate/rows.py#L3-L5) [i](gate) `[j](gone.md)` <!-- [k](gone.md) -->",
        "\n```text\n[l](gone.md)\n```",
    ]
    add_six(repo, text=record("DL-6") + "\n" + "\n".join(lines) + "\n")
    repo.passes()


def test_a_record_that_does_not_open_with_its_status_is_refused(repo: Repo) -> None:
    add_six(repo, text=record("DL-6").replace("Status: Active", "Status: active"))
    repo.refuses("six.md: does not open with its status", "Status: Superseded by DL-<n>")


def test_a_record_that_lacks_a_heading_is_refused(repo: Repo) -> None:
    add_six(repo, text=record("DL-6").replace("## Alternatives\n", ""))
    repo.refuses("six.md: lacks the heading Alternatives")


def test_a_record_without_a_row_is_refused(repo: Repo) -> None:
    repo.write("six.md", record("DL-6"))
    repo.write("DECISIONS.md", ledger(five()) + "\n")
    repo.commit()
    repo.refuses("six.md: no row of the ledger links here")


def test_a_record_whose_status_is_not_that_of_its_rows_is_refused(repo: Repo) -> None:
    add_six(repo, text=record("DL-6", status="Superseded by DL-1"))
    told = "six.md: says `Status: Superseded by DL-1`, but its rows say otherwise"
    repo.refuses(told, "the ledger is right: write `Status: Active`")


def test_a_record_is_active_as_long_as_one_of_its_rows_is(repo: Repo) -> None:
    text = ledger(five()).replace(row(2), row(2, status=SUPERSEDED.format(5)))
    repo.write("DECISIONS.md", text)
    repo.commit()
    repo.passes()


def test_a_ledger_that_is_gone_is_refused(repo: Repo) -> None:
    for page in ("DECISIONS.md", "one.md", "five.md"):
        repo.remove(page)
    verdict = repo.gate()
    assert verdict.code == 1
    assert "the ledger is missing" in verdict.output
