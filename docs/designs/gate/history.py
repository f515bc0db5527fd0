"""The repository's history: which commits there are since the base, and the pages at each."""

from __future__ import annotations

__all__ = ("Commit", "Pages", "Repository")

import re
import subprocess
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from gate.finding import GateError
from gate.ledger import LEDGER, Ledger, parse_ledger
from gate.records import Record, parse_record

DESIGNS = "docs/designs"
"""Where ledger and records are, from the top of the repository."""

GATE = f"{DESIGNS}/gate/__main__.py"
"""What the first commit that has a gate added."""


KEPT = f"{DESIGNS}/gate/kept.py"
"""What the first commit added whose gate compares records from end to end."""


@dataclass(frozen=True)
class Pages:
    """Ledger and records at one moment.

    Attributes:
        source: The ledger's text; None: there is no ledger.
        texts: The text of each other page, by its path in the folder.
    """

    source: str | None = None
    texts: dict[str, str] = field(default_factory=dict[str, str])

    @cached_property
    def ledger(self) -> Ledger:
        """The ledger; empty when there is none."""
        return parse_ledger(self.source or "")

    @cached_property
    def records(self) -> dict[str, Record]:
        """The records by their path in the folder."""
        return {path: parse_record(text) for path, text in self.texts.items()}


@dataclass(frozen=True)
class Commit:
    """One step of the history; `id` is "" for what is not committed yet."""

    id: str
    parents: tuple[str, ...]
    message: str

    def __str__(self) -> str:
        subject = self.message.strip().split("\n", 1)[0]
        return f"commit {self.id[:10]} ({subject})" if self.id else "not committed yet"


class Repository:
    """A work tree and its history, read with git."""

    def __init__(self, folder: Path) -> None:
        """Find the repository around `folder`.

        Raises:
            GateError: There is none, or its history is cut off.
        """
        self._folder = folder
        told = self._git("rev-parse", "--show-toplevel", "--is-shallow-repository")
        top, shallow = told.removesuffix("\n").rsplit("\n", 1)
        self.root = self._folder = Path(top)
        self._seen: dict[str, Pages] = {}
        self._trees: dict[str, str] = {}
        if shallow == "true":
            raise GateError(
                "this clone is shallow, so the changes since the last release cannot be seen;"
                " run `git fetch --unshallow --tags`, and in CI check out the whole history"
                " (fetch-depth: 0)"
            )
        if not self._ask("rev-parse", "--verify", "--quiet", "HEAD"):
            raise GateError("there is no commit yet; commit the ledger, then run this again")

    def _run(self, *args: str, data: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        try:
            return subprocess.run(
                ["git", *args], cwd=self._folder, input=data, capture_output=True, check=False
            )
        except FileNotFoundError:
            raise GateError("there is no git on the PATH; install it") from None

    def _git(self, *args: str) -> str:
        done = self._run(*args)
        if done.returncode != 0:
            why = done.stderr.decode("utf-8", "replace").strip()
            raise GateError(f"`git {' '.join(args)}` failed: {why}")
        return done.stdout.decode("utf-8", "surrogateescape")

    def _ask(self, *args: str) -> str:
        """Return what git prints, "" when it fails."""
        done = self._run(*args)
        return done.stdout.decode("utf-8", "replace").strip() if done.returncode == 0 else ""

    def base(self, given: str | None) -> tuple[str, str]:
        """Return the commit to begin after, and what to call it.

        Raises:
            GateError: `given` is no commit, or has no history in common with this one.
        """
        told = ""
        name = given or self._ask("describe", "--tags", "--abbrev=0", "--match", "v[0-9]*")
        if not name and (name := self._first_with(f"{DESIGNS}/{LEDGER}")):
            told = f"{name[:10]}, which added the ledger"
        name = name or "HEAD"
        commit = self._ask(
            "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}"
        )
        if not commit:
            raise GateError(f"there is no commit {name!r} here; fetch it, or name another base")
        common = self._ask("merge-base", commit, "HEAD")
        if not common:
            raise GateError(
                f"{name!r} has no history in common with this branch; name another base"
            )
        return common, told or name

    def _first_with(self, path: str) -> str:
        """Return the commit that added this path first; "": none did."""
        log = self._ask("rev-list", "--topo-order", *self.tips, "--", path).split()
        return log[-1] if log else ""

    @cached_property
    def tips(self) -> tuple[str, ...]:
        """The commits on which what is in the work tree stands: several during a merge."""
        merging = self._folder / self._git("rev-parse", "--git-path", "MERGE_HEAD").strip()
        heads = merging.read_text("ascii").split() if merging.is_file() else []
        return (self._git("rev-parse", "HEAD").strip(), *heads)

    def commits(self, base: str) -> list[Commit]:
        """Return the commits after `base`, parents before children."""
        out = self._git("rev-list", "--topo-order", "--reverse", *self.tips, f"^{base}")
        names = out.split()
        bodies = self._objects(names)
        commits = [_read_commit(name, raw) for name, raw in zip(names, bodies, strict=True)]
        self._find_trees([*names, *(parent for commit in commits for parent in commit.parents)])
        return commits

    def bound(self, base: str) -> set[str]:
        """Return the commits after `base` that were made with the gate there.

        A repository whose history never had a gate is held to it from `base` on.
        """
        since = set(self._git("rev-list", *self.tips, f"^{base}").split())
        gate = self._first_with(GATE)
        if not gate:
            return since
        return since & set(self._git("rev-list", "--ancestry-path", *self.tips, f"^{gate}").split())

    def settled(self, base: str) -> tuple[str, set[str]]:
        """Return the commit since which records are compared end to end, and its past to `base`.

        It is one of that past, which is empty when it is older than `base`, or never was.
        """
        first = self._first_with(KEPT)
        return first, set(self._git("rev-list", first, f"^{base}").split()) if first else set()

    def is_ancestor(self, older: str, newer: str) -> bool:
        """Tell whether `newer` (not `older` itself) has `older` in its history."""
        return older != newer and (
            self._run("merge-base", "--is-ancestor", older, newer).returncode == 0
        )

    def pages(self, commit: str) -> Pages:
        """Return the pages at a commit; those of one tree are read once."""
        if commit not in self._trees:
            self._find_trees([commit])
        tree = self._trees[commit]
        if not tree:
            return Pages()
        if tree not in self._seen:
            entries = self._git("ls-tree", "-r", "-z", "--full-tree", tree).split("\0")
            blobs = dict(_read_entry(entry) for entry in entries if entry.endswith(".md"))
            bodies = self._objects(list(blobs.values()))
            texts = {path: _text(path, raw) for path, raw in zip(blobs, bodies, strict=True)}
            self._seen[tree] = Pages(texts.pop(LEDGER, None), texts)
        return self._seen[tree]

    def _find_trees(self, commits: list[str]) -> None:
        """Look up the folder of ledger and records in all these commits at once."""
        asked = "".join(f"{commit}:{DESIGNS}\n" for commit in commits)
        told = self._run("cat-file", "--batch-check", data=asked.encode()).stdout.decode()
        for commit, line in zip(commits, told.splitlines(), strict=True):
            words = line.split(" ")
            self._trees[commit] = words[0] if words[1:2] == ["tree"] else ""

    def current(self) -> Pages:
        """Return the pages of the work tree, committed or not."""
        folder = self.root / DESIGNS
        texts = {
            path.relative_to(folder).as_posix(): _text(str(path), path.read_bytes())
            for path in sorted(folder.rglob("*.md"))
            if path.is_file()
        }
        return Pages(texts.pop(LEDGER, None), texts)

    def _objects(self, names: list[str]) -> list[bytes]:
        """Return the raw objects of these ids."""
        out = self._run("cat-file", "--batch", data="".join(f"{n}\n" for n in names).encode())
        data, at = out.stdout, 0
        bodies: list[bytes] = []
        for name in names:
            line, _, _ = data[at:].partition(b"\n") if at < len(data) else (b"", b"", b"")
            size = line.split(b" ")[-1]
            if not size.isdigit():
                raise GateError(f"git has no object {name}; run `git fsck`, or clone anew")
            start = at + len(line) + 1
            bodies.append(data[start : start + int(size)])
            at = start + int(size) + 1
        return bodies


def _read_commit(name: str, raw: bytes) -> Commit:
    head, _, message = raw.decode("utf-8", "replace").partition("\n\n")
    parents = re.findall(r"^parent ([0-9a-f]+)$", head, re.MULTILINE)
    return Commit(name, tuple(parents), message)


def _read_entry(entry: str) -> tuple[str, str]:
    """Return path and id of a line of `git ls-tree`."""
    facts, _, path = entry.partition("\t")
    return path, facts.split(" ")[2]


def _text(path: str, raw: bytes) -> str:
    try:
        return raw.decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError:
        raise GateError(f"{path} is no UTF-8; save it as UTF-8") from None
