"""gRPC runs on asyncio alone, and so do the tests of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hubs import short_folder
from loops import ASYNCIO

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path


@pytest.fixture
def anyio_backend() -> object:
    """Run each async test on asyncio."""
    return ASYNCIO


@pytest.fixture
def place() -> Generator[Path]:
    """The path of a socket that is not there yet."""
    with short_folder() as folder:
        yield folder / "hub.sock"
