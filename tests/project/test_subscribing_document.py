"""The program of docs/subscribing.md does with a hub what the page says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from compass_agent import open_session
from hubs import serving, short_folder

PAGE = Path(__file__).resolve().parents[2] / "docs" / "subscribing.md"


@pytest.mark.requirement("G-CLIENT-3")
def test_the_program_of_the_page_tells_the_failure_and_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = re.search(
        r"^```python\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    assert program is not None
    (tmp_path / "follow.py").write_text(program[1], "utf-8")
    with short_folder() as folder:
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
        failed = {"role": "assistant", "stopReason": "error", "errorMessage": "Overloaded"}
        with open_session("fix-1") as session:
            session.feed({"type": "agent_start"})
            session.feed({"type": "message_end", "message": {**failed, "errorStatus": 529}})
        follow = [sys.executable, "-W", "error", str(tmp_path / "follow.py"), "fix-1"]
        with serving():
            done = subprocess.run(follow, capture_output=True, text=True, check=False, timeout=30)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == "ERROR 529 Overloaded"
    assert re.fullmatch(r"ended at [0-9a-f]{16}-[1-9]\d*", lines[1])
    assert {"Failure", "StateChange", "Ended"} <= set(lines[2:])
