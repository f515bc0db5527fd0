"""The gate holds each commit to its rules: what its message names, what goes together."""

from __future__ import annotations

from pathlib import Path

import pytest

from ledgers import Repo, ledger, make_repo, note, record, row

# Each makes a history with git; `make ledger` holds the real one to the same rules.
pytestmark = pytest.mark.slow

FIVE = row(5, link="five.md")
SIX = row(6, link="six.md")
SPELLING = 'Spell it\n\nLedger-impact: none (spelling of "among")'


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_repo(tmp_path / "repo")


def write_six(repo: Repo) -> None:
    """Write decision 6 with a record of its own; commit nothing."""
    repo.write("DECISIONS.md", ledger(FIVE, SIX, free=7))
    repo.write("six.md", record("DL-6"))


def add_note(repo: Repo, path: str = "five.md", text: str = "") -> None:
    """Put a dated note at the top of a record."""
    repo.replace(path, "Status: Active\n", f"Status: Active\n\n{text or note()}")


def test_a_commit_that_names_the_row_that_it_adds_passes(repo: Repo) -> None:
    write_six(repo)
    repo.commit("Decide it\n\nLedger-impact: DL-6\nSigned-off-by: A\n")
    repo.passes()


def test_a_commit_that_does_not_name_the_row_that_it_adds_is_refused(repo: Repo) -> None:
    write_six(repo)
    repo.commit("Decide DL-6")
    told = "(Decide DL-6): adds DL-6, and its message names none of them"
    repo.refuses("commit ", told, "`Ledger-impact: DL-6`", "--amend")


def test_a_commit_that_names_another_row_than_it_adds_is_refused(repo: Repo) -> None:
    write_six(repo)
    repo.commit("Decide it\n\nLedger-impact: DL-6, DL-7")
    repo.refuses("adds DL-6, and its message names DL-6, DL-7", "`Ledger-impact: DL-6`")


def test_a_line_that_cannot_be_read_is_refused(repo: Repo) -> None:
    write_six(repo)
    repo.commit("Decide it\n\nLedger-impact: 6\n")
    repo.refuses("cannot read `Ledger-impact: 6`", "DL-324, DL-325")


def test_a_commit_that_names_a_row_without_adding_it_is_refused(repo: Repo) -> None:
    repo.write("/other.txt", "1\n")
    repo.commit("Do it\n\nLedger-impact: DL-5")
    repo.refuses("adds no row, and its message names DL-5", "take the line out")


def test_a_commit_that_only_flips_a_status_names_nothing(repo: Repo) -> None:
    write_six(repo)
    repo.commit("Decide it\n\nLedger-impact: DL-6")
    newer = row(5, link="five.md", status="Superseded by DL-6 (A, 2026-03-04)")
    repo.replace("DECISIONS.md", FIVE, newer)
    repo.replace("five.md", "Status: Active", "Status: Superseded by DL-6")
    repo.commit("Let it go")
    repo.passes()


def test_no_impact_without_a_reason_is_refused(repo: Repo) -> None:
    repo.replace("five.md", "Something", "Some thing")
    repo.commit("Spell it\n\nLedger-impact: none\n")
    repo.refuses("`Ledger-impact: none` gives no reason", "none (spelling)")


def test_no_impact_with_a_reason_passes_a_spelling(repo: Repo) -> None:
    repo.replace("five.md", "Something", "Some thing")
    repo.commit(SPELLING)
    repo.passes()


def test_no_impact_on_a_commit_that_adds_a_row_is_refused(repo: Repo) -> None:
    write_six(repo)
    repo.commit(SPELLING)
    repo.refuses("says `Ledger-impact: none`, but adds DL-6", "`Ledger-impact: DL-6`")


def test_no_impact_on_a_commit_that_changes_a_status_is_refused(repo: Repo) -> None:
    newer = row(5, link="five.md", status="Superseded by DL-2 (A, 2026-03-04)")
    repo.replace("DECISIONS.md", FIVE, newer)
    repo.replace("five.md", "Status: Active", "Status: Superseded by DL-2")
    repo.commit(SPELLING)
    repo.refuses("says `Ledger-impact: none`, but changes the status of DL-5", "leave the line out")


def test_a_record_that_is_touched_without_the_ledger_is_refused(repo: Repo) -> None:
    repo.replace("five.md", "Something must", "Nothing must")
    repo.commit()
    repo.refuses(
        "commit ", "touches the record five.md, but not the ledger", "`> YYYY-MM-DD: <text>`"
    )


def test_a_record_whose_rows_stand_is_frozen_whatever_else_is_touched(repo: Repo) -> None:
    write_six(repo)
    repo.replace("five.md", "be chosen", "be done")
    repo.commit("Decide it\n\nLedger-impact: DL-6")
    repo.refuses("changes the record five.md, which is frozen: its rows stand", "put the text back")


def test_a_record_that_came_with_its_rows_is_frozen_from_then_on(repo: Repo) -> None:
    write_six(repo)
    repo.commit("Decide it\n\nLedger-impact: DL-6")
    repo.replace("six.md", "Something must", "Nothing must")
    repo.commit("Correct it")
    repo.refuses("(Correct it): touches the record six.md, but not the ledger")


def test_a_dated_note_at_the_top_passes(repo: Repo) -> None:
    add_note(repo)
    repo.commit("Note it")
    repo.replace("five.md", "Status: Active\n", f"Status: Active\n\n{note('2026-04-05', 'newer.')}")
    repo.commit("Note more")
    assert repo.read("five.md").count("> It goes on.") == 2
    repo.passes()


def test_what_is_no_dated_note_is_refused(repo: Repo) -> None:
    add_note(repo, text="> A later fact.\n")
    repo.commit("Note it")
    repo.refuses("touches the record five.md, but not the ledger", "`> YYYY-MM-DD: <text>`")


def test_a_dated_note_elsewhere_than_at_the_top_is_refused(repo: Repo) -> None:
    repo.replace("five.md", "## Cost\n", f"## Cost\n\n{note()}")
    repo.commit("Note it")
    repo.refuses("touches the record five.md, but not the ledger")


def test_a_note_that_changes_is_refused(repo: Repo) -> None:
    add_note(repo)
    repo.commit("Note it")
    repo.replace("five.md", "a later fact", "another fact")
    repo.commit("Unsay it")
    repo.refuses("(Unsay it): touches the record five.md, but not the ledger")


def test_a_status_of_a_record_that_changes_without_the_ledger_is_refused(repo: Repo) -> None:
    write_six(repo)
    newer = row(5, link="five.md", status="Superseded by DL-6 (A, 2026-03-04)")
    repo.replace("DECISIONS.md", FIVE, newer)
    repo.commit("Decide it\n\nLedger-impact: DL-6")
    repo.replace("five.md", "Status: Active", "Status: Superseded by DL-6")
    repo.commit("Follow it")
    repo.refuses("(Follow it): touches the record five.md, but not the ledger", "in one commit")


def test_a_new_record_without_its_row_is_refused_although_the_row_comes_later(repo: Repo) -> None:
    repo.write("six.md", record("DL-6"))
    repo.commit("Think about it")
    repo.write("DECISIONS.md", ledger(FIVE, SIX, free=7))
    add_note(repo, "six.md")
    repo.commit("Decide it\n\nLedger-impact: DL-6")
    repo.refuses("(Think about it): touches the record six.md, but not the ledger", "add its row")


def test_a_new_row_without_its_record_touched_is_refused(repo: Repo) -> None:
    repo.write("one.md", record("DL-1", "DL-2", "DL-6"))
    repo.commit("Begin\n\nLedger-impact: none (it was there)")
    repo.write("DECISIONS.md", ledger(FIVE, row(6), free=7))
    repo.commit("Decide it\n\nLedger-impact: DL-6")
    repo.refuses("adds DL-6 but does not touch its record one.md", "a dated note at its top")


def test_a_new_row_on_a_record_that_stands_comes_with_a_note(repo: Repo) -> None:
    repo.write("DECISIONS.md", ledger(FIVE, row(6), free=7))
    add_note(repo, "one.md", note(text="of two ways DL-6 takes the first."))
    repo.commit("Decide it\n\nLedger-impact: DL-6")
    repo.passes()


def test_a_record_whose_rows_stand_stays(repo: Repo) -> None:
    repo.remove("five.md")
    repo.replace("DECISIONS.md", FIVE, row(5))
    add_note(repo, "one.md", note(text="here is DL-5 now."))
    repo.commit("Tidy up")
    repo.refuses("removes the record five.md, whose rows stand", "bring it back")


def test_a_record_may_move_as_it_is_together_with_its_link(repo: Repo) -> None:
    (repo.folder / "docs/designs/old times").mkdir()
    repo.git("mv", "docs/designs/five.md", "docs/designs/old times/five.md")
    repo.replace("DECISIONS.md", FIVE, row(5, link="old%20times/five.md"))
    repo.commit("Move it")
    repo.passes()


def test_a_neighbour_of_the_ledger_is_nobodys_business(repo: Repo) -> None:
    for path in ("/docs/other.md", "picture.svg", "gate/more.py", "/docs/designs.md", "/x"):
        repo.write(path, "text\n")
    repo.commit("Add other things")
    repo.passes()


def test_the_head_of_the_ledger_may_be_written_anew(repo: Repo) -> None:
    repo.replace("DECISIONS.md", "# Decisions\n", "# Decisions\n\nSome words.\n")
    repo.commit("Say more")
    repo.passes()


def test_commits_from_before_the_gate_are_held_to_what_became_of_the_rows_alone(
    tmp_path: Path,
) -> None:
    repo = make_repo(tmp_path / "repo", with_gate=False)
    write_six(repo)
    repo.commit("Decide it in the old way")
    repo.branch("old")
    repo.go("main")
    repo.write("/.gitignore", "__pycache__/\n")
    repo.commit("Begin the gate")
    repo.go("old")
    repo.write("DECISIONS.md", ledger(FIVE, SIX, row(7, link="seven.md"), free=8))
    repo.write("seven.md", record("DL-7"))
    repo.commit("Decide it in the old way, on a branch that has no gate yet")
    repo.go("main")
    repo.merge("old")
    repo.passes()
    repo.replace("seven.md", "Something must", "Nothing must")
    repo.commit("Change it in the old way")
    repo.refuses("(Change it in the old way): touches the record seven.md")


def test_a_merge_that_brings_the_gate_is_no_sooner_held_to_it(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", with_gate=False)
    repo.branch("gate")
    repo.write("/.gitignore", "__pycache__/\n")
    repo.commit("Begin the gate")
    repo.go("main")
    write_six(repo)
    repo.commit("Decide it in the old way")
    repo.git("merge", "--no-commit", "--no-ff", "gate")
    repo.passes()
    repo.commit("Merge the gate")
    repo.passes()


def test_a_history_that_never_had_a_gate_is_held_to_it_from_the_base_on(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", with_gate=False)
    write_six(repo)
    repo.commit("Decide it")
    repo.refuses("adds DL-6, and its message names none of them")


def test_what_is_not_committed_yet_is_looked_at(repo: Repo) -> None:
    write_six(repo)
    assert "the message needs the line `Ledger-impact: DL-6`" in repo.passes()
    repo.commit("Decide it\n\nLedger-impact: DL-6")
    repo.replace("five.md", "Something must", "Nothing must")
    repo.refuses("not committed yet: touches the record five.md, but not the ledger", "spelling")
    repo.commit(SPELLING)
    repo.passes()
