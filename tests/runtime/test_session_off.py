"""A session that is off, by `COMPASS_OFF=1`: it does nothing, and nothing hinders its host."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from compass_agent import open_session
from inner_events import message_start


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:{tmp_path / 'log.db'}"


def test_a_session_that_is_off_does_nothing(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("COMPASS_OFF", "1")
    before = threading.active_count()
    with open_session("s1", log=url) as session:
        session.feed(message_start())
        session.fail(RuntimeError("x"))
        session.abort()
        session.inject("deliver", "m", "x")
        session.notice("x")

    assert not Path(url.removeprefix("sqlite:")).exists()
    assert session.statistics().priority.emitted == 0
    assert threading.active_count() <= before


@pytest.mark.parametrize("session", ["", "a/b", "s1"])
@pytest.mark.parametrize(
    "settings",
    [
        {"log": "ftp:x"},
        {"log": ""},
        {"log": "grpc://127.0.0.1:1"},
        {"trace_capacity": 0},
        {"trace_bytes": -1},
        {"secrets": [None]},
        {"title": None},
        {"close_timeout": -1.0},
    ],
)
def test_no_setting_of_a_session_that_is_off_hinders_its_agent(
    monkeypatch: pytest.MonkeyPatch, session: str, settings: dict[str, Any]
) -> None:
    monkeypatch.setenv("COMPASS_OFF", "1")
    monkeypatch.setenv("COMPASS_LOG", "nonsense")
    with open_session(session, **settings) as off:
        off.feed(message_start())
        off.fail(RuntimeError("x"))
        off.request_stop("user")
        off.notice("x")
        off.settle(None)

    assert (off.session_id, off.enabled) == (session, False)
    assert off.statistics().priority.emitted == 0
