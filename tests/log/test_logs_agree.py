"""Both logs are driven by random senders and readers, and held to each other and to the counts."""

from __future__ import annotations

import tempfile
from collections import deque
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compass_agent.frames import Cursor
from compass_agent.log.memory import MemoryLog
from compass_agent.log.sqlite import SqliteLog
from compass_agent.wire import (
    Batch,
    End,
    EndMark,
    FrameItem,
    Gap,
    GapReason,
    Item,
    Reset,
    SessionMeta,
)
from writing_logs import Clock, S, state, text

if TYPE_CHECKING:
    from compass_agent.log import SessionLog
    from compass_agent.wire import Answer

STEPS = (
    *["priority", "trace", "trace", "trace", "drop", "send", "send", "again"],
    *["lose", "read", "resume", "time", "reopen", "old sends", "recover", "end"],
)


@dataclass
class Sender:
    """An agent's two lanes and its one batch in flight, as the contract says it."""

    epoch: str
    seq: int = 0
    number: int = 0
    last_priority: int = 0
    priority: deque[int] = field(default_factory=deque[int])
    trace: deque[int] = field(default_factory=deque[int])
    lost: set[int] = field(default_factory=set[int])
    told_lost: set[int] = field(default_factory=set[int])
    late: int = 0
    sent_trace: int = 0
    sent_priority: set[int] = field(default_factory=set[int])
    batches: list[Batch] = field(default_factory=list[Batch])
    sealed: bool = False
    ended: bool = False

    def emit(self, *, priority: bool) -> None:
        self.seq += 1
        (self.priority if priority else self.trace).append(self.seq)

    def lose(self) -> None:
        """Priority that is gone at the sender, as after a journal that could not be written."""
        self.lost |= set(self.priority)
        self.priority.clear()

    def form(self) -> Batch:
        self.number += 1
        urgent = [self.priority.popleft() for _ in range(min(3, len(self.priority)))]
        room = 0 if self.priority or self.sealed else 3
        rest = [self.trace.popleft() for _ in range(min(room, len(self.trace)))]
        waiting = [lane[0] for lane in (self.priority, self.trace) if lane]
        first_lost = [min(self.lost)] if self.lost and not urgent else []
        made = Batch(
            S,
            self.epoch,
            self.number,
            [(seq, state(1 + seq % 5)) for seq in urgent],
            [(seq, text(str(seq))) for seq in rest],
            min([*waiting, *first_lost, self.seq + 1]) - 1,
            self.last_priority,
        )
        if self.lost and urgent:
            made = replace(made, prev_priority=max(self.lost | {self.last_priority}))
        self.sent_trace += len(rest)
        self.sent_priority |= set(urgent)
        self.last_priority = urgent[-1] if urgent else self.last_priority
        self.batches.append(made)
        return made


class Run:
    """One example: the same steps on both logs."""

    def __init__(self, logs: list[SessionLog], clock: Clock, page_frames: int) -> None:
        self.logs = logs
        self.clock = clock
        self.page_frames = page_frames
        self.senders: list[Sender] = []
        self.cursors: list[Cursor | None] = [None]

    async def both(self, batch: Batch) -> Answer:
        first, second = [await log.append(batch) for log in self.logs]
        assert first == second
        return first

    async def open(self, *, recovered: bool = False) -> None:
        sender = Sender(f"{len(self.senders):016x}")
        for log in self.logs:
            await log.open(S, sender.epoch, SessionMeta(), recovered=recovered)
        self.senders.append(sender)
        if recovered:
            sender.emit(priority=True)
            sender.emit(priority=True)
            await self.send(sender)

    async def send(self, sender: Sender) -> None:
        if sender.ended:
            return
        batch = sender.form()
        answer = await self.both(batch)
        if answer.missing_from:
            assert answer.missing_from <= max(sender.lost)
            batch = sender.batches[-1] = replace(batch, lost_priority=max(sender.lost))
            answer = await self.both(batch)
            sender.told_lost |= sender.lost
        if batch.priority:
            sender.lost.clear()
        assert answer.missing_from == 0
        assert answer.code is None
        sender.late += answer.late_trace
        sender.sealed = sender.sealed or answer.sealed
        assert await self.both(batch) == answer

    async def end(self, sender: Sender) -> None:
        while sender.priority or (sender.trace and not sender.sealed):
            await self.send(sender)
        if sender.ended or sender.lost:
            return
        sender.number += 1
        mark = EndMark(4, "", sender.seq, sender.last_priority)
        answer = await self.both(Batch(S, sender.epoch, sender.number, end=mark))
        assert answer.code is None
        sender.ended = answer.missing_from == 0

    async def read(self, after: Cursor | None) -> list[Item]:
        found: list[list[Item]] = []
        for log in self.logs:
            items: list[Item] = []
            cursor = after
            async for page in log.read(S, after, follow=False, page_frames=self.page_frames):
                items += page.items
                cursor = page.cursor
                self.cursors.append(cursor)
            check_places(after, items, cursor)
            found.append(items)
        assert found[0] == found[1]
        return found[0]

    async def step(self, name: str, pick: int) -> None:
        (summary,) = await self.logs[0].sessions()
        (current,) = [sender for sender in self.senders if sender.epoch == summary.epoch]
        someone = self.senders[pick % len(self.senders)]
        if name in ("priority", "trace") and not current.ended:
            current.emit(priority=name == "priority")
        elif name == "drop" and current.trace:
            current.trace.popleft()
        elif name == "lose":
            current.lose()
        elif name == "time":
            self.clock.pass_s(11)
        elif name == "again" and current.batches:
            await self.both(current.batches[-1])
        else:
            await self.call(name, current, someone, self.cursors[pick % len(self.cursors)])

    async def call(
        self, name: str, current: Sender, someone: Sender, cursor: Cursor | None
    ) -> None:
        if name in ("send", "old sends"):
            await self.send(current if name == "send" else someone)
        elif name in ("read", "resume"):
            await self.read(cursor if name == "resume" else None)
        elif name in ("reopen", "recover"):
            await self.open(recovered=name == "recover")
        elif name == "end":
            await self.end(someone)


def check_places(after: Cursor | None, items: list[Item], cursor: Cursor | None) -> None:
    """Frames and gaps of each epoch stand side by side, without hole or repeat."""
    epoch, seq = (after.epoch, after.seq) if after else (None, 0)
    for item in items:
        match item:
            case FrameItem():
                assert epoch in (None, item.epoch)
                assert item.seq == seq + 1
                epoch, seq = item.epoch, item.seq
            case Gap():
                assert epoch in (None, item.epoch)
                assert item.first_seq == seq + 1
                assert item.count > 0
                epoch, seq = item.epoch, item.last_seq
            case Reset():
                epoch, seq = item.epoch, 0
            case End():
                assert item.last_seq == seq
            case _:
                pass
    if cursor is not None and epoch is not None:
        assert cursor == Cursor(epoch, seq)


def check_counts(senders: list[Sender], items: list[Item]) -> None:
    """All that was sent is read, but for what the log answered as late."""
    for sender in senders:
        mine = [
            item for item in items if isinstance(item, FrameItem) and item.epoch == sender.epoch
        ]
        assert {item.seq for item in mine if item.priority} == sender.sent_priority
        assert sum(not item.priority for item in mine) == sender.sent_trace - sender.late
        for gap in items:
            if isinstance(gap, Gap) and gap.epoch == sender.epoch:
                known = sender.told_lost & {*range(gap.first_seq, gap.last_seq + 1)}
                assert not known or gap.reason in (GapReason.LOG_LOSS, GapReason.WRITER_GONE)


async def run(folder: Path, steps: list[tuple[str, int]], page_frames: int) -> None:
    clock = Clock()
    logs: list[SessionLog] = [
        MemoryLog(now_ms=clock, ahead_s=0),
        SqliteLog(folder / "log.db", now_ms=clock, ahead_s=0),
    ]
    example = Run(logs, clock, page_frames)
    await example.open()
    for name, pick in steps:
        await example.step(name, pick)
    for sender in example.senders:
        await example.end(sender)
        if not sender.ended:
            sender.emit(priority=True)
            await example.end(sender)
    check_counts(example.senders, await example.read(None))
    summaries = [await log.sessions() for log in logs]
    assert summaries[0] == summaries[1]
    for log in logs:
        await log.aclose()


@pytest.mark.requirement("G-READ-2", "G-READ-3")
@given(
    steps=st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 9)), max_size=60),
    page_frames=st.integers(1, 6),
)
def test_both_logs_give_every_reader_the_same_without_hole_or_repeat(
    steps: list[tuple[str, int]], page_frames: int
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        anyio.run(run, Path(folder), steps, page_frames)
