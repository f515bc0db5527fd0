"""What the checks of a log are written with: batches in few words, and readings in few words."""

from __future__ import annotations

__all__ = (
    "FIRST",
    "SECOND",
    "SESSION",
    "Live",
    "batch",
    "end",
    "expect",
    "expect_error",
    "read",
    "trace",
    "urgent",
    "words",
)

from typing import TYPE_CHECKING

import anyio

from compass_agent.errors.codes import OperationError
from compass_agent.frames import AgentSessionState, FrameBuilder, as_state
from compass_agent.wire import Batch, CaughtUp, End, EndMark, FrameItem, Gap, Reset, StateSignal

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterable

    from compass_agent.errors.codes import ErrorCode
    from compass_agent.frames import Cursor
    from compass_agent.log import SessionLog
    from compass_agent.wire import Item

SESSION = "checked"
FIRST, SECOND = "0123456789abcdef", "fedcba9876543210"

_WORKING = AgentSessionState.AGENT_SESSION_STATE_WORKING
_STOPPED = AgentSessionState.AGENT_SESSION_STATE_STOPPED
_LIVE_S = 5.0


def trace(seq: int) -> bytes:
    """A frame of the lane that may drop."""
    # A builder of its own, since its count would make the same frame differ the next time.
    frame = FrameBuilder(lambda: 0).assistant_text(f"words {seq}", "1")
    return frame.SerializeToString()


def urgent(state: AgentSessionState.ValueType = _WORKING) -> bytes:
    """A frame of the lane that never drops."""
    return FrameBuilder(lambda: 0).lifecycle(state).SerializeToString()


def batch(
    number: int,
    *,
    priority: Iterable[int] = (),
    words: Iterable[int] = (),
    through: int = 0,
    prev: int = 0,
    lost: int = 0,
    epoch: str = FIRST,
) -> Batch:
    """A batch with frames at these places."""
    return Batch(
        session=SESSION,
        epoch=epoch,
        number=number,
        priority=[(seq, urgent()) for seq in priority],
        trace=[(seq, trace(seq)) for seq in words],
        through=through,
        prev_priority=prev,
        lost_priority=lost,
    )


def end(number: int, last_seq: int, prev: int = 0, *, epoch: str = FIRST) -> Batch:
    """The end of an epoch."""
    mark = EndMark(_STOPPED, "done", last_seq, prev)
    return Batch(SESSION, epoch, number, prev_priority=prev, through=last_seq, end=mark)


def expect(what: str, actual: object, expected: object) -> None:
    """Raise an AssertionError that says what differs."""
    if actual != expected:
        raise AssertionError(f"{what}: expected {expected!r}, got {actual!r}")


async def expect_error(what: str, call: Awaitable[object], code: ErrorCode) -> None:
    """Check that `call` raises an OperationError with this code."""
    try:
        result = await call
    except OperationError as error:
        expect(what, error.code.value, code.value)
    else:
        raise AssertionError(f"{what}: expected the error {code.value!r}, got {result!r}")


def words(items: Iterable[Item]) -> list[str]:
    """Return a word or two for each item."""
    return [_word(item) for item in items]


def _word(item: Item) -> str:
    match item:
        case FrameItem():
            lane = "priority" if item.priority else "trace"
            return f"{lane} {item.seq}{' late' if item.late else ''}"
        case Gap():
            return f"gap {item.first_seq}-{item.last_seq} {item.reason.name}"
        case Reset():
            return f"reset {'first' if item.epoch == FIRST else 'second'} {item.reason.name}"
        case End():
            return f"end {item.last_seq} {item.reason}"
        case StateSignal():
            name = AgentSessionState.Name(as_state(item.state))
            return f"signal {name.removeprefix('AGENT_SESSION_STATE_')}"
        case CaughtUp():
            return "caught up"


async def read(log: SessionLog, after: Cursor | None = None, *, page_frames: int = 3) -> list[str]:
    """Return in words what is kept behind `after`."""
    pages = log.read(SESSION, after, follow=False, page_frames=page_frames)
    return [word async for page in pages for word in words(page.items)]


class Live:
    """A reader that follows."""

    def __init__(
        self, log: SessionLog, after: Cursor | None = None, *, page_frames: int = 100
    ) -> None:
        self._pages = log.read(SESSION, after, page_frames=page_frames)
        self.cursor = after

    async def gets(self, what: str, *expected: str) -> None:
        """Check that the next items are these; each page has five seconds to come."""
        found: list[str] = []
        while len(found) < len(expected):
            try:
                with anyio.fail_after(_LIVE_S):
                    page = await anext(self._pages)
            except (TimeoutError, StopAsyncIteration):
                break
            found += words(page.items)
            self.cursor = page.cursor
        expect(what, found, [*expected])

    async def stops(self, what: str) -> None:
        """Check that nothing comes any more."""
        try:
            with anyio.fail_after(_LIVE_S):
                page = await anext(self._pages)
        except StopAsyncIteration:
            return
        except TimeoutError:
            expect(what, "it waits for more", "it stops")
        else:
            expect(what, words(page.items), "it stops")
