"""The gate over branches and merges: what became of a decision, whoever wrote what when."""

from __future__ import annotations

from pathlib import Path

import pytest

from ledgers import Repo, ledger, make_repo, note, record, row

# Each makes a history with git; `make ledger` holds the real one to the same rules.
pytestmark = pytest.mark.slow

FIVE = row(5, link="five.md")
SIX = row(6, link="six.md")
ADDS_6 = "Decide it\n\nLedger-impact: DL-6"
NONE = "Do it\n\nLedger-impact: none (a test)"


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_repo(tmp_path / "repo")


def add_six(repo: Repo, line: str = SIX, page: str = "six.md") -> None:
    """Commit decision 6."""
    repo.write("DECISIONS.md", ledger(FIVE, line, free=7))
    repo.write(page, record("DL-6"))
    repo.commit(ADDS_6)


def test_a_reworded_decision_is_refused(repo: Repo) -> None:
    repo.replace("DECISIONS.md", "Decision 5 holds.", "Decision 5 holds mostly.")
    repo.commit(NONE)
    repo.refuses("DL-5: its decision was reworded", "put back `Decision 5 holds.`", "a new row")


def test_a_decision_that_came_after_the_base_is_not_reworded_either(repo: Repo) -> None:
    add_six(repo)
    repo.replace("DECISIONS.md", "Decision 6 holds.", "Decision 6 holds mostly.")
    repo.commit(NONE)
    repo.refuses("DL-6: its decision was reworded", "put back `Decision 6 holds.`")


def test_a_decision_that_was_put_back_passes(repo: Repo) -> None:
    repo.replace("DECISIONS.md", "Decision 5 holds.", "Decision 5 holds mostly.")
    repo.commit(NONE)
    repo.git("revert", "--no-edit", "HEAD")
    repo.passes()


def test_a_row_that_is_gone_is_refused(repo: Repo) -> None:
    add_six(repo)
    repo.write("DECISIONS.md", ledger(FIVE).replace("3 and 4", "3, 4 and 6"))
    repo.replace("DECISIONS.md", "is 6.", "is 7.")
    repo.remove("six.md")
    repo.commit()
    verdict = repo.gate()
    assert verdict.code == 1
    assert "the row DL-6 is gone\n    to do: bring it back" in verdict.output
    assert "removes the record six.md, whose rows stand" in verdict.output


def test_a_number_that_is_given_again_after_its_row_went_is_refused(repo: Repo) -> None:
    add_six(repo)
    repo.write("DECISIONS.md", ledger(FIVE))
    repo.commit("Take it back")
    repo.write("DECISIONS.md", ledger(FIVE, row(6, "It is otherwise.", link="six.md"), free=7))
    repo.replace("six.md", "Status: Active\n", f"Status: Active\n\n{note()}")
    repo.commit(ADDS_6)
    repo.refuses("DL-6: a reused number: it was given before, for `Decision 6 holds.`")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Active (A, 2026-01-02)", "Active (B, 2026-01-02)"),
        ("Active (A, 2026-01-02)", "Active (A, 2026-03-04)"),
        ("Superseded by DL-2 (A, 2026-01-02)", "Active (A, 2026-01-02)"),
        ("Superseded by DL-2 (A, 2026-01-02)", "Superseded by DL-1 (A, 2026-01-02)"),
    ],
)
def test_a_status_that_changes_otherwise_than_to_superseded_is_refused(
    repo: Repo, old: str, new: str
) -> None:
    repo.write("DECISIONS.md", ledger(FIVE, row(6, link="one.md", status=old), free=7))
    repo.replace("one.md", "Status: Active\n", f"Status: Active\n\n{note(text='DL-6.')}")
    repo.commit(ADDS_6)
    repo.passes()
    repo.write("DECISIONS.md", ledger(FIVE, row(6, link="one.md", status=new), free=7))
    repo.commit()
    repo.refuses(f"DL-6: its status was `{old}` and now is `{new}`", "put it back")


def test_a_merge_of_a_branch_with_a_decision_passes(repo: Repo) -> None:
    repo.branch("topic")
    add_six(repo)
    repo.go("main")
    repo.write("/other.txt", "1\n")
    repo.commit("Do something else")
    repo.merge("topic")
    repo.passes()
    repo.go("topic")
    repo.merge("main")
    repo.passes()


def test_a_merge_of_notes_and_spelling_from_both_sides_passes(repo: Repo) -> None:
    repo.branch("topic")
    repo.replace("one.md", "## Cost\n", "## Cost\n\nNone.\n")
    repo.commit(NONE)
    add_six(repo)
    repo.go("main")
    repo.replace("one.md", "Status: Active\n", f"Status: Active\n\n{note()}")
    repo.commit("Note it")
    repo.merge("topic")
    assert "> It goes on." in repo.read("one.md")
    assert "None." in repo.read("one.md")
    repo.passes()


def test_a_merge_that_drops_a_note_is_refused(repo: Repo) -> None:
    repo.branch("topic")
    repo.replace("one.md", "Status: Active\n", f"Status: Active\n\n{note()}")
    repo.commit("Note it")
    repo.go("main")
    repo.merge("topic", "Merge nothing of it", "--strategy=ours")
    repo.refuses("(Merge nothing of it): touches the record one.md, but not the ledger")


def test_a_merge_that_drops_a_decision_is_refused(repo: Repo) -> None:
    repo.branch("topic")
    add_six(repo)
    repo.go("main")
    repo.merge("topic", "Merge nothing of it", "--strategy=ours")
    verdict = repo.gate()
    assert verdict.code == 1
    assert "the row DL-6 is gone" in verdict.output
    assert "(Merge nothing of it): removes the record six.md" in verdict.output


def test_a_merge_that_changes_a_record_by_itself_is_refused(repo: Repo) -> None:
    repo.branch("topic")
    repo.write("/other.txt", "1\n")
    repo.commit()
    repo.go("main")
    repo.merge("topic", "Merge", "--no-commit")
    repo.replace("one.md", "Something must", "Nothing must")
    repo.commit("Merge more than there is")
    repo.refuses("(Merge more than there is): touches the record one.md")


def two_branches_with_one_number(repo: Repo) -> None:
    """Have `main` and `topic` give number 6 to two decisions, and begin the merge on `main`."""
    repo.branch("topic")
    add_six(repo, row(6, "The second is so.", link="second.md"), "second.md")
    repo.go("main")
    add_six(repo)
    repo.git("merge", "--no-commit", "--strategy-option=ours", "topic")


def test_a_merge_may_give_another_number_to_one_of_two_decisions(repo: Repo) -> None:
    two_branches_with_one_number(repo)
    second = row(7, "The second is so.", link="second.md")
    repo.write("DECISIONS.md", ledger(FIVE, SIX, second, free=8))
    repo.write("second.md", record("DL-7"))
    assert "the message needs the line `Ledger-impact: DL-7`" in repo.passes()
    repo.commit("Merge it\n\nLedger-impact: DL-7")
    repo.passes()


def test_a_merge_that_adds_a_row_names_it(repo: Repo) -> None:
    two_branches_with_one_number(repo)
    second = row(7, "The second is so.", link="second.md")
    repo.write("DECISIONS.md", ledger(FIVE, SIX, second, free=8))
    repo.write("second.md", record("DL-7"))
    repo.commit("Merge it")
    repo.refuses("commit ", "(Merge it): adds DL-7, and its message names none of them")


def test_a_merge_that_loses_one_of_two_decisions_is_refused(repo: Repo) -> None:
    two_branches_with_one_number(repo)
    repo.write("DECISIONS.md", ledger(FIVE, SIX, free=7))
    repo.remove("second.md")
    repo.commit("Merge it")
    verdict = repo.gate()
    assert verdict.code == 1
    assert "another branch gave this number to `The second is so.`, which is gone" in verdict.output


def test_a_merge_that_words_a_decision_in_a_third_way_is_refused(repo: Repo) -> None:
    two_branches_with_one_number(repo)
    second = row(7, "The second is so.", link="second.md")
    repo.write("DECISIONS.md", ledger(FIVE, row(6, "Both.", link="six.md"), second, free=8))
    repo.write("second.md", record("DL-7"))
    repo.commit("Merge it\n\nLedger-impact: DL-7")
    repo.refuses("DL-6: its decision was reworded")


def test_a_merge_that_is_not_committed_yet_is_held_to_both_sides(repo: Repo) -> None:
    repo.branch("topic")
    repo.replace("one.md", "## Cost\n", "## Cost\n\nNone.\n")
    repo.commit(NONE)
    add_six(repo)
    repo.go("main")
    repo.write("/other.txt", "1\n")
    repo.commit("Do something else")
    repo.git("merge", "--no-commit", "--no-ff", "topic")
    assert "needs the line" not in repo.passes()


def test_a_base_that_has_a_number_wins_over_an_older_branch(repo: Repo) -> None:
    repo.branch("topic")
    add_six(repo, row(6, "The second is so.", link="six.md"))
    repo.go("main")
    add_six(repo)
    repo.git("tag", "v1.0.0")
    repo.merge("topic", "Take theirs", "--strategy-option=theirs")
    repo.refuses("DL-6: a reused number: it was given before, for `Decision 6 holds.`")
