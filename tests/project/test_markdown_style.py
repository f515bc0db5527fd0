"""The style of Markdown that `make lint` asks for, by the command that it runs."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
GOOD = """# Title

Words, and a line that is as long as it needs to be, since no rule asks for a length of lines, \
however far they reach to the right.

- one
- two
  - three

| a | b |
| --- | --- |
| 1 | 2 |

```text
x
```

## More
"""


def lint(folder: Path) -> tuple[int, str]:
    """Run the line of `make lint` that reads documents, over a folder with these settings."""
    makefile = (ROOT / "Makefile").read_text("utf-8")
    line = re.search(r"^\t\$\(BIN\)/rumdl check (.*)$", makefile, re.MULTILINE)
    assert line
    options = [word for word in shlex.split(line[1]) if word.startswith("-")]
    assert "docs" in shlex.split(line[1])
    shutil.copy(ROOT / "pyproject.toml", folder)
    rumdl = Path(sys.executable).parent / "rumdl"
    done = subprocess.run(
        [rumdl, "check", *options, "."], cwd=folder, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout + done.stderr


def test_a_page_in_style_passes(tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text(GOOD, "utf-8")
    assert lint(tmp_path) == (0, "")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["page.md", "pyproject.toml"]


@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [
        ("- one\n- two\n", "* one\n* two\n", "MD004"),
        ("  - three", "  + three", "MD004"),
        ("# Title\n\n", "# Title\n", "MD022"),
        ("```\n\n## More", "```\n\nend\n## More", "MD022"),
        ("right.\n\n", "right.\n\nend\n", "MD032"),
        ("|\n\n```text", "|\n\nend\n```text", "MD031"),
        ("```\n\n## More", "```\nend\n\n## More", "MD031"),
        ("```text", "```", "MD040"),
        ("| 1 | 2 |", "| 1 | 2", "MD055"),
        ("| 1 | 2 |", "1 | 2 |", "MD055"),
        ("| a | b |\n| --- | --- |\n| 1 | 2 |", "a | b\n--- | ---\n1 | 2", "MD055"),
        ("three\n\n| a", "three\n\nend\n| a", "MD058"),
    ],
)
def test_a_page_out_of_style_is_refused(tmp_path: Path, old: str, new: str, rule: str) -> None:
    assert GOOD.count(old) == 1
    (tmp_path / "page.md").write_text(GOOD.replace(old, new), "utf-8")
    code, told = lint(tmp_path)
    assert code == 1
    assert set(re.findall(r"\[(MD\d+)\]", told)) == {rule}, told
