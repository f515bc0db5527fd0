"""Small git repositories with a ledger, records and the gate, for tests of the gate."""

from __future__ import annotations

__all__ = ("GATE", "Repo", "gate_command", "ledger", "make_repo", "note", "record", "row")

import os
import shlex
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
DESIGNS = "docs/designs"
GATE = "docs/designs/gate"

_HEAD = """# Decisions

- 3 and 4 belong to others and stay unused.
- The next free number is {free}.
"""
_TABLE = """
## {section}

| ID | Decision | Status | Record |
| --- | --- | --- | --- |
"""
_RECORD = """# {title}

Status: {status}
{notes}
## Problem

Something must be chosen, among them {names}.

## Constraints

## Choice

### What it is ({first})

## Alternatives

## Cost
"""
_ENV = {
    "GIT_AUTHOR_NAME": "A",
    "GIT_AUTHOR_EMAIL": "a@localhost",
    "GIT_COMMITTER_NAME": "A",
    "GIT_COMMITTER_EMAIL": "a@localhost",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_MERGE_AUTOEDIT": "no",
    "GIT_TEMPLATE_DIR": "",
}


def row(
    number: int,
    decision: str = "",
    status: str = "Active (A, 2026-01-02)",
    link: str = "",
) -> str:
    """Return a row; without a link it leads into the record of the first decisions."""
    told = decision or f"Decision {number} holds."
    return f"| DL-{number} | {told} | {status} | [why]({link or 'one.md'}) |"


def ledger(*rows: str, free: int = 6, head: str = _HEAD, section: str = "All") -> str:
    """Return a ledger with the rows 1 and 2, then these."""
    first = [row(1, link="one.md#what-it-is-dl-1"), row(2)]
    lines = [*first, *rows]
    return head.format(free=free) + _TABLE.format(section=section) + "\n".join(lines) + "\n"


def note(day: str = "2026-02-03", text: str = "a later fact.") -> str:
    """Return a dated note for the top of a record."""
    return f"> {day}: {text}\n> It goes on.\n"


def record(*names: str, status: str = "Active", notes: str = "", title: str = "Reasons") -> str:
    """Return a record that argues these decisions, such as `DL-1`."""
    between = f"\n{notes}" if notes else ""
    told = ", ".join(names)
    return _RECORD.format(title=title, status=status, notes=between, names=told, first=names[0])


class Verdict(NamedTuple):
    """What the gate said: the exit status, one text per finding, and all of it."""

    code: int
    findings: list[str]
    output: str


@cache
def gate_command(*arguments: str) -> str:
    """Return the shell command that `make ledger` runs, with this Python."""
    done = subprocess.run(
        [
            "make", "--no-print-directory", "--dry-run", "--old-file=none/dev.stamp", "ledger",
            "VENV=none", f"BIN={shlex.quote(str(Path(sys.executable).parent))}", *arguments,
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )  # fmt: skip
    return done.stdout.strip()


class Repo:
    """A repository in a folder of its own.

    `main` begins with a ledger of decisions 1, 2 and 5 (3 and 4 are reserved), the records `one.md`
    and `five.md`, and the gate, all in one commit.
    """

    def __init__(self, folder: Path) -> None:
        """Take a folder that is a work tree already, or becomes one."""
        self.folder = folder

    def git(self, *arguments: str, stdin: str = "") -> str:
        """Run git, and return what it prints, without the last line's end."""
        done = subprocess.run(
            ["git", *arguments],
            cwd=self.folder,
            env=self.environment(),
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout.rstrip("\n")

    def environment(self) -> dict[str, str]:
        """Return an environment in which nobody's own settings of git count."""
        inherited = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        return inherited | _ENV

    def write(self, path: str, text: str) -> None:
        """Write a page of the folder of records, or, with a leading `/`, any file."""
        target = self.folder / (path[1:] if path.startswith("/") else f"{DESIGNS}/{path}")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, "utf-8")

    def read(self, path: str) -> str:
        """Return the text of a page of the folder of records."""
        return (self.folder / DESIGNS / path).read_text("utf-8")

    def replace(self, path: str, old: str, new: str) -> None:
        """Change one place of a page."""
        text = self.read(path)
        assert text.count(old) == 1, f"{old!r} is {text.count(old)} times in {path}"
        self.write(path, text.replace(old, new))

    def remove(self, path: str) -> None:
        """Remove a page of the folder of records."""
        (self.folder / DESIGNS / path).unlink()

    def commit(self, message: str = "Change something") -> str:
        """Commit all that there is, and return the commit's id."""
        self.git("add", "--all")
        self.git(
            "commit", "--quiet", "--allow-empty", "--cleanup=verbatim", "--file=-", stdin=message
        )
        return self.git("rev-parse", "HEAD")

    def branch(self, name: str, at: str = "HEAD") -> None:
        """Make a branch and go there."""
        self.git("checkout", "--quiet", "-b", name, at)

    def go(self, name: str) -> None:
        """Go to a branch or commit."""
        self.git("checkout", "--quiet", name)

    def merge(self, name: str, message: str = "Merge it", *options: str) -> None:
        """Merge a branch with a commit of its own."""
        self.git("merge", "--quiet", "--no-ff", "-m", message, *options, name)

    def gate(self, *arguments: str, command: str = "", **environment: str) -> Verdict:
        """Run the gate here as `make check` does."""
        done = subprocess.run(
            ["bash", "-c", f"{command or gate_command()} {shlex.join(arguments)}"],
            cwd=self.folder,
            env=self.environment() | environment,
            capture_output=True,
            text=True,
            check=False,
        )
        findings = [part for part in done.stderr.split("\n\n") if part.strip()]
        return Verdict(done.returncode, findings, done.stdout + done.stderr)

    def passes(self, *arguments: str) -> str:
        """Require that the gate finds nothing; return what it says."""
        verdict = self.gate(*arguments)
        assert verdict.code == 0, verdict.output
        assert verdict.findings == []
        return verdict.output

    def refuses(self, *words: str) -> None:
        """Require one finding with these words, and that it says what to do."""
        verdict = self.gate()
        assert verdict.code == 1, verdict.output
        assert len(verdict.findings) == 1, verdict.output
        for word in (*words, "\n    to do: "):
            assert word in verdict.findings[0], verdict.findings[0]


def make_repo(folder: Path, *, with_gate: bool = True) -> Repo:
    """Make a repository as `Repo` says; without the gate, its history never had one."""
    folder.mkdir(parents=True, exist_ok=True)
    repo = Repo(folder)
    repo.git("init", "--quiet", "--initial-branch=main")
    repo.write("/.gitignore", "__pycache__/\n")
    repo.write("DECISIONS.md", ledger(row(5, link="five.md")))
    repo.write("one.md", record("DL-1", "DL-2"))
    repo.write("five.md", record("DL-5"))
    shutil.copytree(ROOT / GATE, folder / GATE)
    if not with_gate:
        repo.write("/.gitignore", f"__pycache__/\n{GATE}/\n")
    repo.commit("Begin the ledger, and hold it")
    return repo
