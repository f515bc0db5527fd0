"""No promise without a test, no mark without a promise; read from the sources, without running."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

from requirements import NOT_YET, REQUIREMENTS

ROOT = Path(__file__).resolve().parents[2]
PROMISE = re.compile(r"^\*\*(?P<id>G-[A-Z]+-\d+)\. (?P<sentence>.+?)\.?\*\*", re.MULTILINE)
MARK = "pytest.mark.requirement"


def marks(path: Path) -> dict[str, list[str]]:
    """Return the marked ids of one file, each with the names of its tests; "" is the whole file."""
    found: dict[str, list[str]] = defaultdict(list)
    tree = ast.parse(path.read_text("utf-8"))
    on_test = {
        id(decorator): node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        for decorator in node.decorator_list
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == MARK:
            assert not node.keywords, path
            for argument in node.args:
                assert isinstance(argument, ast.Constant), f"{path}: an id is a plain text"
                found[str(argument.value)].append(on_test.get(id(node), ""))
    return found


def files_of_tests() -> list[Path]:
    return sorted((ROOT / "tests").rglob("test_*.py"))


@cache
def marked() -> dict[str, list[str]]:
    """Return every marked id with the places of its marks."""
    found: dict[str, list[str]] = defaultdict(list)
    for path in files_of_tests():
        for name, tests in marks(path).items():
            place = path.relative_to(ROOT).as_posix()
            found[name] += [f"{place}::{test}" for test in tests]
    return found


def test_every_promise_has_a_test_and_every_mark_a_promise() -> None:
    found = marked()
    assert sorted(set(REQUIREMENTS) - set(found)) == [], "promised, and proved by no test"
    unknown = {name: places for name, places in found.items() if name not in REQUIREMENTS}
    assert unknown == {}, "marked, and promised nowhere"


def test_the_document_and_the_list_hold_the_same_promises() -> None:
    text = (ROOT / "docs/guarantees.md").read_text("utf-8")
    told = [(found["id"], found["sentence"]) for found in PROMISE.finditer(text)]
    assert len(dict(told)) == len(told), "an id stands twice"
    listed = {name: promise.sentence for name, promise in REQUIREMENTS.items()}
    assert dict(told) == listed


def test_a_mark_stands_on_a_test() -> None:
    for name, places in marked().items():
        for place in places:
            _, _, test = place.partition("::")
            assert test == "" or test.lower().startswith("test"), f"{name}: {place}"


def test_every_rule_of_delivery_is_promised_or_known_to_be_missing() -> None:
    rules = {rule for promise in REQUIREMENTS.values() for rule in promise.rules}
    assert rules | set(NOT_YET) == set(range(1, 26))
    assert rules & set(NOT_YET) == set()


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ('@pytest.mark.requirement("A", "B")\ndef test_x(): 0', {"A": ["test_x"], "B": ["test_x"]}),
        ('pytestmark = pytest.mark.requirement("A")', {"A": [""]}),
        ('pytestmark = [pytest.mark.requirement("A"), pytest.mark.slow]', {"A": [""]}),
        ("@pytest.mark.slow\nasync def test_x(): ...", {}),
    ],
)  # fmt: skip
def test_marks_are_found_wherever_they_may_stand(
    source: str, found: dict[str, list[str]], tmp_path: Path
) -> None:
    path = tmp_path / "test_it.py"
    path.write_text(source, "utf-8")
    assert marks(path) == found
