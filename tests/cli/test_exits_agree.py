"""`compass run`, `compass replay` and `compass tail` end alike, whatever an agent did."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from command_runs import AGENTS
from compass_agent.cli import main
from recordings import COMMANDS, DATA, recordings

if TYPE_CHECKING:
    from pathlib import Path

RECORDINGS = [run.path for run in recordings()] + sorted(COMMANDS.glob("*/*.jsonl"))
QUICK = ("abort", "err-429", "err-stall", "quota", "retry")
"""How the names of those begin that are tried in short tests, too."""


def exits(path: Path, tmp_path: Path) -> dict[str, int]:
    log = f"sqlite:{tmp_path / 'log.db'}"
    known = [f"--format={path.parent.name}"] if path.parent.name in AGENTS else []
    found = {"replay": main(["replay", "-q", str(path), "--session=p", f"--log={log}", *known])}
    found["tail of replay"] = main(["tail", "p", f"--log={log}", "--no-follow"])
    found["last entry of replay"] = main(["tail", "p", f"--log={log}", "--no-follow", "-n", "1"])
    found["wait for replay"] = main(["wait", "p", f"--log={log}"])
    if path.suffix != ".gz":
        run = ["run", "-q", "--session=r", f"--log={log}", *known, "--", "cat", str(path)]
        found["run"] = main(run)
        found["tail of run"] = main(["tail", "r", f"--log={log}", "--no-follow"])
    return found


@pytest.mark.requirement("G-TERM-3")
@pytest.mark.parametrize(
    "path",
    [
        pytest.param(
            path,
            id="/".join(path.parts[-2:]),
            marks=[pytest.mark.slow] if not path.name.startswith(QUICK) else [],
        )
        for path in RECORDINGS
    ],
)
def test_what_recorded_a_session_exits_as_its_tail_does(path: Path, tmp_path: Path) -> None:
    found = exits(path, tmp_path)

    replays = {name: status for name, status in found.items() if "run" not in name}
    assert len(set(replays.values())) == 1, found
    assert found.get("run") == found.get("tail of run"), found


@pytest.mark.parametrize(
    "name",
    [
        *("pi/retry-succeeds.jsonl", "pi/retry-after-partial.jsonl", "pi/retry-after-tool.jsonl"),
        *("omp/retry-succeeds.jsonl", "omp/retry-fallback.jsonl"),
    ],
)
def test_a_failure_that_was_got_over_is_no_failure(name: str, tmp_path: Path) -> None:
    assert set(exits(DATA / name, tmp_path).values()) == {0}
