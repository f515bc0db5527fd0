"""Totals of their own for each test, and a provider that reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from compass_agent.runtime import totals
from telemetry_reading import Metrics

if TYPE_CHECKING:
    from collections.abc import Generator

_KEPT = {
    totals.SESSIONS: ("_followed", "_gone", "_over", "_left"),
    totals.HUBS: ("_ends", "_readers"),
}


@pytest.fixture
def metrics() -> Generator[Metrics]:
    """What a reader of the SDK collects; nothing was counted before."""
    kept = [(one, name, getattr(one, name)) for one, names in _KEPT.items() for name in names]
    totals.SESSIONS.forget()
    totals.HUBS.forget()
    metrics = Metrics()
    yield metrics
    metrics.close()
    for one, name, value in kept:
        setattr(one, name, value)
