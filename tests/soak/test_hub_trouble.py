"""Hubs that stop, hang or have no room: agents go on, and nothing that never drops is lost."""

from __future__ import annotations

import logging
import resource
import signal
import threading
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from compass_agent import Session
from compass_agent.runtime.journals import journal_folder
from hubs import serving, short_folder
from journals import kept
from stored import frames_in

if TYPE_CHECKING:
    from collections.abc import Generator

    from compass_agent.sink import SinkStatistics

PATIENCE_S = 20
TIMEOUT_S = 1.0


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch) -> Generator[Path]:
    with short_folder() as made:
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(made))
        yield made


class Heard(logging.Handler):
    """Set once a line that begins so was logged."""

    def __init__(self, beginning: str) -> None:
        super().__init__()
        self._beginning = beginning
        self._there = threading.Event()
        logging.getLogger("compass_agent").addHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        if record.getMessage().startswith(self._beginning):
            self._there.set()

    def wait(self) -> None:
        assert self._there.wait(PATIENCE_S)
        logging.getLogger("compass_agent").removeHandler(self)


def until_delivered(session: Session) -> SinkStatistics:
    """Wait until the log has every priority frame."""
    give_up = time.monotonic() + PATIENCE_S
    pause = threading.Event()
    while (counted := session.statistics()).priority.delivered < counted.priority.emitted:
        assert time.monotonic() < give_up
        pause.wait(0.01)
    return counted


def injected(log: str, session: str = "s1") -> list[str]:
    events = [frame.typed_event for frame in frames_in(log, session)]
    return [
        event.session_injection.message_id
        for event in events
        if event.HasField("session_injection")
    ]


@pytest.mark.slow
@pytest.mark.requirement("G-PUMP-5", "G-SINK-8")
def test_closing_against_a_hub_that_hangs_takes_its_time_and_leaves_the_journal(
    folder: Path,
) -> None:
    log = f"sqlite:{folder / 'hub.db'}"
    with serving("--log", log) as (hub, _):
        with Session("s1", log="unix:", close_timeout=TIMEOUT_S) as session:
            session.inject("steer", "before", "@ada")
            until_delivered(session)
            hub.send_signal(signal.SIGSTOP)
            session.inject("steer", "after", "@ada")
            began = time.monotonic()
        assert time.monotonic() - began < TIMEOUT_S + 1.0
        (journal,) = journal_folder().iterdir()
        assert [frame.seq for frame in kept(journal).frames] == [3, 4]
        assert kept(journal).end is not None
        hub.kill()
    with serving("--log", log):
        assert injected(log) == ["before", "after"]
    assert list(journal_folder().iterdir()) == []


@pytest.mark.slow
@pytest.mark.requirement("G-HUB-1")
def test_what_a_hub_has_no_room_for_is_stored_once_there_is_room(folder: Path) -> None:
    log = f"sqlite:{folder / 'hub.db'}"
    sent = [str(number) for number in range(600)]
    with ExitStack() as stack:
        hub, _ = stack.enter_context(serving("--log", log))
        session = stack.enter_context(Session("s1", log="unix:", close_timeout=PATIENCE_S))
        until_delivered(session)
        full = Heard("frames could not be published")
        resource.prlimit(hub.pid, resource.RLIMIT_FSIZE, (64 * 1024, resource.RLIM_INFINITY))
        for one in sent:
            session.inject("steer", one, "x" * 1_000)
        full.wait()
        counted = session.statistics().priority
        assert counted.delivered < counted.emitted
        no_limit = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
        resource.prlimit(hub.pid, resource.RLIMIT_FSIZE, no_limit)
        counted = until_delivered(session)
        assert counted.priority.lost == counted.journal_errors == 0
    assert injected(log) == sent
