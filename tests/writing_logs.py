"""Writes to session logs and tells what readers get, in few words."""

from __future__ import annotations

__all__ = (
    "E1",
    "E2",
    "E3",
    "Clock",
    "S",
    "aborted",
    "batch",
    "end",
    "failed",
    "read_all",
    "state",
    "text",
    "told",
)

from typing import TYPE_CHECKING

from compass_agent.frames import FrameBuilder, SessionErrorKind, as_state
from compass_agent.wire import (
    Batch,
    CaughtUp,
    End,
    EndMark,
    FrameItem,
    Gap,
    Item,
    Reset,
    StateSignal,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from compass_agent.frames import Cursor
    from compass_agent.log import SessionLog

S = "s1"
E1, E2, E3 = "1" * 16, "2" * 16, "3" * 16
_BUILD = FrameBuilder(lambda: 0)


class Clock:
    """Milliseconds that pass only when a test says so."""

    def __init__(self) -> None:
        self.ms = 1_000_000

    def __call__(self) -> int:
        return self.ms

    def pass_s(self, seconds: float) -> None:
        self.ms += round(seconds * 1000)


def text(words: str = "hello") -> bytes:
    return _BUILD.assistant_text(words, "m1").SerializeToString()


def state(number: int) -> bytes:
    return _BUILD.lifecycle(as_state(number)).SerializeToString()


def failed(message: str) -> bytes:
    kind = SessionErrorKind.SESSION_ERROR_KIND_ERROR
    return _BUILD.session_error(kind, message).SerializeToString()


def aborted(message: str) -> bytes:
    kind = SessionErrorKind.SESSION_ERROR_KIND_ABORTED
    return _BUILD.session_error(kind, message).SerializeToString()


def batch(
    number: int,
    *,
    priority: list[int] | dict[int, bytes] | None = None,
    trace: Iterable[int] = (),
    through: int = 0,
    prev_priority: int = 0,
    lost_priority: int = 0,
    epoch: str = E1,
    session: str = S,
) -> Batch:
    """A batch of frames at these places."""
    urgent = priority if isinstance(priority, dict) else {seq: state(3) for seq in priority or []}
    return Batch(
        session,
        epoch,
        number,
        sorted(urgent.items()),
        [(seq, text(f"t{seq}")) for seq in trace],
        through,
        prev_priority,
        None,
        lost_priority,
    )


def end(number: int, last_seq: int, prev_priority: int = 0, *, epoch: str = E1) -> Batch:
    """The end mark of an epoch that stopped."""
    mark = EndMark(4, "done", last_seq, prev_priority)
    return Batch(S, epoch, number, end=mark, prev_priority=prev_priority)


def told(items: Iterable[Item]) -> list[str]:
    """One word or two for each item."""
    return [_word(item) for item in items]


def _word(item: Item) -> str:
    match item:
        case FrameItem():
            lane = "p" if item.priority else "t"
            return f"{lane}{item.seq}{' late' if item.late else ''}"
        case Gap():
            return f"gap {item.first_seq}-{item.last_seq} {item.reason.name.lower()}"
        case Reset():
            return f"reset {item.epoch[0]} {item.reason.name.lower()}"
        case End():
            return f"end {item.last_seq} {item.state}"
        case StateSignal():
            return f"state {item.state}"
        case CaughtUp():
            return "caught up"


async def read_all(
    log: SessionLog, after: Cursor | None = None, *, page_frames: int = 7, session: str = S
) -> list[str]:
    """Everything that is kept behind `after`."""
    pages = log.read(session, after, follow=False, page_frames=page_frames)
    return [word async for page in pages for word in told(page.items)]
