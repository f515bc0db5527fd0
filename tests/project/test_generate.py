"""gen/ is what proto/ makes, the check notices when it is not, and buf guards the contract."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUF = Path(sys.executable).parent / "buf"
PROTO = "proto/compass/v1/compass.proto"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of the contract and of what is made from it."""
    root = tmp_path / "tree"
    for name in ("proto", "gen"):
        shutil.copytree(
            ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__", "*.pyc")
        )
    shutil.copy(ROOT / "buf.yaml", root / "buf.yaml")
    return root


def generate(tree: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run the generator on `tree`, from a folder whose settings must not matter."""
    elsewhere = tree.parent / "elsewhere"
    elsewhere.mkdir(exist_ok=True)
    (elsewhere / "ruff.toml").write_text("line-length = 40\n", "utf-8")
    command = [sys.executable, str(ROOT / "proto/generate.py"), "--root", str(tree), *options]
    return subprocess.run(command, cwd=elsewhere, capture_output=True, text=True, check=False)


def edit(path: Path, old: str, new: str) -> None:
    """Replace the one `old` in the file by `new`."""
    text = path.read_text("utf-8")
    assert text.count(old) == 1, old
    path.write_text(text.replace(old, new), "utf-8")


def test_a_fresh_copy_is_current(tree: Path) -> None:
    done = generate(tree, "--check")
    assert done.returncode == 0, done.stderr
    assert "gen/ is current" in done.stdout


def edit_by_hand(tree: Path) -> None:
    edit(tree / "gen/compass_subscriber/v1/__init__.py", '_VERSION = "0.10.1"', '_VERSION = "0"')


def remove_a_file(tree: Path) -> None:
    (tree / "gen/compass/v1/compass_pb2.pyi").unlink()


def add_a_file(tree: Path) -> None:
    (tree / "gen/compass/v1/more.py").write_text("", "utf-8")


def change_the_proto(tree: Path) -> None:
    edit(
        tree / PROTO,
        "string stopped_by = 19;",
        "string stopped_by = 19;\n  // New.\n  bool x = 20;",
    )


@pytest.mark.parametrize(
    "changes",
    [
        {
            edit_by_hand: "gen/compass_subscriber/v1/__init__.py differs",
            remove_a_file: "gen/compass/v1/compass_pb2.pyi is missing",
            add_a_file: "gen/compass/v1/more.py is extra",
        },
        {change_the_proto: "gen/compass/v1/compass_pb2.py differs"},
    ],
    ids=["gen", "proto"],
)
def test_a_stale_tree_is_noticed_and_told_and_not_touched(
    tree: Path, changes: dict[Callable[[Path], None], str]
) -> None:
    for change in changes:
        change(tree)
    before = {path: path.read_bytes() for path in tree.rglob("*") if path.is_file()}
    done = generate(tree, "--check")
    assert done.returncode == 1
    for told in changes.values():
        assert told in done.stderr
    assert "make proto-gen" in done.stderr
    assert {path: path.read_bytes() for path in tree.rglob("*") if path.is_file()} == before


@pytest.mark.slow
def test_generating_mends_a_stale_tree(tree: Path) -> None:
    before = {path: path.read_bytes() for path in tree.rglob("*") if path.is_file()}
    edit_by_hand(tree)
    remove_a_file(tree)
    add_a_file(tree)
    done = generate(tree)
    assert done.returncode == 0, done.stderr
    assert {path: path.read_bytes() for path in tree.rglob("*") if path.is_file()} == before


def test_a_proto_with_a_mistake_is_a_plain_message(tree: Path) -> None:
    edit(tree / PROTO, "string stopped_by = 19;", "text stopped_by = 19;")
    done = generate(tree, "--check")
    assert done.returncode == 2
    assert '"text" is not defined' in done.stderr
    assert "Traceback" not in done.stderr


def buf(tree: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run buf in `tree`."""
    return subprocess.run([BUF, *arguments], cwd=tree, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("arguments", [("format", "--diff", "--exit-code", "proto"), ("lint",)])
def test_buf_has_nothing_to_say_about_the_contract(tree: Path, arguments: tuple[str, ...]) -> None:
    done = buf(tree, *arguments)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("line", ["  bool no_comment = 20;", "  // Case.\n  bool camelCase = 20;"])
def test_buf_lint_is_armed(tree: Path, line: str) -> None:
    edit(tree / PROTO, "  string stopped_by = 19;", f"  string stopped_by = 19;\n{line}")
    assert buf(tree, "lint").returncode == 100


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("string stopped_by = 19;", "string stopped_by = 20;", 'field "19"'),
        ("optional int32 status = 3;", "int32 status = 3;", "cardinality"),
        ("string stopped_by = 19;", "bytes stopped_by = 19;", "changed type"),
        ("string stopped_by = 19;", "string stopped = 19;", "changed name"),
        ("SessionPrompt prompt = 16;", "", 'field "16"'),
        ("AGENT_TOOL_CALL_STATUS_INTERRUPTED = 16;", "AGENT_TOOL_CALL_STATUS_CUT = 16;", "name"),
    ],
)
def test_buf_breaking_catches_what_would_break_a_reader(
    tree: Path, old: str, new: str, told: str
) -> None:
    original = tree.parent / "original"
    shutil.copytree(tree, original)
    assert buf(tree, "breaking", ".", "--against", str(original)).returncode == 0
    edit(tree / PROTO, old, new)
    done = buf(tree, "breaking", ".", "--against", str(original))
    assert done.returncode == 100, done.stderr
    assert told in done.stdout


def test_buf_breaking_lets_a_message_grow(tree: Path) -> None:
    original = tree.parent / "original"
    shutil.copytree(tree, original)
    edit(tree / PROTO, "  string stopped_by = 19;", "  string stopped_by = 19;\n  bool more = 20;")
    assert buf(tree, "breaking", ".", "--against", str(original)).returncode == 0
