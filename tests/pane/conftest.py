"""A browser, and a server with sessions, for the tests of the session pane."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from browsing import Tabs, chromium, no_chromium, required
from hubs import short_folder
from pane_scenes import write_scenes
from pane_sites import Site, serving_site

if TYPE_CHECKING:
    from collections.abc import Generator

    from playwright.sync_api import Browser


@pytest.fixture(scope="module")
def browser() -> Generator[Browser]:
    """One browser for a module's tests."""
    missing = no_chromium()
    if missing is not None:
        if required():
            pytest.fail(missing)
        pytest.skip(missing)
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def site() -> Generator[Site]:
    """A server over a log that holds the scenes."""
    with short_folder() as folder, serving_site(folder) as made:
        write_scenes(made.log)
        yield made


@pytest.fixture
def tabs(browser: Browser) -> Generator[Tabs]:
    """Opens pages; at the end none of them may have had an error."""
    opened = Tabs(browser)
    try:
        yield opened
    finally:
        opened.close()
    assert opened.errors == []
