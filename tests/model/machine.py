"""Random days of a session: senders, a network that misbehaves, logs, and readers.

Every step is taken on the sketch of the log and on each real log beside it; answers, and what
readers are given, must be the same.
"""

from __future__ import annotations

__all__ = ("DeliveryMachine", "Follower")

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from compass_agent.errors.codes import ErrorCode
from compass_agent.frames import as_state
from compass_agent.wire import Item
from model.log_sketch import LogSketch
from model.reader_sketch import ReaderSketch, Tally, apart
from model.sender import POISON, Sender
from sinks import BUILD, error, text
from writing_logs import S, told

if TYPE_CHECKING:
    from compass_agent.frames import Cursor
    from compass_agent.wire import Answer, Batch
    from model.real_logs import RealLogs, RealReader

WHO = st.integers(0, 9)
SIZES = st.sampled_from(["", "", "", "x" * 150, "x" * 400, POISON])
MOST_SENDERS = 4
MOST_FOLLOWERS = 4
FATES = st.sampled_from(["answered", "answered", "lost", "unanswered", "twice"])
PAGES = st.sampled_from([1, 2, 3, 100])


@dataclass
class Follower:
    """A reader that stays, as the sketch has it and as each real log has it."""

    sketch: ReaderSketch
    real: list[RealReader]
    tally: Tally
    from_the_start: bool
    given: list[Item] = field(default_factory=list[Item])


class DeliveryMachine(RuleBasedStateMachine):
    """The rules; `real_logs` makes what runs beside the sketch."""

    real_logs: ClassVar[type[RealLogs] | None] = None

    def __init__(self) -> None:
        super().__init__()
        self.log = LogSketch()
        self.real = self.real_logs() if self.real_logs else None
        self.senders: list[Sender] = []
        self.copies: list[Batch] = []
        self.followers: list[Follower] = []
        self.visitors: list[tuple[Cursor | None, Tally]] = []
        self.watermarks: dict[str, int] = {}
        self.forgotten = False
        self.count = 0

    def sender(self, who: int) -> Sender:
        """0: the newest; so that examples shrink to what is usual."""
        return self.senders[-1 - who % len(self.senders)]

    # Senders

    @initialize()
    def first_writer(self) -> None:
        self.open_writer()

    @precondition(lambda self: len(self.senders) < MOST_SENDERS)
    @rule()
    def open_another_writer(self) -> None:
        self.open_writer()

    def open_writer(self) -> None:
        self.senders.append(Sender(S, len(self.senders)))
        self.open(self.senders[-1])

    @precondition(lambda self: len(self.senders) < MOST_SENDERS)
    @rule(frames=st.integers(1, 4))
    def deliver_for_the_dead(self, frames: int) -> None:
        """Priority that a writer left behind when it died; its epoch never reached the log."""
        dead = Sender(S, len(self.senders))
        for _ in range(frames):
            self.emit_to(dead, "", priority=True)
            self.emit_to(dead, "", priority=False)
        dead.sink.lose_trace()
        self.senders.insert(max(0, len(self.senders) - 1), dead)
        self.open(dead, recovered=True)

    def open(self, sender: Sender, *, recovered: bool = False) -> None:
        self.log.open(sender.epoch, recovered=recovered)
        if self.real:
            self.real.open(sender.epoch, recovered=recovered)

    def emit_to(self, sender: Sender, words: str, *, priority: bool) -> None:
        self.count += 1
        words = f"{self.count} {words}"
        if not priority:
            frame = text(words)
        elif self.count % 2 or words.endswith(("x", POISON)):
            frame = error(words)
        else:
            frame = BUILD.lifecycle(as_state(1 + self.count % 5))
        sender.emit(frame, priority=priority)

    @rule(who=WHO, sizes=st.lists(SIZES, min_size=1, max_size=8))
    def emit_trace(self, who: int, sizes: list[str]) -> None:
        for words in sizes:
            self.emit_to(self.sender(who), words, priority=False)

    @rule(who=WHO, sizes=st.lists(SIZES, min_size=1, max_size=5))
    def emit_priority(self, who: int, sizes: list[str]) -> None:
        for words in sizes:
            self.emit_to(self.sender(who), words, priority=True)

    @rule(who=WHO)
    def lose_waiting_trace(self, who: int) -> None:
        self.sender(who).sink.lose_trace()

    @precondition(lambda self: len(self.senders) > 1)
    @rule(who=WHO)
    def end(self, who: int) -> None:
        self.sender(who).end()

    # The network

    @rule(who=WHO, fates=st.lists(FATES, min_size=1, max_size=4))
    def send(self, who: int, fates: list[str]) -> None:
        for fate in fates:
            self.send_one(who, fate)

    def send_one(self, who: int, fate: str) -> None:
        sender = self.sender(who)
        batch = sender.take()
        if batch is None:
            return
        self.copies.append(batch)
        if fate == "lost":
            return
        if _poisoned(batch):
            if fate != "unanswered":
                sender.refuse(batch)
            return
        answer = self.deliver(sender, batch)
        if fate == "twice":
            before = self.stored()
            assert self.deliver(sender, batch) == answer
            assert self.stored() == before
        if fate != "unanswered":
            sender.settle(batch, answer)

    @precondition(lambda self: self.copies)
    @rule(which=st.integers(0, 1000), ms=st.sampled_from([0, 1, 10_001]))
    def a_copy_arrives_late(self, which: int, ms: int) -> None:
        """The network held it back, or sends it twice; nobody waits for the answer."""
        self.time_passes(ms)
        batch = self.copies[which % len(self.copies)]
        if self.log.index(batch.epoch) is None or _poisoned(batch):
            return
        sender = next(one for one in self.senders if one.epoch == batch.epoch)
        is_awaited = sender.unanswered is not None and sender.unanswered.number == batch.number
        if self.forgotten and not is_awaited:
            return  # A log that lost what it knew cannot tell a copy from a batch.
        before = self.stored()
        self.append(batch, compare=is_awaited)
        assert is_awaited or self.stored() == before

    def deliver(self, sender: Sender, batch: Batch) -> Answer:
        """Hand over a batch; a log that lost the session is told of the epoch first."""
        if self.log.index(batch.epoch) is None:
            self.open(sender)
        before = self.log.epochs[self.log.index(batch.epoch) or 0]
        may_be_late = before.sealed or before.marks or self.forgotten
        answer = self.append(batch)
        assert may_be_late or not answer.late_trace
        assert self.forgotten or not answer.missing_from
        assert answer.code is None
        return answer

    def append(self, batch: Batch, *, compare: bool = True) -> Answer:
        answer = self.log.append(batch)
        if self.real:
            for real in self.real.append(batch):
                assert real == answer or not compare
        return answer

    def stored(self) -> object:
        """All that is stored, as far as readers and lists can tell."""
        frames = [(epoch.name, epoch.through, {*epoch.frames}) for epoch in self.log.epochs]
        return (frames, self.real.stored() if self.real else None)

    # Time

    @rule(ms=st.sampled_from([1_000, 9_999, 10_001, 10_001]))
    def time_passes(self, ms: int) -> None:
        self.log.now += ms
        if self.real:
            self.real.clock.ms += ms

    @rule(words=SIZES, page=PAGES, follows=st.booleans())
    def the_writer_falls_silent_with_a_backlog(
        self, words: str, page: int, *, follows: bool
    ) -> None:
        """What it sent last stands above the watermark. A newer one seals, or a reader closes."""
        for number in range(10):
            self.emit_to(self.sender(0), words, priority=number % 4 == 0)
        self.send_one(0, "answered")
        if follows and len(self.senders) < MOST_SENDERS:
            self.open_writer()
        else:
            self.time_passes(10_001)
        self.visit(page)

    @rule(who=WHO)
    def renew(self, who: int) -> None:
        self.log.renew(self.sender(who).epoch)
        if self.real:
            self.real.renew(self.sender(who).epoch)

    @precondition(lambda self: len(self.senders) > 1)
    @rule(sure=st.integers(0, 2))
    def the_log_loses_the_session(self, sure: int) -> None:
        if sure or not self.log.epochs:
            return
        self.log.forget()
        if self.real:
            self.real.delete()
        self.forgotten = True
        self.watermarks.clear()
        self.followers.clear()
        self.visitors.clear()

    @rule(most=st.sampled_from([0, 1, 3, 10]))
    def trace_is_trimmed(self, most: int) -> None:
        went = self.log.trim(most)
        if self.real:
            self.real.trim(most, went)

    # Readers

    @rule(page=PAGES)
    def visit(self, page: int) -> None:
        self.read(None, Tally(), page)

    @precondition(lambda self: self.visitors)
    @rule(which=st.integers(0, 1000), page=PAGES)
    def visit_again(self, which: int, page: int) -> None:
        cursor, tally = self.visitors.pop(which % len(self.visitors))
        self.read(cursor, tally, page)

    def read(self, after: Cursor | None, tally: Tally, page: int) -> list[Item]:
        """Read what there is now and leave."""
        if not self.log.epochs:
            if self.real:
                self.real.cannot_read(after, ErrorCode.NOT_FOUND)
            return []
        sketch = ReaderSketch(self.log, after, follow=False)
        expected = sketch.poll()
        if self.real:
            for items, cursor in self.real.read(after, page):
                assert items == expected, (told(items), told(expected))
                assert cursor == sketch.cursor or not items
        tally.add(expected)
        self.visitors.append((sketch.cursor, tally))
        return expected

    @precondition(lambda self: self.log.epochs and len(self.followers) < MOST_FOLLOWERS)
    @rule(page=PAGES, which=st.none() | st.integers(0, 1000))
    def follow(self, page: int, which: int | None) -> None:
        after, tally = None, Tally()
        if which is not None and self.visitors:
            after, tally = self.visitors.pop(which % len(self.visitors))
        real = self.real.follow(after, page) if self.real else []
        sketch = ReaderSketch(self.log, after, follow=True)
        self.followers.append(Follower(sketch, real, tally, after is None))
        self.poll(self.followers[-1])

    @precondition(lambda self: self.followers)
    @rule(which=st.integers(0, 1000))
    def follow_on(self, which: int) -> None:
        self.poll(self.followers[which % len(self.followers)])

    @precondition(lambda self: self.followers)
    @rule(which=st.integers(0, 1000))
    def stop_following(self, which: int) -> None:
        """It goes on later from its cursor, as a visitor."""
        follower = self.followers.pop(which % len(self.followers))
        self.poll(follower)
        if not follower.sketch.stopped:
            self.visitors.append((follower.sketch.cursor, follower.tally))

    def poll(self, follower: Follower) -> None:
        expected = follower.sketch.poll()
        for reader in follower.real:
            given = reader.take(len(expected))
            assert apart(given) == apart(expected), (told(given), told(expected))
        follower.given += expected
        follower.tally.add(expected)
        if follower.sketch.stopped and follower in self.followers:
            self.followers.remove(follower)

    # What always holds

    @invariant()
    def counters_balance(self) -> None:
        for sender in self.senders:
            sender.check()

    @invariant()
    def watermarks_never_go_back(self) -> None:
        for epoch in self.log.epochs:
            assert epoch.through >= self.watermarks.get(epoch.name, 0)
            self.watermarks[epoch.name] = epoch.through

    @invariant()
    def lists_agree(self) -> None:
        if self.real and self.log.epochs:
            epoch = self.log.epochs[-1]
            frames = sum(len(one.frames) for one in self.log.epochs)
            away = epoch.detached(self.log.now)
            self.real.is_listed_as(epoch, 6 if away else epoch.state, frames)

    def teardown(self) -> None:
        try:
            self.all_is_delivered_in_the_end()
        finally:
            if self.real:
                self.real.close()

    def all_is_delivered_in_the_end(self) -> None:
        for sender in self.senders:
            while sender.take() is not None:
                self.send_one(self.senders[::-1].index(sender), "answered")
        for follower in [*self.followers]:
            self.poll(follower)
        if not self.log.epochs:
            return
        tally = Tally()
        self.read(None, tally, 3)
        for sender in self.senders:
            lanes = sender.sink.statistics()
            assert lanes.priority.waiting == lanes.trace.waiting == 0
            if self.forgotten:
                continue
            urgent = {seq for seq, (_, priority) in sender.emitted.items() if priority}
            assert tally.priority[sender.epoch] == urgent
            assert lanes.priority.lost == 0
            index = self.log.index(sender.epoch)
            trimmed = 0 if index is None else len(self.log.epochs[index].trimmed)
            there = len(urgent) + lanes.trace.delivered - trimmed
            assert tally.received[sender.epoch] == there
        if not self.forgotten:
            for follower in self.followers:
                self._has_all_priority(follower, tally)

    def _has_all_priority(self, follower: Follower, whole: Tally) -> None:
        """A reader that stayed since the beginning was given each priority frame, once."""
        if follower.from_the_start:
            begun = {*follower.tally.priority} | {*follower.tally.began}
            for epoch in begun:
                assert follower.tally.priority[epoch] == whole.priority[epoch]


def _poisoned(batch: Batch) -> bool:
    return any(POISON.encode() in data for _, data in [*batch.priority, *batch.trace])
