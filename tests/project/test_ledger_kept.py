"""What stands is kept, by whatever way it changes: old branches, merges, edits put back."""

from __future__ import annotations

from pathlib import Path

import pytest

from ledgers import ROOT, Repo, ledger, make_repo, note, record, row

# Each makes a history with git; `make ledger` holds the real one to the same rules.
pytestmark = pytest.mark.slow

NEWER = "Superseded by DL-2 (A, 2026-03-04)"
OTHER = "Superseded by DL-1 (A, 2026-03-04)"
FIVE = row(5, link="five.md")
SIX = row(6, link="six.md")
ADDS_6 = "Decide it\n\nLedger-impact: DL-6"


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_repo(tmp_path / "repo")


def set_status(repo: Repo, status: str) -> None:
    """Give decision 5 and its record a status, and commit it."""
    repo.write("DECISIONS.md", ledger(row(5, link="five.md", status=status)))
    repo.write("five.md", record("DL-5", status=status.partition(" (")[0]))
    repo.commit(f"Say {status}")


def go_on(repo: Repo) -> None:
    """Commit something else on `main`."""
    repo.go("main")
    repo.write("/other.txt", "1\n")
    repo.commit("Do something else")


def add_six(repo: Repo, head: str = "") -> None:
    """Commit decision 6 with a record of its own."""
    repo.write("DECISIONS.md", ledger(FIVE, SIX, free=7) + head)
    repo.write("six.md", record("DL-6"))
    repo.commit(ADDS_6)


@pytest.mark.parametrize("status", ["Active (A, 2026-01-02)", OTHER])
def test_a_status_that_changed_after_the_base_changes_no_more(repo: Repo, status: str) -> None:
    set_status(repo, NEWER)
    repo.passes()
    set_status(repo, status)
    repo.refuses(f"DL-5: its status was `{NEWER}` and now is `{status}`", "put it back")
    set_status(repo, NEWER)
    repo.passes()


def test_a_status_does_not_change_back_by_way_of_a_row_that_was_gone(repo: Repo) -> None:
    set_status(repo, NEWER)
    repo.write("DECISIONS.md", ledger())
    repo.commit("Drop it")
    set_status(repo, "Active (A, 2026-01-02)")
    assert f"DL-5: its status was `{NEWER}` and now is `Active" in repo.gate().output


def test_a_merge_that_drops_a_supersession_is_refused(repo: Repo) -> None:
    repo.branch("topic")
    set_status(repo, NEWER)
    go_on(repo)
    repo.merge("topic", "Merge nothing of it", "--strategy=ours")
    repo.refuses(f"DL-5: its status was `{NEWER}` and now is `Active (A, 2026-01-02)`")


def test_a_merge_chooses_one_of_two_supersessions_for_good(repo: Repo) -> None:
    repo.branch("topic")
    set_status(repo, NEWER)
    repo.go("main")
    set_status(repo, OTHER)
    repo.merge("topic", "Merge it", "--strategy-option=ours")
    repo.passes()
    set_status(repo, NEWER)
    repo.refuses(f"DL-5: its status was `{OTHER}` and now is `{NEWER}`")


@pytest.mark.parametrize("link", ["one.md", "new.md", "one.md#cost"])
def test_a_row_that_stands_is_not_linked_to_another_record_or_place(repo: Repo, link: str) -> None:
    text = repo.read("DECISIONS.md")
    repo.replace("one.md", "Status: Active\n", f"Status: Active\n\n{note(text='DL-5, too.')}")
    if link == "new.md":
        repo.write("new.md", record("DL-5", title="Others"))
    if "#" in link:
        text = text.replace("one.md#what-it-is-dl-1", link)
    repo.write("DECISIONS.md", text.replace("five.md", link))
    repo.commit("Link it otherwise")
    verdict = repo.gate()
    assert verdict.code == 1
    assert f"and now is `{link}`\n    to do: put it back" in verdict.output
    assert "a new record needs a new row" in verdict.output


def test_a_link_follows_its_heading_and_may_name_one_where_it_named_none(repo: Repo) -> None:
    repo.replace("one.md", "### What it is", "### What it was")
    repo.replace("DECISIONS.md", "#what-it-is-dl-1", "#what-it-was-dl-1")
    repo.commit("Spell it\n\nLedger-impact: none (spelling)")
    repo.replace("DECISIONS.md", "five.md", "five.md#cost")
    repo.commit("Point closer")
    repo.passes()
    repo.replace("DECISIONS.md", "five.md#cost", "five.md#problem")
    repo.commit("Point elsewhere")
    repo.refuses("DL-5: its link was `five.md#cost` and now is `five.md#problem`")


def test_a_record_that_moved_is_frozen_where_it_is(repo: Repo) -> None:
    repo.git("mv", "docs/designs/five.md", "docs/designs/5.md")
    repo.replace("DECISIONS.md", "five.md", "5.md")
    repo.passes()
    repo.commit("Move it")
    repo.passes()
    repo.replace("5.md", "Something must", "Nothing must")
    repo.commit("Edit it")
    repo.refuses("(Edit it): touches the record 5.md")


@pytest.mark.parametrize("released", [False, True])
def test_a_branch_that_is_older_than_the_gate_slips_no_edit_in(
    tmp_path: Path, *, released: bool
) -> None:
    repo = make_repo(tmp_path / "repo", with_gate=False)
    repo.branch("old")
    repo.go("main")
    repo.replace("one.md", "Something must", "Some thing must")
    repo.commit("Change another one in the old way")
    repo.write("/.gitignore", "__pycache__/\n")
    repo.commit("Begin the gate")
    if released:
        repo.git("tag", "v1.0.0")
    repo.passes()
    repo.go("old")
    repo.replace("five.md", "Something must", "Nothing must")
    repo.commit("Change it in the old way")
    repo.go("main")
    repo.merge("old")
    repo.refuses("docs/designs/five.md: a frozen record is not what it was", "put back its text")
    repo.replace("five.md", "Nothing must", "Something must")
    repo.commit("Put it back")
    repo.passes()


def test_a_branch_that_is_older_than_the_gate_may_spell(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", with_gate=False)
    repo.branch("old")
    repo.replace("five.md", "Something", "Some thing")
    repo.commit("Spell it\n\nLedger-impact: none (spelling)")
    repo.go("main")
    repo.write("/.gitignore", "__pycache__/\n")
    repo.commit("Begin the gate")
    repo.merge("old")
    repo.passes()


def test_a_merge_that_rewrites_a_record_that_one_parent_brought_is_refused(repo: Repo) -> None:
    repo.branch("topic")
    add_six(repo)
    go_on(repo)
    repo.replace("DECISIONS.md", "# Decisions\n", "# Decisions\n\nSome words.\n")
    repo.commit("Say more")
    repo.merge("topic", "Merge it", "--no-commit", "--strategy-option=ours")
    page = ledger(FIVE, SIX, free=7).replace("# Decisions\n", "# Decisions\n\nSome words.\n")
    repo.write("DECISIONS.md", page)
    repo.passes()
    repo.replace("six.md", "Something must", "Nothing must")
    repo.commit("Merge more than there is")
    repo.refuses("(Merge more than there is): changes the record six.md, which is frozen")


@pytest.mark.parametrize("message", ["Put it back", "Do it\n\nLedger-impact: none (put back)"])
def test_an_edit_that_was_put_back_passes(repo: Repo, message: str) -> None:
    repo.replace("five.md", "Something must", "Nothing must")
    repo.commit("Change it")
    repo.replace("five.md", "Nothing must", "Something must")
    repo.commit(message)
    repo.passes()


def test_a_note_that_was_put_back_passes(repo: Repo) -> None:
    before = repo.read("five.md")
    repo.replace("five.md", "Status: Active\n", f"Status: Active\n\n{note()}")
    repo.commit("Note it")
    noted = repo.read("five.md")
    repo.write("five.md", before)
    repo.commit("Drop it")
    repo.refuses("(Drop it): touches the record five.md")
    repo.write("five.md", noted)
    repo.commit("Put it back")
    repo.passes()


def test_a_record_that_was_removed_and_put_back_passes(repo: Repo) -> None:
    repo.remove("five.md")
    repo.commit("Remove it")
    repo.git("revert", "--no-edit", "HEAD")
    repo.passes()


@pytest.mark.parametrize("number", [3540, 40_000_000_000])
def test_a_range_of_holes_is_one_finding(repo: Repo, number: int) -> None:
    repo.write("DECISIONS.md", ledger(FIVE, row(number, link="big.md"), free=number + 1))
    repo.write("big.md", record(f"DL-{number}"))
    repo.commit(f"Decide it\n\nLedger-impact: DL-{number}")
    repo.refuses(f"DL-6 to DL-{number - 1} are holes", f"6 to {number - 1} stay unused")


def test_a_head_that_gives_away_billions_is_no_burden(repo: Repo) -> None:
    repo.replace("DECISIONS.md", "3 and 4 belong", "3, 4 and 100 to 40000000000 belong")
    assert "to DL-39999999999 are holes" in repo.gate().output


def test_the_mark_of_a_comment_within_code_hides_nothing(repo: Repo) -> None:
    repo.write("six.md", record("DL-6", title="A `<!--` mark"))
    repo.write("DECISIONS.md", ledger(FIVE, row(6, "It is `<!--`.", link="six.md"), free=7))
    repo.commit(ADDS_6)
    repo.passes()
    repo.write("DECISIONS.md", ledger(FIVE, row(6, "It is `<!--`.", link="no.md"), free=7))
    assert "a dead link: there is no record no.md" in repo.gate().output


@pytest.mark.parametrize("tag", ["vendor-import", "version"])
def test_a_tag_that_only_begins_with_a_v_is_no_release(repo: Repo, tag: str) -> None:
    repo.replace("five.md", "Something must", "Nothing must")
    repo.commit("Break a rule")
    repo.git("tag", tag)
    repo.refuses("(Break a rule)")


def test_what_a_terminal_would_obey_is_made_visible(repo: Repo) -> None:
    repo.write("a\x1b[31m\n.md", "# A\n")
    repo.write("six.md", record("DL-6"))
    repo.commit("\x1b[31mRed\x07\u202e subject")
    verdict = repo.gate()
    assert verdict.code == 1
    assert "(\\x1b[31mRed\\x07\\u202e subject)" in verdict.output
    assert "a\\x1b[31m\\n.md" in verdict.output
    assert not {"\x1b", "\x07", "\u202e"} & set(verdict.output)


def test_the_contract_is_compared_with_the_same_releases() -> None:
    assert "git describe --tags --abbrev=0 --match 'v[0-9]*'" in (ROOT / "Makefile").read_text()
