"""A hub tells what agents could not: those that were gone before it was there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from compass_agent import open_session
from hubs import serving, short_folder
from left_behind import files, left
from stored import lines_in

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch) -> Generator[Path]:
    """A private folder; the default socket is in it."""
    with short_folder() as made:
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(made))
        monkeypatch.setenv("XDG_STATE_HOME", str(made / "state"))
        yield made


@pytest.mark.requirement("G-PUMP-6")
@pytest.mark.parametrize("url", ["unix:", "unix:{}/compass/hub.sock"])
def test_a_hub_delivers_at_its_start_what_an_agent_left_for_it(folder: Path, url: str) -> None:
    log = f"sqlite:{folder / 'hub.db'}"
    with open_session("s1", log=url.format(folder), close_timeout=0.2) as session:
        session.fail("Overloaded")
    assert len(files()) == 1

    with serving("--log", log):
        assert files() == []

    assert lines_in(log, "s1") == ["state STARTING", "ERROR - Overloaded", "state ERRORED"]


def test_a_hub_delivers_what_was_left_for_its_log(folder: Path) -> None:
    log = f"sqlite:{folder / 'hub.db'}"
    left(url=log)

    with serving("--log", log):
        assert files() == []

    assert lines_in(log, "s1") == ["ERROR - first", "ERROR - second"]


@pytest.mark.requirement("G-PUMP-6")
def test_the_next_agent_of_a_hub_delivers_what_others_left_for_it(folder: Path) -> None:
    log = f"sqlite:{folder / 'hub.db'}"
    with serving("--log", log) as (_, (url,)):
        left(url=url)
        with open_session("s2", log=url):
            pass
        assert files() == []
    assert lines_in(log, "s1") == ["ERROR - first", "ERROR - second"]
