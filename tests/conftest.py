"""Fixtures that every test sees: both event loops, property-test profiles, a private home."""

from __future__ import annotations

import logging
import os
import signal
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from compass_agent.errors.repeats import REPEATS
from loops import ASYNCIO

if TYPE_CHECKING:
    from pathlib import Path

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # Who starts the tests in the background may have interrupts ignored, and every process that a
    # test starts would inherit that; tests of Ctrl-C need the usual.
    signal.signal(signal.SIGINT, signal.default_int_handler)

# asyncio's debug mode also tells of every step of over 0.1 s. On a loaded machine that can be any
# step of any test, and tests that count log lines would count it, too.
logging.getLogger("asyncio").addFilter(
    lambda record: not record.getMessage().startswith("Executing ")
)

settings.register_profile(
    "ci",
    max_examples=100,
    derandomize=True,
    print_blob=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("dev", max_examples=50, deadline=None)
settings.register_profile("deep", max_examples=1000, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "dev"))


def pytest_addoption(parser: pytest.Parser) -> None:
    """Take another folder of recordings."""
    parser.addoption("--recordings", metavar="FOLDER", help="test these recordings instead")


def pytest_configure(config: pytest.Config) -> None:
    """Hand the folder on, also to the workers of a parallel run."""
    folder: str | None = config.getoption("--recordings")
    if folder:
        os.environ["COMPASS_TEST_RECORDINGS"] = folder


@pytest.fixture(params=[pytest.param(ASYNCIO, id="asyncio"), pytest.param("trio")])
def anyio_backend(request: pytest.FixtureRequest) -> object:
    """Run each async test on both event loops."""
    return request.param


@pytest.fixture(autouse=True)
def private_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep every test's logs in its own folder, and the user's settings out."""
    REPEATS.forget()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    for name in ("COMPASS_LOG", "COMPASS_OFF", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
