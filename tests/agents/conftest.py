"""Tests of one SDK, in an environment of its own that has it: `make test-agents`.

`COMPASS_AGENT_SDK` names it; without, none of these tests is collected.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

HERE = Path(__file__).parent
SDK = os.environ.get("COMPASS_AGENT_SDK", "").replace("-", "_")
collect_ignore = [path.name for path in HERE.glob("test_*.py") if path.name != f"test_{SDK}.py"]

if SDK:
    # Not as `agents.…`: one of the SDKs has that name.
    sys.path.insert(0, str(HERE))

    from provider_server import Provider

    @pytest.fixture(scope="session")
    def provider() -> Iterator[Provider]:
        """Give a provider on the loopback."""
        with Provider() as serving:
            yield serving


@pytest.fixture
def anyio_backend() -> str:
    """Run on asyncio: most SDKs know nothing else."""
    return "asyncio"
