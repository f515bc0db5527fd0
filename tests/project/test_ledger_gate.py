"""The gate as a command: where it begins, where it cannot look, and what it is part of."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from gate.history import KEPT
from ledgers import GATE, ROOT, Repo, gate_command, ledger, make_repo, record, row

FIVE = row(5, link="five.md")


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_repo(tmp_path / "repo")


def cannot_look(repo: Repo, *words: str, command: str = "") -> None:
    """Require that the gate says why it cannot look, and shows no trace."""
    verdict = repo.gate(command=command)
    assert verdict.code == 2, verdict.output
    for word in ("ledger: cannot check: ", *words):
        assert word in verdict.output
    assert "Traceback" not in verdict.output


def break_a_rule(repo: Repo) -> str:
    """Commit a change to a record without the ledger."""
    repo.replace("five.md", "Something must", "Nothing must")
    return repo.commit("Break a rule")


def test_make_check_runs_the_gate_and_ci_runs_make_check() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    check = re.search(r"^check:(.*?)##", makefile, re.MULTILINE)
    assert check
    assert "ledger" in check[1].split()
    assert "\nmake check\n" in (ROOT / ".ci/run").read_text("utf-8")
    assert "-m gate" in gate_command()


def test_it_begins_at_the_commit_that_added_the_ledger(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo")
    first = repo.git("rev-parse", "HEAD")
    repo.write("/other.txt", "1\n")
    repo.commit()
    assert f"1 commit since {first[:10]}, which added the ledger" in repo.passes()


@pytest.mark.parametrize("options", [["v1.2.0"], ["--annotate", "--message=Release", "v1.2.0"]])
def test_it_begins_at_the_last_release(repo: Repo, options: list[str]) -> None:
    repo.git("tag", "v1.0.0")
    break_a_rule(repo)
    repo.refuses("(Break a rule)")
    repo.git("tag", *options)
    repo.write("/other.txt", "1\n")
    repo.commit()
    repo.git("tag", "other-2.0")
    assert "1 commit since v1.2.0: all rules hold" in repo.passes()


def test_it_begins_at_the_base_that_is_given(repo: Repo) -> None:
    broken = break_a_rule(repo)
    assert "0 commits since HEAD" in repo.passes("--base", "HEAD")
    assert repo.gate("--base", f"{broken}~1").code == 1
    command = gate_command(f"BASE={broken}")
    assert repo.gate(command=command).code == 0
    repo.git("branch", "a/b")
    assert "since a/b: all rules hold" in repo.passes("--base", "a/b")


def test_a_base_on_another_branch_means_where_the_two_parted(repo: Repo) -> None:
    repo.branch("topic")
    repo.write("/other.txt", "1\n")
    repo.commit()
    repo.go("main")
    repo.write("DECISIONS.md", ledger(FIVE, row(6, link="six.md"), free=7))
    repo.write("six.md", record("DL-6"))
    repo.commit("Decide it\n\nLedger-impact: DL-6")
    repo.go("topic")
    assert "1 commit since main" in repo.passes("--base", "main")


@pytest.mark.parametrize("base", ["nowhere", "--help-me", "HEAD:docs"])
def test_a_base_that_is_no_commit_is_told(repo: Repo, base: str) -> None:
    verdict = repo.gate(f"--base={base}")
    assert verdict.code == 2
    assert f"there is no commit '{base}' here" in verdict.output


def test_a_base_without_a_common_history_is_told(repo: Repo) -> None:
    repo.git("checkout", "--quiet", "--orphan", "other")
    repo.commit("Begin anew")
    repo.go("main")
    verdict = repo.gate("--base", "other")
    assert verdict.code == 2
    assert "'other' has no history in common with this branch" in verdict.output


def test_a_shallow_clone_is_told_what_to_fetch(repo: Repo, tmp_path: Path) -> None:
    repo.write("/other.txt", "1\n")
    repo.commit()
    url = repo.folder.as_uri()
    repo.git("clone", "--quiet", "--depth=1", url, str(tmp_path / "clone"))
    clone = Repo(tmp_path / "clone")
    cannot_look(clone, "this clone is shallow", "git fetch --unshallow --tags", "fetch-depth: 0")
    clone.git("fetch", "--quiet", "--unshallow", "--tags")
    clone.passes()


def test_a_folder_that_is_no_repository_is_told(tmp_path: Path) -> None:
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    cannot_look(Repo(tmp_path), "not a git repository")


def test_a_repository_without_a_commit_is_told(tmp_path: Path) -> None:
    repo = Repo(tmp_path)
    repo.git("init", "--quiet")
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    cannot_look(repo, "there is no commit yet")


def test_a_machine_without_git_is_told(repo: Repo, tmp_path: Path) -> None:
    cannot_look(repo, "no git on the PATH", command=f"PATH={tmp_path} {gate_command()}")


def test_a_page_that_is_no_utf8_is_told(repo: Repo) -> None:
    (repo.folder / "docs/designs/five.md").write_bytes(b"# \xff\n")
    cannot_look(repo, "five.md is no UTF-8")


def test_a_path_with_spaces_is_like_any_other(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "a folder ümlaut")
    repo.write("DECISIONS.md", ledger(FIVE, row(6, link="the%20six.md#cost"), free=7))
    repo.write("the six.md", record("DL-6"))
    repo.commit("Decide it\n\nLedger-impact: DL-6")
    repo.passes()
    repo.write("DECISIONS.md", ledger(FIVE, row(6, link="<the six.md#cost>"), free=7))
    repo.commit("Write the link otherwise")
    repo.passes()
    repo.replace("the six.md", "Something must", "Nothing must")
    repo.commit("Break a rule")
    repo.refuses("touches the record the six.md, but not the ledger")


def test_it_runs_from_a_folder_within_the_repository(repo: Repo) -> None:
    command = gate_command().replace("PYTHONPATH=docs/designs", "cd docs; PYTHONPATH=designs")
    assert repo.gate(command=command).code == 0


def test_it_runs_in_a_second_work_tree(repo: Repo, tmp_path: Path) -> None:
    repo.git("worktree", "add", "--quiet", "-b", "topic", str(tmp_path / "tree"))
    Repo(tmp_path / "tree").passes()


def test_it_runs_in_a_hook(repo: Repo) -> None:
    hook = repo.folder / ".git/hooks/pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\n{gate_command()} 2>told\n", "utf-8")
    hook.chmod(0o755)
    repo.write("/other.txt", "1\n")
    repo.commit()
    repo.replace("five.md", "Something must", "Nothing must")
    with pytest.raises(AssertionError, match="1 finding"):
        repo.commit()
    assert "not committed yet: touches the record" in (repo.folder / "told").read_text("utf-8")


def test_settings_of_git_change_nothing(repo: Repo, tmp_path: Path) -> None:
    settings = tmp_path / "gitconfig"
    settings.write_text(
        "[color]\n\tui = always\n[log]\n\tshowSignature = true\n\tfollow = true\n"
        "[core]\n\tquotePath = true\n\tpager = false\n[i18n]\n\tlogOutputEncoding = latin1\n",
        "utf-8",
    )
    repo.write("DECISIONS.md", ledger(FIVE, row(6, link="ümlaut.md"), free=7))
    repo.write("ümlaut.md", record("DL-6"))
    repo.commit("Décide it\n\nLedger-impact: DL-6")
    repo.replace("ümlaut.md", "Something must", "Nothing must")
    repo.commit("Bréak a rule")
    verdict = repo.gate(GIT_CONFIG_GLOBAL=str(settings))
    assert len(verdict.findings) == 1
    assert "(Bréak a rule): touches the record ümlaut.md" in verdict.findings[0]


def test_line_ends_of_another_system_change_nothing(repo: Repo) -> None:
    for name in ("DECISIONS.md", "one.md", "five.md"):
        path = repo.folder / "docs/designs" / name
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    repo.passes()


def test_many_commits_cost_no_more_processes_than_a_few(repo: Repo, tmp_path: Path) -> None:
    commands: list[str] = []
    for number in range(300):
        mark = f"committer A <a@localhost> {1700000000 + number} +0000\ndata 1\nx"
        source = "from refs/heads/main^0\n" if not number else ""
        body = f"M 100644 inline other.txt\ndata {len(str(number))}\n{number}\n"
        commands.append(f"commit refs/heads/main\n{mark}\n{source}{body}\n")
    repo.git("fast-import", "--quiet", stdin="".join(commands))
    repo.git("reset", "--quiet", "--hard")
    log = tmp_path / "log"
    (tmp_path / "bin").mkdir()
    git = tmp_path / "bin/git"
    git.write_text(f'#!/bin/sh\necho "$@" >> {log}\nPATH=${{PATH#*:}} exec git "$@"\n', "utf-8")
    git.chmod(0o755)
    verdict = repo.gate(PATH=f"{git.parent}:{os.environ['PATH']}")
    assert "300 commits since" in verdict.output
    assert verdict.code == 0
    assert len(log.read_text("utf-8").splitlines()) < 30


def test_the_gate_is_at_home_where_its_history_looks_for_it() -> None:
    assert (ROOT / GATE / "__main__.py").is_file()
    assert (ROOT / KEPT).is_file()
    done = subprocess.run(
        ["bash", "-c", gate_command() + " --help"], cwd=ROOT, capture_output=True, check=False
    )
    assert done.returncode == 0
    assert b"--base" in done.stdout
