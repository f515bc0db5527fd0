"""What this process knows of one session: its newest state, and blocks of frames that were read.

It is right as of one place in the stream, `pos`, and moves on with each message that follows the
one before; a message that does not follow makes it unknown, and it is looked up again.
"""

from __future__ import annotations

__all__ = ("CachedSession", "Snapshot")

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import anyio

from compass_agent.log.jetstream.records import BLOCK, Message, follow

if TYPE_CHECKING:
    from nats.aio.subscription import Subscription

    from compass_agent.log.jetstream.heads import SessionState

_BLOCKS = 8
_BEHIND = 256


def _quick_lock() -> anyio.Lock:
    """A lock that does not go round the event loop when it is free."""
    return anyio.Lock(fast_acquire=True)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A session as it is behind the message at `pos`.

    Attributes:
        pos: That place in the stream.
        state: What is known of it; None: there is no such session.
        harmed: The engine has lost a sheet of it, and cannot put a new one in its place.
        newest: What the engine takes for the place of its newest message; None: `pos`. Where it has
            lost that message, it says 0.
    """

    pos: int
    state: SessionState | None
    harmed: bool = False
    newest: int | None = None

    @property
    def fence(self) -> int:
        """What the next message is to be fenced by."""
        return self.pos if self.newest is None else self.newest


@dataclass(eq=False)
class CachedSession:
    """See above.

    Attributes:
        session: The session's id.
        lock: Held by whoever looks the state up, or writes.
        known: The state; None: it must be looked up.
        seen: The newest state that was known before it was forgotten.
        names: For each epoch the blocks that hold something; None: it must be looked up.
        fetching: Held by whoever reads blocks.
        coming: Records of blocks that are being read, as they pass meanwhile.
        fresh: Blocks of records that passed since `names` was asked for.
        drops: How often what was read was forgotten.
        blocks: Blocks with all their records as of `known`, by epoch and number.
        behind: The records since `behind_from` that readers may have passed.
        heard: The live messages.
        checked: When the state was looked up last, by the loop's clock.
    """

    session: str
    lock: anyio.Lock = field(default_factory=_quick_lock)
    known: Snapshot | None = None
    seen: Snapshot | None = None
    names: dict[str, set[int]] | None = None
    blocks: dict[tuple[str, int], list[Message]] = field(
        default_factory=dict[tuple[str, int], list[Message]]
    )
    fetching: anyio.Lock = field(default_factory=_quick_lock)
    coming: dict[tuple[str, int], list[Message]] = field(
        default_factory=dict[tuple[str, int], list[Message]]
    )
    fresh: set[tuple[str, int]] = field(default_factory=set[tuple[str, int]])
    drops: int = 0
    behind: list[Message] = field(default_factory=list[Message])
    behind_from: int = 0
    heard: Subscription | None = None
    checked: float = 0.0

    def learn(self, snapshot: Snapshot, now: float) -> bool:
        """Take what was looked up; tell whether it is news."""
        self.checked = now
        if self.known is not None and self.known.pos >= snapshot.pos and snapshot.state is not None:
            return False
        if self.known is not None and self.known.pos == snapshot.pos:
            return False
        self.known = snapshot
        self.drop_frames()
        return True

    def drop_frames(self) -> None:
        """Forget all that was read, apart from the state."""
        self.drops += 1
        self.names = None
        self.blocks.clear()
        self.coming.clear()
        self.behind.clear()
        self.behind_from = self.known.pos if self.known else 0

    def forget(self) -> None:
        """Know nothing any more."""
        if self.known is not None and (self.seen is None or self.known.pos > self.seen.pos):
            self.seen = self.known
        self.known = None
        self.drop_frames()

    def passes(self, message: Message) -> bool:
        """Take a message that was stored; tell whether it is news."""
        known = self.known
        if known is None:
            return True
        if message.pos <= known.pos:
            return False
        if message.prev != known.pos or (known.state is None and message.epoch is not None):
            self.forget()
            return True
        before = known.state
        after = message.state if before is None else follow(before, message)
        harmed = message.harmed if message.epoch is None else known.harmed
        self.known = Snapshot(message.pos, None if after.gone else after, harmed)
        if message.epoch is None:
            if before is None or _was_cut(before, after):
                self.drop_frames()
            return True
        self._take(message, message.epoch)
        return True

    def keep_block(self, epoch: str, block: int, records: list[Message]) -> None:
        """Keep what was read; only a few blocks are kept."""
        while len(self.blocks) >= _BLOCKS:
            del self.blocks[next(iter(self.blocks))]
        self.blocks[epoch, block] = records

    def _take(self, record: Message, epoch: str) -> None:
        block = record.first // BLOCK
        place = (epoch, block)
        self.fresh.add(place)
        if self.names is not None and block not in self.names.setdefault(epoch, set()):
            self.names[epoch].add(block)
            self.keep_block(epoch, block, [])
        for records in (self.blocks.get(place), self.coming.get(place)):
            if records is not None and (not records or records[-1].pos < record.pos):
                records.append(record)
        if record.behind:
            self.behind.append(record)
            if len(self.behind) > _BEHIND:
                self.behind_from = self.behind.pop(0).pos


def _was_cut(before: SessionState, after: SessionState) -> bool:
    """Tell whether trace was removed, or epochs, so that what was read is no more."""
    trimmed = {kept.head.epoch: kept.head.trimmed for kept in after.epochs}
    return any(trimmed.get(kept.head.epoch) != kept.head.trimmed for kept in before.epochs)
