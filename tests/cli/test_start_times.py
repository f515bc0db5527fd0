"""The command answers at once: its help, and the first line of a long session."""

from __future__ import annotations

import argparse
import gc
import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import anyio
import pytest

from compass_agent.cli import main
from compass_agent.frames import FrameBuilder
from compass_agent.log import open_log
from compass_agent.wire import Batch
from terminals import COMMAND

if TYPE_CHECKING:
    from pathlib import Path

# What an event loop, protobuf and SQLite take to be there on a machine that does nothing else; one
# that is busy, or slow, takes longer for these as for all.
_YARDSTICK = "import argparse, sqlite3, anyio._backends._asyncio, google.protobuf.message; print()"
_YARD_S = 0.100
_TRIES = 7
# What a tail of plain text has no use for, and what takes a while to import.
_UNUSED = {"compass_agent.log.sqlite.keeper", "difflib", "secrets", "shutil"}
_FRAMES = 100_000
_BATCH = 1_000


def seconds_to_first_line(command: list[str], folder: Path) -> float:
    """Return the shortest of some runs; with compiled modules, as installed ones are."""
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(folder)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    spent: list[float] = []
    for _ in range(_TRIES):
        before = time.perf_counter()
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
        ) as process:
            assert process.stdout is not None
            process.stdout.readline()
            spent.append(time.perf_counter() - before)
            process.kill()
    return min(spent)


def check(arguments: list[str], limit_s: float, folder: Path) -> None:
    """Hold the command to its limit; a machine that is twice as slow has twice the time."""
    ours = seconds_to_first_line([*COMMAND, *arguments], folder)
    yard = seconds_to_first_line([sys.executable, "-c", _YARDSTICK], folder)
    assert ours <= limit_s * max(1.0, yard / _YARD_S)


async def record(url: str, frames: int = _FRAMES) -> None:
    log, epoch = open_log(url), "0" * 16
    build = FrameBuilder(lambda: 1_764_000_000_000)
    await log.open("long", epoch)
    for first in range(0, frames, _BATCH):
        trace = [
            (first + place, build.assistant_text("some words ", str(first)).SerializeToString())
            for place in range(1, _BATCH + 1)
        ]
        await log.append(Batch("long", epoch, first // _BATCH + 1, [], trace, first + _BATCH))
    await log.aclose()


def test_help_comes_within_150_ms(tmp_path: Path) -> None:
    check(["--help"], 0.150, tmp_path)


@pytest.mark.slow
def test_the_first_of_100_000_frames_comes_within_300_ms(tmp_path: Path) -> None:
    url = f"sqlite:{tmp_path / 'log.db'}"
    anyio.run(record, url)
    check(["tail", "long", "--log", url], 0.300, tmp_path)


def test_a_tail_imports_nothing_that_it_has_no_use_for(tmp_path: Path) -> None:
    url = f"sqlite:{tmp_path / 'log.db'}"
    anyio.run(record, url, _BATCH)
    tail = ["tail", "long", "--log", url, "--no-follow"]
    program = f"import sys; from compass_agent.cli import main; main({tail}); print(*sys.modules)"

    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    shown, _, modules = done.stdout.rstrip().rpartition("\n")
    assert "some words" in shown
    assert "compass_agent.view.text" in modules.split()
    assert _UNUSED.isdisjoint(modules.split())


def test_a_command_leaves_the_garbage_collector_as_it_was() -> None:
    before = gc.get_threshold()
    gc.set_threshold(701, 11, 12)
    try:
        assert main(["no-such-command"]) == 2
        assert gc.get_threshold() == (701, 11, 12)
    finally:
        gc.set_threshold(*before)


@pytest.mark.parametrize("columns", ["44", "100", "0", "no number", None])
def test_help_is_laid_out_as_argparse_does(
    columns: str | None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    if columns is not None:
        monkeypatch.setenv("COLUMNS", columns)
    assert main(["tail", "--help"]) == 0
    ours = capsys.readouterr().out

    monkeypatch.setattr("compass_agent.cli._HelpFormatter", argparse.HelpFormatter)
    assert main(["tail", "--help"]) == 0

    assert ours == capsys.readouterr().out
