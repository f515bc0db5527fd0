"""The program of docs/subscribing.md does with a hub what the page says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from commands import compass
from hubs import serving, short_folder
from recordings import DATA

EPOCH = re.compile(r"[0-9a-f]{16}(?=-\d)")
PAGE = Path(__file__).resolve().parents[2] / "docs" / "subscribing.md"


@pytest.mark.requirement("G-CLIENT-3")
def test_the_program_of_the_page_tells_what_the_page_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = EPOCH.sub("EPOCH", PAGE.read_text("utf-8"))
    program = re.search(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert program is not None
    (tmp_path / "follow.py").write_text(program[1], "utf-8")
    with short_folder() as folder:
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
        assert (
            compass("replay", DATA / "pi" / "err-429.jsonl", "--session", "fix-1").returncode == 75
        )
        follow = [sys.executable, "-W", "error", str(tmp_path / "follow.py"), "fix-1"]
        with serving():
            done = subprocess.run(follow, capture_output=True, text=True, check=False, timeout=30)
    assert (done.returncode, done.stderr) == (0, "")
    lines = EPOCH.sub("EPOCH", done.stdout).splitlines()
    assert {"Failure", "StateChange", "Ended"} <= set(lines)
    sample = page.partition("$ python follow.py\n")[2].partition("…\n```")[0].splitlines()
    assert len(sample) > 3
    for shown, line in zip(sample, lines, strict=False):
        assert line.startswith(shown.removesuffix("…")) if shown.endswith("…") else line == shown
