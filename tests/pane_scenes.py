"""Sessions as the pane is to show them, written into a log as agents' processes would."""

from __future__ import annotations

__all__ = ("Pen", "write_scenes")

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import anyio

from browsing import aside
from compass_agent.frames import (
    AgentPlanEntryStatus,
    AgentSessionState,
    FrameBuilder,
    SessionFileDiff,
)
from compass_agent.log import open_log
from compass_agent.wire import Batch, EndMark, SessionMeta
from frame_words import (
    ABORTED,
    COMPLETED,
    ERROR,
    ERRORED,
    FAILED,
    FIXED,
    LIMIT,
    READY,
    STEER,
    TEST,
    WORKING,
)

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable

    from compass_agent.frames import SessionFrame

DONE = AgentPlanEntryStatus.AGENT_PLAN_ENTRY_STATUS_COMPLETED
ACTIVE = AgentPlanEntryStatus.AGENT_PLAN_ENTRY_STATUS_IN_PROGRESS

_LONG_S = 3600


class Pen:
    """Writes one epoch of a session; its writer is taken to live until the test says otherwise.

    Args:
        url: The log.
        session: The session's id.
        title: What people are shown.
        epoch: 16 lower-case hex digits.
    """

    def __init__(self, url: str, session: str, title: str = "", epoch: str = "1" * 16) -> None:
        self.build = FrameBuilder(self._clock)
        self._fixed_ms: int | None = None
        self._url = url
        self._session = session
        self._title = title
        self._epoch = epoch
        self._batch = self._seq = self._priority = 0
        self._opened = False
        self._begun_ms = 0

    def _clock(self) -> int:
        return time.time_ns() // 1_000_000 if self._fixed_ms is None else self._fixed_ms

    @contextmanager
    def at(self, shift_ms: int) -> Generator[FrameBuilder]:
        """Build frames of one moment, so long from now on."""
        self._begun_ms = self._begun_ms or self._clock()
        self._fixed_ms = self._begun_ms + shift_ms
        yield self.build
        self._fixed_ms = None

    def write(self, *frames: SessionFrame, end: int | None = None, alive: bool = True) -> None:
        """Store frames, and with `end` the end of the epoch, in that state."""
        aside(lambda: anyio.run(self._write, frames, end, alive))

    def skip(self, count: int) -> None:
        """Leave out so many places: their frames are missing."""
        self._seq += count

    async def _write(self, frames: Iterable[SessionFrame], end: int | None, alive: bool) -> None:
        log = open_log(self._url)
        try:
            if not self._opened:
                meta = SessionMeta(self._title, "pi", "1.0")
                await log.open(self._session, self._epoch, meta)
                self._opened = True
            # The reader is told of what is missing by the watermark of the next batch.
            before, trace, priority = (
                self._priority,
                list[tuple[int, bytes]](),
                list[tuple[int, bytes]](),
            )
            for frame in frames:
                self._seq += 1
                event = frame.typed_event.WhichOneof("event")
                urgent = frame.state or event in {"session_error", "session_injection"}
                (priority if urgent else trace).append((self._seq, frame.SerializeToString()))
                self._priority = self._seq if urgent else self._priority
            self._batch += 1
            batch = Batch(
                self._session, self._epoch, self._batch, priority, trace, self._seq, before
            )
            answer = await log.append(batch)
            assert answer.code is None, answer
            if end is not None:
                self._batch += 1
                mark = EndMark(AgentSessionState.ValueType(end), "", self._seq, self._priority)
                last = Batch(
                    self._session,
                    self._epoch,
                    self._batch,
                    through=self._seq,
                    prev_priority=self._priority,
                    end=mark,
                )
                answer = await log.append(last)
                assert answer.code is None, answer
            else:
                seconds = _LONG_S if alive else 0
                await log.renew([(self._session, self._epoch)], seconds)
        finally:
            await log.aclose()


def write_scenes(url: str) -> None:
    """Write one session for each thing that people are to see."""
    _write_run(url)
    _write_failed(url)
    _write_empty(url)
    _write_aborted(url)
    _write_dropped(url)


def _write_run(url: str) -> None:
    pen = Pen(url, "s-run", "Fix the flaky retry test")
    read = "\n".join(f"{number:>3}  line {number} of the test" for number in range(1, 41))
    diff = SessionFileDiff(path="tests/test_retry.py", old_text=TEST, new_text=FIXED)
    with pen.at(-14_000) as build:
        first = [
            build.lifecycle(WORKING),
            build.prompt("Fix the flaky retry test and keep the public API", "p1"),
            build.thinking(
                "The test sleeps for a fixed time, so a slow machine makes it fail. " * 4, "1"
            ),
            build.assistant_text("I'll read the test first, then replace the sleep with the ", "1"),
            build.assistant_text("**fake clock** of the other tests.", "1"),
            build.plan([("Read the test", DONE), ("Use the fake clock", ACTIVE)]),
            build.tool_call("t1", "read tests/test_retry.py"),
        ]
    with pen.at(-13_850) as build:
        first += [
            build.tool_call_update("t1", COMPLETED, read),
            build.tool_call("t2", "edit tests/test_retry.py"),
        ]
    with pen.at(-13_760) as build:
        first += [
            build.tool_call_update("t2", COMPLETED, diffs=[diff]),
            build.session_injection(STEER, "m1", "user"),
            build.notice("Context is compacted", "https://agents.example/compaction"),
        ]
    with pen.at(-12_000) as build:
        first.append(build.tool_call("t3", "bash: pytest -q tests/test_retry.py"))
    pen.write(*first)


def _write_failed(url: str) -> None:
    pen = Pen(url, "s-429", "Port the parser to the new grammar")
    build = pen.build
    pen.write(
        build.lifecycle(WORKING),
        build.tool_call("t1", "bash: pytest -q tests/test_parser.py"),
        build.tool_call_update("t1", FAILED, "E   AssertionError: assert 2 == 3"),
        build.assistant_text("One more try with", "2"),
        build.session_error(
            ERROR,
            LIMIT,
            status=429,
            retry_after_ms=42_000,
            code="rate_limit_error",
            request_id="req_011CUx",
        ),
        build.lifecycle(ERRORED),
    )


def _write_empty(url: str) -> None:
    pen = Pen(url, "s-empty", "Update the changelog")
    with pen.at(-540_000) as build:
        pen.write(
            build.lifecycle(WORKING),
            build.tool_call("t1", "bash: pytest -q tests/test_retry.py"),
            build.session_error(ERROR, ""),
            build.lifecycle(ERRORED),
        )


def _write_aborted(url: str) -> None:
    pen = Pen(url, "s-abort", "Rename the package")
    build = pen.build
    pen.write(
        build.lifecycle(WORKING),
        build.tool_call("t1", "bash: git commit --all"),
        build.session_injection(STEER, "m2", "user"),
        build.session_error(ABORTED, "Request was aborted", stopped_by="user (steer)"),
        build.lifecycle(READY),
    )


def _write_dropped(url: str) -> None:
    pen = Pen(url, "s-drop", "Long refactoring")
    build = pen.build
    pen.write(build.lifecycle(WORKING), build.assistant_text("Long output follows: ", "3"))
    pen.skip(317)
    pen.write(build.assistant_text("and that was all of it.", "3"), alive=False)
