"""What tests of the sink and of the pump share: frames, answers, the balance of the counters."""

from __future__ import annotations

__all__ = ("BUILD", "assert_balanced", "error", "refused", "stored", "text")

from typing import TYPE_CHECKING

from compass_agent.errors.codes import ErrorCode
from compass_agent.frames import FrameBuilder, SessionErrorKind, SessionFrame
from compass_agent.wire import Answer

if TYPE_CHECKING:
    from compass_agent.sink import FrameSink
    from compass_agent.wire import Batch

BUILD = FrameBuilder(lambda: 0)


def text(content: str = "x") -> SessionFrame:
    """A trace frame."""
    return BUILD.assistant_text(content, "1")


def error(message: str = "boom") -> SessionFrame:
    """A priority frame."""
    return BUILD.session_error(SessionErrorKind.SESSION_ERROR_KIND_ERROR, message)


def stored(batch: Batch, *, late: int = 0, sealed: bool = False) -> Answer:
    """The answer to a batch that was taken."""
    last = batch.priority[-1][0] if batch.priority else batch.prev_priority
    return Answer(batch.number, last, batch.through, late_trace=late, sealed=sealed)


def refused(batch: Batch) -> Answer:
    """The answer to a batch that is refused for good."""
    return Answer(batch.number, 0, 0, code=ErrorCode.UNSUPPORTED_INPUT)


def assert_balanced(sink: FrameSink) -> None:
    """Check that no frame is unaccounted for, in either lane."""
    for lane in (sink.statistics().priority, sink.statistics().trace):
        assert lane.emitted == lane.delivered + lane.lost + lane.waiting + lane.in_doubt
        assert min(lane.delivered, lane.lost, lane.waiting, lane.in_doubt) >= 0
