"""A log of each kind, with a clock that stands still."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from compass_agent.log.memory import MemoryLog
from compass_agent.log.sqlite import SqliteLog
from writing_logs import Clock

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from compass_agent.log import SessionLog


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["memory", "sqlite"])
async def log(
    request: pytest.FixtureRequest, tmp_path: Path, clock: Clock
) -> AsyncGenerator[SessionLog]:
    made: SessionLog
    if request.param == "memory":
        made = MemoryLog(now_ms=clock, ahead_s=0.05)
    else:
        made = SqliteLog(tmp_path / "log.db", now_ms=clock, ahead_s=0.05)
    yield made
    await made.aclose()
