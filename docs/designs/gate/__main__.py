"""Runs the gate: `make ledger`, or `PYTHONPATH=docs/designs python -m gate [--base COMMIT]`.

Exit status 0: all rules hold. 1: some do not, one finding each. 2: it could not look.
"""

from __future__ import annotations

__all__ = ("main",)

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from gate.commits import TRAILER, check_step, is_spelling, rows_added
from gate.finding import GateError, visible
from gate.history import Commit, Repository
from gate.kept import follow, state_of
from gate.rows import check_rows, check_texts
from gate.standing import check_standing

if TYPE_CHECKING:
    from collections.abc import Sized

    from gate.finding import Finding


def main() -> int:
    """Check the repository around the working directory; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="gate", description="Hold the decision ledger to its rules."
    )
    parser.add_argument(
        "--base", help="look at the changes since this commit, not the last release"
    )
    arguments = parser.parse_args()
    try:
        findings, summary = _check(Repository(Path.cwd()), arguments.base)
    except GateError as error:
        print(f"ledger: cannot check: {_lines(error)}", file=sys.stderr)
        return 2
    for finding in findings:
        print(finding, end="\n\n", file=sys.stderr)
    print(f"ledger: {_lines(summary)}")
    return 1 if findings else 0


def _check(repository: Repository, given: str | None) -> tuple[list[Finding], str]:
    base, told = repository.base(given)
    commits = repository.commits(base)
    bound = repository.bound(base)
    now = repository.current()
    findings = check_standing(now, repository.root)
    spelling = {commit.id for commit in commits if is_spelling(commit, bound=commit.id in bound)}
    kept = follow(repository, base, commits, spelling)
    tips = [repository.pages(tip) for tip in repository.tips]
    standing = state_of(now, kept[""], tips)
    findings += check_rows(repository, base, commits, standing, now)
    for commit in commits:
        if commit.id in bound:
            parents = [repository.pages(parent) for parent in commit.parents]
            pages = repository.pages(commit.id)
            findings += check_step(commit, parents, pages, kept[commit.id], now)
    findings += check_step(Commit("", repository.tips, ""), tips, now, kept[""], now)
    findings += check_texts(standing, now, findings)
    summary = f"{_count(now.ledger.rows, 'decision')}, {_count(commits, 'commit')} since {told}: "
    summary += _count(findings, "finding") if findings else "all rules hold"
    if pending := rows_added(tips, now):
        names = ", ".join(row.name for row in pending)
        summary += f"\nledger: when you commit, the message needs the line `{TRAILER}: {names}`"
    return findings, summary


def _lines(told: object) -> str:
    return "\n".join(visible(line) for line in str(told).split("\n"))


def _count(things: Sized, name: str) -> str:
    return f"{len(things)} {name}{'s' if len(things) != 1 else ''}"


if __name__ == "__main__":
    sys.exit(main())
