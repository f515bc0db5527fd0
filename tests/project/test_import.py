"""Importing the package is cheap and drags in nothing that an agent process may not have."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from pathlib import Path

# What a host that embeds a session need not have, or pays for only when it is used.
HEAVY = {
    "asyncio",
    "betterproto2",
    "compass_subscriber",
    "google.protobuf.json_format",
    "grpc",
    "grpclib",
    "mcp",
    "nats",
    "opentelemetry",
    "sqlite3",
    "starlette",
    "trio",
    "uvicorn",
}
LIMIT_SECONDS = 0.150

# CPU time: on a busy machine the wall clock measures the neighbours.
PROBE = """
import json, sys, time
begun = time.process_time()
import compass_agent
print(json.dumps([time.process_time() - begun, sorted(sys.modules)]))
"""


def import_in_a_fresh_process(folder: Path) -> tuple[float, list[str]]:
    """Return the CPU seconds that the import took, and the modules that are loaded after it."""
    done = subprocess.run(
        [sys.executable, "-c", PROBE], cwd=folder, capture_output=True, text=True, check=True
    )
    seconds, modules = json.loads(done.stdout)
    return seconds, modules


def test_importing_the_package_is_cheap(tmp_path: Path) -> None:
    import_in_a_fresh_process(tmp_path)  # compiles what is not compiled yet
    seconds = [import_in_a_fresh_process(tmp_path)[0] for _ in range(5)]
    assert statistics.median(seconds) <= LIMIT_SECONDS, seconds


def test_importing_the_package_loads_no_optional_dependency(tmp_path: Path) -> None:
    _, modules = import_in_a_fresh_process(tmp_path)
    assert "compass_agent" in modules
    assert HEAVY & set(modules) == set()
