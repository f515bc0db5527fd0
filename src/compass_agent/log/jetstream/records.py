"""The messages that a session is made of, as bytes and back. Pure.

A *record* holds frames of one lane and one epoch, and what is known of that epoch behind them. A
*sheet* holds no frames, but what is known of all epochs; only the newest one of a session is kept.
Each message names the place in the stream of the one before it in its session, so that whoever sees
them pass knows whether one is missing.
"""

from __future__ import annotations

__all__ = (
    "BLOCK",
    "RECORD_BYTES",
    "RECORD_FRAMES",
    "Message",
    "Subjects",
    "decode",
    "encode_record",
    "encode_sheet",
    "follow",
)

import json
import struct
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import accumulate, repeat
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from compass_agent.errors.codes import ErrorCode, OperationError
from compass_agent.log.jetstream.heads import KeptEpoch, SessionState, from_values, to_values
from compass_agent.wire import FrameItem

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from compass_agent.log.rules import Frames

BLOCK = 4096
"""A lane is cut into blocks of so many places, and each block has a subject of its own: so a place
is found without an index. No record reaches over the border of a block."""

RECORD_FRAMES = 256
RECORD_BYTES = 256 * 1024

_FORMAT = 1
_FIXED = struct.Struct("<BBHIIQ")
"""Format, lane, flags, length of the JSON, how many frames, the first `seq`."""
_SHEET, _TRACE, _PRIORITY = 0, 1, 2

_JSON = json.JSONEncoder(separators=(",", ":"), check_circular=False)

_DATA: Callable[[tuple[int, bytes]], bytes] = itemgetter(1)
"""Of a frame and its place: a pass over them is made without a step of Python's for each."""


@dataclass(frozen=True, slots=True)
class Subjects:
    """The subjects of the log in one stream.

    Attributes:
        root: What all of them begin with.
    """

    root: str

    def session(self, session: str) -> str:
        """All messages of a session."""
        return f"{self.root}.s.{session}.>"

    def session_of(self, subject: str) -> str:
        """The session that a message belongs to."""
        return subject[len(self.root) + 3 :].partition(".")[0]

    def sheet(self, session: str) -> str:
        """What is known of all its epochs."""
        return f"{self.root}.s.{session}.h"

    def record(self, session: str, epoch: str, *, priority: bool, block: int) -> str:
        """The records of one lane in one block."""
        return f"{self.root}.s.{session}.{epoch}.{'p' if priority else 't'}.{block}"

    def block(self, session: str, epoch: str, block: int) -> str:
        """The records of both lanes in one block."""
        return f"{self.root}.s.{session}.{epoch}.*.{block}"

    def priority(self, session: str) -> str:
        """All records of the priority lane."""
        return f"{self.root}.s.{session}.*.p.*"

    def block_of(self, seq: int) -> int:
        """The block that a place is in."""
        return seq // BLOCK

    def live(self, session: str) -> str:
        """Where the engine says again what it has just stored of the session."""
        return f"{self.root}.live.s.{session}.>"


@dataclass(frozen=True)
class Message:
    """One message of a session.

    Attributes:
        pos: Its place in the stream.
        prev: The place of the message before it in the session.
        at_ms: When it was stored, by the clock of its writer.
        state: What is known behind it; of a record, of its epoch alone.
        epoch: Of a record: its epoch; None: it is a sheet.
        priority: Of a record: its lane.
        behind: Of a record: readers may have passed its place.
        first: The `seq` of its first frame.
        seqs: The places of its frames, ascending.
        bounds: Where each frame's bytes end.
        data: The frames' bytes.
        prev_priority: Of a priority record: the last `seq` of that lane before it; 0: none, or not
            told.
        harmed: Of a sheet: the engine has lost one that was stored before it.
    """

    pos: int
    prev: int
    at_ms: int
    state: SessionState
    epoch: str | None = None
    priority: bool = False
    behind: bool = False
    seqs: Sequence[int] = ()
    bounds: Sequence[int] = ()
    data: bytes = b""
    prev_priority: int = 0
    harmed: bool = False

    @property
    def first(self) -> int:
        """The first `seq`."""
        return self.seqs[0]

    @property
    def last(self) -> int:
        """The last `seq`."""
        return self.seqs[-1]

    @cached_property
    def items(self) -> list[FrameItem]:
        """The frames."""
        # Calling the class would go through a Python function, for every frame that is read.
        make: Callable[[tuple[str, int, bytes, bool, bool]], FrameItem]
        make = partial(tuple.__new__, FrameItem)  # pyright: ignore[reportUnknownMemberType] - of any tuple
        frames = [
            self.data[begin:end] for begin, end in zip((0, *self.bounds), self.bounds, strict=False)
        ]
        lane, late = repeat(self.priority), repeat(object=False)
        columns = zip(repeat(self.epoch or ""), self.seqs, frames, lane, late, strict=False)
        return list(map(make, columns))

    def sizes(self) -> list[tuple[int, int]]:
        """Return place and size in bytes of each frame."""
        starts = (0, *self.bounds)
        return [
            (seq, end - begin)
            for seq, begin, end in zip(self.seqs, starts, self.bounds, strict=False)
        ]


def encode_record(
    prev: int, at_ms: int, state: SessionState, kept: KeptEpoch, frames: Frames, lane: str
) -> bytes:
    """Return the bytes of a record.

    Args:
        prev: The place of the message before it in the session.
        at_ms: When it is stored.
        state: What is known of the session, of this epoch ahead of it, else behind it.
        kept: The epoch behind it.
        frames: At least one, ascending.
        lane: "trace", "priority", or "behind": priority that readers may have passed.
    """
    meta = [prev, at_ms, state.arrivals, state.size, int(lane == "behind"), to_values(kept)]
    if lane != "trace" and (before := state.find(kept.head.epoch)) is not None:
        meta.append(before.head.last_priority)
    count, first = len(frames), frames[0][0]
    encoded = [*map(_DATA, frames)]
    contiguous = frames[-1][0] - first == count - 1
    text = _JSON.encode(meta).encode("ascii")
    kind = _TRACE if lane == "trace" else _PRIORITY
    fixed = _FIXED.pack(_FORMAT, kind, int(contiguous), len(text), count, first)
    offsets = b""
    if not contiguous:
        offsets = struct.pack(f"<{count}I", *(seq - first for seq, _ in frames))
    bounds = struct.pack(f"<{count}I", *accumulate(map(len, encoded)))
    return b"".join((fixed, text, offsets, bounds, *encoded))


def encode_sheet(prev: int, at_ms: int, state: SessionState, *, harmed: bool = False) -> bytes:
    """Return the bytes of a sheet; the arguments are those of `encode_record`.

    That one was lost before is part of it, since the engine cannot replace what it has lost.
    """
    epochs = [to_values(kept) for kept in state.epochs]
    meta = [prev, at_ms, state.arrivals, state.size, int(state.gone), epochs]
    if harmed:
        meta.append(1)
    text = _JSON.encode(meta).encode("ascii")
    return _FIXED.pack(_FORMAT, _SHEET, 0, len(text), 0, 0) + text


def decode(pos: int, payload: bytes) -> Message:
    """Return the message that stands at `pos`.

    Raises:
        OperationError: `storage_failed`: it is none of ours, or of a later version.
    """
    try:
        return _decode(pos, payload)
    except (ValueError, struct.error, LookupError, TypeError) as error:
        raise OperationError(ErrorCode.STORAGE_FAILED) from error


def _decode(pos: int, payload: bytes) -> Message:
    version, kind, contiguous, length, count, first = _FIXED.unpack_from(payload)
    if version != _FORMAT:
        raise ValueError(version)
    begin = _FIXED.size + length
    meta: list[Any] = json.loads(payload[_FIXED.size : begin])
    prev, at_ms, arrivals, size, flag, values = meta[:6]
    if kind == _SHEET:
        epochs = tuple(from_values(one) for one in values)
        state = SessionState(epochs, arrivals, size, gone=bool(flag))
        return Message(pos, prev, at_ms, state, harmed=any(meta[6:7]))
    kept = from_values(values)
    state = SessionState((kept,), pos if flag else arrivals, size, loose=kept.head.epoch)
    seqs: Sequence[int] = range(first, first + count)
    if not contiguous:
        seqs = [first + offset for offset in struct.unpack_from(f"<{count}I", payload, begin)]
        begin += 4 * count
    bounds = struct.unpack_from(f"<{count}I", payload, begin)
    if not bounds or begin + 4 * count + bounds[-1] != len(payload):
        raise ValueError(len(payload))
    return Message(
        pos,
        prev,
        at_ms,
        state,
        kept.head.epoch,
        kind == _PRIORITY,
        bool(flag),
        seqs,
        bounds,
        payload[begin + 4 * count :],
        sum(meta[6:7]),
    )


def follow(before: SessionState, message: Message) -> SessionState:
    """Return what is known behind `message`, when `before` was known ahead of it."""
    if message.epoch is None:
        return message.state
    said = message.state
    return before.after_record(said.epochs[0], said.arrivals, said.size)
