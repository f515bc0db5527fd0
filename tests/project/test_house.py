"""House rules that no linter checks: sizes, names, places, and hosts that must not be named."""

from __future__ import annotations

import ast
import re
from collections import Counter
from fnmatch import fnmatch
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PYTHON = sorted(
    path for top in ("src", "tests", "proto", "docs") for path in (ROOT / top).rglob("*.py")
)
NAMES = [path.relative_to(ROOT).as_posix() for path in PYTHON]
LONGEST = 400

# A new entry at the top needs a reason in docs/designs/DECISIONS.md.
TOP_LEVEL = {
    ".ci",
    ".gitignore",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "LICENSE",
    "Makefile",
    "README.md",
    "buf.yaml",
    "docs",
    "gen",
    "proto",
    "pyproject.toml",
    "requirements-dev.txt",
    "requirements-run.txt",
    "src",
    "tests",
}

# Split, so that this file does not name what it looks for.
REGISTRIES = [
    "pypi" + ".org",
    "pythonhosted" + ".org",
    "registry" + ".npmjs",
    "/simple" + "/",
    "--index" + "-url",
    "--extra-index" + "-url",
    "--trusted" + "-host",
    "--find" + "-links",
]
PRIVATE_PLACES = ["shared" + "/", "/work" + "/", "/root" + "/"]
JUNK_DRAWERS = {"utils", "util", "common", "helpers", "helper", "base", "misc", "shared"}


def texts(*tops: str) -> dict[str, str]:
    """Return the text files under these entries by their path; recordings and gen/ apart."""
    found: dict[str, str] = {}
    for top in tops:
        start = ROOT / top
        paths = sorted(start.rglob("*")) if start.is_dir() else [start]
        for path in paths:
            if not path.is_file() or "__pycache__" in path.parts:
                continue
            name = path.relative_to(ROOT).as_posix()
            if name.startswith(("tests/data/", "gen/")):
                continue
            try:
                found[name] = path.read_text("utf-8")
            except UnicodeDecodeError:
                continue
    return found


def places(words: list[str], *tops: str) -> list[str]:
    """Return every line under `tops` that holds one of `words`."""
    return [
        f"{name}:{number}: {word}"
        for name, text in texts(*tops).items()
        for number, line in enumerate(text.splitlines(), 1)
        for word in words
        if word in line
    ]


def test_the_checks_below_see_the_files() -> None:
    assert "src/compass_agent/__init__.py" in NAMES
    assert Path(__file__).relative_to(ROOT).as_posix() in texts("tests")


def test_no_file_is_longer_than_four_hundred_lines() -> None:
    lines = {
        name: path.read_text("utf-8").count("\n")
        for name, path in zip(NAMES, PYTHON, strict=True)
        if not name.startswith(("tests/data/", "tests/wire/golden/"))
    }
    assert {name: count for name, count in lines.items() if count > LONGEST} == {}


def test_nothing_names_a_package_registry_or_an_index() -> None:
    assert places(REGISTRIES, *(TOP_LEVEL - {"gen", "LICENSE"})) == []


def test_locked_requirements_are_names_versions_and_hashes_alone() -> None:
    line = re.compile(r"[a-z0-9._-]+==\S+( ; .+)? \\|    --hash=sha256:[0-9a-f]{64}( \\)?")
    names = ["requirements-run.txt", "requirements-dev.txt"]
    names += texts("tests/agents/requirements")
    for name in names:
        odd = [one for one in texts(name)[name].splitlines() if not line.fullmatch(one)]
        assert odd == [], name


def test_nothing_names_a_place_that_only_its_makers_had() -> None:
    assert places(PRIVATE_PLACES, *(TOP_LEVEL - {"gen"})) == []


def test_the_top_level_holds_what_is_agreed() -> None:
    ignored = [line.rstrip("/") for line in texts(".gitignore")[".gitignore"].split()]
    found = {
        path.name
        for path in ROOT.iterdir()
        if path.name != ".git" and not any(fnmatch(path.name, pattern) for pattern in ignored)
    }
    assert found == TOP_LEVEL


@pytest.mark.parametrize("top", ["src", "tests"])
def test_no_module_is_a_junk_drawer(top: str) -> None:
    parts = {part for path in (ROOT / top).rglob("*.py") for part in path.with_suffix("").parts}
    assert parts & JUNK_DRAWERS == set()


def test_test_files_have_names_of_their_own() -> None:
    names = Counter(path.name for path in (ROOT / "tests").rglob("test_*.py"))
    assert [name for name, count in names.items() if count > 1] == []


@pytest.mark.parametrize("name", NAMES)
def test_an_ignore_carries_its_reason(name: str) -> None:
    marker = re.compile(r"#\s*(noqa|ruff: noqa|type: ignore|pyright: ignore|pragma)\b(.*)")
    bare = [
        line.strip()
        for line in (ROOT / name).read_text("utf-8").splitlines()
        if (found := marker.search(line)) and not re.search(r"\S+ - \S|# \w", found[2])
    ]
    assert bare == []


@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith("tests/")])
def test_a_test_never_sleeps(name: str) -> None:
    tree = ast.parse((ROOT / name).read_text("utf-8"))
    calls = {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    assert calls & {"time.sleep", "anyio.sleep", "asyncio.sleep", "trio.sleep", "sleep"} == set()
