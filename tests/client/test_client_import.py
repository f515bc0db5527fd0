"""The client needs what the extra `subscriber` holds, and says so; it needs nothing else."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

# None in sys.modules: importing it fails as if it were not there.
PROBE = """
import sys
for name in sys.argv[1:]:
    sys.modules[name] = None
from compass_agent.client import tail
from compass_agent.view import fold
"""


def importing_without(folder: Path, *names: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error", "-c", PROBE, *names]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.requirement("G-CLIENT-4")
def test_the_client_is_imported_where_there_is_nothing_but_its_extra(tmp_path: Path) -> None:
    done = importing_without(tmp_path, "grpc", "mcp", "starlette", "uvicorn", "trio", "sqlite3")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("name", ["betterproto2", "grpclib"])
def test_a_client_without_its_extra_says_what_to_install(tmp_path: Path, name: str) -> None:
    done = importing_without(tmp_path, name)
    last = done.stderr.splitlines()[-1]
    assert last.startswith(f"ModuleNotFoundError: no module {name}")
    assert last.endswith(": install compass-agent[subscriber]")
