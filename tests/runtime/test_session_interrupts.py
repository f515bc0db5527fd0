"""Ctrl-C in the middle of a feed: the session stays usable, from every thread."""

from __future__ import annotations

import gc
import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from compass_agent import Session, open_session
from compass_agent.testing import capture_frames
from inner_events import delta, message_start

if TYPE_CHECKING:
    from collections.abc import Generator
    from types import FrameType

pytestmark = pytest.mark.requirement("G-SINK-1")


@pytest.fixture(autouse=True)
def nothing_is_freed() -> Generator[None]:
    """Keep finalizers of other tests' objects away: an interrupt in one of them reaches nobody."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@contextmanager
def interrupted_soon() -> Generator[None]:
    def handler(number: int, _: FrameType | None) -> None:
        raise KeyboardInterrupt(number)

    before = signal.signal(signal.SIGVTALRM, handler)
    signal.setitimer(signal.ITIMER_VIRTUAL, 1e-4)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def feed_for_ever(session: Session) -> None:
    while True:
        session.feed(delta("x"))


def test_an_interrupt_in_a_feed_leaves_no_lock_behind() -> None:
    session = open_session("s1", log="memory:", trace_capacity=10)  # not entered: not published
    session.feed(message_start())
    for _ in range(60):
        with pytest.raises(KeyboardInterrupt), interrupted_soon():
            feed_for_ever(session)
        thread = threading.Thread(target=session.feed, args=(delta("y"),), daemon=True)
        thread.start()
        thread.join(10)
        assert not thread.is_alive(), "another thread cannot feed any more"


def test_a_session_that_is_left_by_an_interrupt_tells_the_stop() -> None:
    with (
        capture_frames() as frames,
        pytest.raises(KeyboardInterrupt),
        open_session("s1") as session,
        interrupted_soon(),
    ):
        feed_for_ever(session)

    assert frames.states()[-1] == "STOPPED"
    assert len(frames.errors()) == 1
