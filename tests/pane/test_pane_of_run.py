"""`compass run --pane`: the page of a session while its command runs, and its last word."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

from playwright.sync_api import expect

from commands import COMPASS, compass

if TYPE_CHECKING:
    from pathlib import Path

    from browsing import Tabs

WAITS = """
import sys
print("it works", flush=True)
sys.stdin.readline()
print("and ends", flush=True)
sys.exit(3)
"""


def test_the_page_of_a_run_is_live_and_told_the_end(tabs: Tabs, tmp_path: Path) -> None:
    url = f"sqlite:{tmp_path / 'log.db'}"
    command = [COMPASS, "run", "--pane", "--session", "s1", "--log", url, "--format", "text"]
    with subprocess.Popen(
        [*command, "--", sys.executable, "-c", WAITS],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        lines = iter(process.stderr.readline, "")
        address = next(line for line in lines if "its page: " in line).split("its page: ")[1]
        page = tabs.open(address.strip())
        expect(page.locator(".k-notice").first).to_contain_text("it works")
        expect(page.locator(".conn")).to_have_text("● Live")
        process.communicate("go\n", timeout=30)
    expect(page.locator(".conn")).to_have_text("□ Ended")
    expect(page.get_by_text("and ends", exact=True)).to_be_visible()
    expect(page.locator(".card.error")).to_contain_text("exit")
    assert process.returncode == 3


def test_a_run_that_nobody_looks_at_ends_at_once(tmp_path: Path) -> None:
    url = f"sqlite:{tmp_path / 'log.db'}"
    done = compass("run", "--pane", "--session", "s1", "--log", url, "--", "true")
    assert done.returncode == 0
    assert "its page: http://127.0.0.1:" in done.stderr
    assert "/s/s1#t=" in done.stderr


def test_a_log_that_cannot_be_opened_costs_the_page_and_not_the_command(tmp_path: Path) -> None:
    folder = tmp_path / "a folder.db"
    folder.mkdir()
    done = compass("run", "--pane", "--log", f"sqlite:{folder}", "--", "sh", "-c", "exit 7")
    assert done.returncode == 7
    assert "there is no page" in done.stderr
