"""What readers receive through a hub: pages to messages, with the events' bytes as they are.

An event is encoded once, in the agent's process. To relay it, its bytes are set between those of
its place; nothing is decoded, however many readers there are.
"""

from __future__ import annotations

__all__ = ("SUBSCRIBE", "Encoded", "Relay", "Subscription", "subscription_from_bytes")

from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from google.protobuf.message import DecodeError

from compass.v1.compass_pb2 import AgentSessionFrame, SubscribeAgentSessionRequest
from compass_agent.frames import Cursor, InvalidCursorError, event_kind
from compass_agent.wire.convert import decode_frame, item_to_subscriber_frame
from compass_agent.wire.items import FrameItem, FrameRun, Gap
from compass_agent.wire.malformed import MalformedRequestError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from compass_agent.wire.items import Item

SUBSCRIBE = ("compass.v1.CompassService", "SubscribeAgentSession")
"""Service and name of the method."""

_MESSAGE_BYTES = 512 * 1024
"""A message that holds this much is sent: far below the 4 MiB that gRPC's readers take."""

# Keys of fields as they stand in the bytes: the number, and how the value is written.
_STATE_OF_SESSION_FRAME = 0x08
_STATE_OF_AGENT_SESSION_FRAME = b"\x18"
_EVENT_OF_BOTH = 0x12
_SEQ = b"\x80\x01"
_MORE = b"\xb2\x01"

_MOST_PLACE = 1 << 28
"""Places below it have four bytes at most: two halves that are ready."""
_LONGEST_PLACE = 6


_Place = tuple[str, str, int, int]
"""A session, an epoch, and the first and the last of frames that stand there without a gap."""


@dataclass(frozen=True, slots=True)
class Subscription:
    """What a reader asks of a hub.

    Attributes:
        session: The session's id.
        after: Where to begin; None: with the oldest that is kept.
        follow: Go on live.
        kinds: The kinds of events to send, by the names of the oneof, and `unknown`; empty: all.
            A transition is always sent.
        max_batch: Frames a message at most; 0: one, and a gap rides on the frame behind it.
    """

    session: str
    after: Cursor | None
    follow: bool
    kinds: frozenset[str]
    max_batch: int


def subscription_from_bytes(data: bytes) -> Subscription:
    """Read a SubscribeAgentSessionRequest.

    Raises:
        MalformedRequestError: The bytes are no such message, or name no place in a session.
    """
    try:
        request = SubscribeAgentSessionRequest.FromString(data)
        after: Cursor | None = None
        if request.after_epoch:
            after = Cursor.parse(f"{request.after_epoch}-{request.after_seq}")
    except DecodeError as error:
        raise MalformedRequestError("the request is no SubscribeAgentSessionRequest") from error
    except InvalidCursorError as error:
        raise MalformedRequestError("after_epoch: 16 lower-case hex digits") from error
    return Subscription(
        session=request.session_id,
        after=after,
        follow=request.follow if request.HasField("follow") else True,
        kinds=frozenset(request.kinds),
        max_batch=request.max_batch,
    )


class Encoded:
    """Messages that one reader was sent, for others that come to the same place soon.

    Args:
        most_bytes: What is kept at most; what was used last stays.
    """

    def __init__(self, most_bytes: int = 8 * 1024 * 1024) -> None:
        self._most_bytes = most_bytes
        self._bytes = 0
        self._kept: OrderedDict[_Place, tuple[bytes, ...]] = OrderedDict()

    def get(self, place: _Place) -> tuple[bytes, ...] | None:
        """Return the messages that carry the frames at `place`; None: they are not kept."""
        found = self._kept.get(place)
        if found is not None:
            self._kept.move_to_end(place)
        return found

    def put(self, place: _Place, messages: tuple[bytes, ...]) -> None:
        """Keep the messages that carry the frames at `place`, which never change."""
        if place in self._kept:
            return
        self._kept[place] = messages
        self._bytes += sum(map(len, messages))
        while self._bytes > self._most_bytes:
            _, oldest = self._kept.popitem(last=False)
            self._bytes -= sum(map(len, oldest))


class Relay:
    """Encodes one reader's items as AgentSessionFrame.

    Args:
        subscription: What the reader asked for.
        encoded: What other readers were sent.
    """

    def __init__(self, subscription: Subscription, encoded: Encoded | None = None) -> None:
        self._encoded = Encoded(0) if encoded is None else encoded
        self._session = subscription.session
        self._kinds = subscription.kinds
        self._max_batch = subscription.max_batch
        self._epoch = ""
        self._head = b""

    def messages(self, items: Sequence[Item]) -> Iterator[bytes]:
        """Yield the encoded messages that carry `items`, in order.

        Raises:
            OperationError: `unsupported_input`, when an item holds bytes that are no SessionFrame.
        """
        if self._kinds:
            kept = self._filtered(items)
            encoded = map(self._encode, kept)
            return self._packed(encoded) if self._max_batch else self._one_by_one(kept)
        return self._shared(items) if self._max_batch else self._one_by_one(items)

    def _shared(self, items: Sequence[Item]) -> Iterator[bytes]:
        if not isinstance(items, FrameRun):
            yield from self._packed(map(self._encode, items))
            return
        for first in range(0, len(items), self._max_batch):
            run = items[first : first + self._max_batch]
            begin, end = run.seqs[0], run.seqs[-1]
            place = self._session, run.epoch, begin, end
            # Only without gaps do first and last place say which frames these are.
            in_a_row = end - begin == len(run) - 1
            messages = self._encoded.get(place) if in_a_row else None
            if messages is None:
                messages = self._run_messages(run)
                if in_a_row:
                    self._encoded.put(place, messages)
            yield from messages

    def _filtered(self, items: Iterable[Item]) -> Iterator[Item]:
        """Yield what was asked for, and behind frames that were held back their last place.

        A reader that resumes from there does not have them looked through again.
        """
        held: FrameItem | None = None
        for item in items:
            if isinstance(item, FrameItem) and not self._wanted(item):
                held = held if item.late else item
                continue
            # What is told next has a place of its own; what has none moves no cursor.
            if held is not None and not isinstance(item, (FrameItem, Gap)):
                yield _place_of(held)
            held = None
            yield item
        if held is not None:
            yield _place_of(held)

    def _wanted(self, item: FrameItem) -> bool:
        """Tell whether the frame is of a kind that was asked for. A transition always is."""
        frame = decode_frame(item.data)
        return bool(frame.state) or (event_kind(frame) or "unknown") in self._kinds

    def _one_by_one(self, items: Iterable[Item]) -> Iterator[bytes]:
        gap: Gap | None = None
        for item in items:
            rides = gap is not None and isinstance(item, FrameItem) and item.epoch == gap.epoch
            if gap is not None and not rides:
                yield self._encode(gap)
                gap = None
            if isinstance(item, Gap):
                gap = item
                continue
            yield self._encode(item) if gap is None else self._encode(item) + self._riding(gap)
            gap = None
        if gap is not None:
            yield self._encode(gap)

    def _riding(self, gap: Gap) -> bytes:
        """Return the gap's field alone; one message's bytes behind another's are merged."""
        alone = item_to_subscriber_frame("", gap)
        return AgentSessionFrame(gap=alone.gap).SerializeToString()

    def _packed(self, encoded: Iterable[bytes]) -> Iterator[bytes]:
        parts: list[bytes] = []
        size = count = 0
        for part in encoded:
            length = len(part)
            if count == self._max_batch or (count and size + length > _MESSAGE_BYTES):
                yield b"".join(parts)
                parts.clear()
                size = count = 0
            if count:
                # The first stands as the message itself, each other one as a field of it.
                parts += (_MORE, _varint(length))
            parts.append(part)
            size += length
            count += 1
        if parts:
            yield b"".join(parts)

    def _run_messages(self, run: FrameRun) -> tuple[bytes, ...]:
        """Return the messages that carry at most `max_batch` frames: one, when all are as usual."""
        if run.epoch != self._epoch:
            self._enter(run.epoch)
        head, frames = self._head, run.frames
        sizes = [*map(len, frames)]
        usual = (
            run.seqs[-1] < _MOST_PLACE
            and max(sizes) + len(head) + _LONGEST_PLACE < len(_SHORT)
            and sum(sizes) < _MESSAGE_BYTES - len(sizes) * (len(head) + 2 * _LONGEST_PLACE)
            and all(map(_is_event, frames))
        )
        if not usual:
            return tuple(self._packed(map(self._encode, run)))
        if run.seqs[-1] < len(_SHORT):
            places = [_SEQ + _SHORT[seq] for seq in run.seqs]
        else:
            places = [*map(_place, run.seqs)]
        pieces = [
            piece
            for data, size, place in zip(frames, sizes, places, strict=True)
            for piece in (_MORE, _SHORT[len(head) + size + len(place)], head, data, place)
        ]
        # The first stands as the message itself, each other one as a field of it.
        return (b"".join(pieces[2:]),)

    def _encode(self, item: Item) -> bytes:
        if isinstance(item, FrameItem):
            epoch, seq, data, _, late = item
            event = data if _is_event(data) else _state_and_event(data)
            if event is not None and not late:
                if epoch != self._epoch:
                    self._enter(epoch)
                return self._head + event + _place(seq)
        return item_to_subscriber_frame(self._session, item).SerializeToString()

    def _enter(self, epoch: str) -> None:
        """Prepare what stands before every event of the epoch."""
        self._epoch = epoch
        self._head = AgentSessionFrame(session_id=self._session, epoch=epoch).SerializeToString()


def _place_of(held: FrameItem) -> FrameItem:
    """Return the place alone of a frame that is held back."""
    return FrameItem(held.epoch, held.seq, b"")


def _is_event(data: bytes) -> bool:
    """Tell whether an encoded SessionFrame is one event and nothing else.

    It then stands in AgentSessionFrame as it is.
    """
    size = len(data)
    if size < 3 or data[0] != _EVENT_OF_BOTH:  # noqa: PLR2004 - a key, a length, something
        return False
    length = data[1]
    if length < 0x80:  # noqa: PLR2004 - of one byte
        return length + 2 == size
    high = data[2]
    if high < 0x80:  # noqa: PLR2004 - of two bytes, as nearly all are
        return (length & 0x7F) + (high << 7) + 3 == size
    length, after = length & 0x7F, 2
    for shift in (7, 14, 21, 28):
        byte = data[after] if after < size else 0
        length |= (byte & 0x7F) << shift
        after += 1
        if byte < 0x80:  # noqa: PLR2004 - the last one
            break
    return length + after == size


def _state_and_event(data: bytes) -> bytes | None:
    """Return an encoded SessionFrame with a state as AgentSessionFrame has it.

    None: it does not stand as protobuf writes it, and has to be decoded.
    """
    if len(data) < 2 or data[0] != _STATE_OF_SESSION_FRAME or data[1] >= 0x80:  # noqa: PLR2004 - of one byte
        return None
    if len(data) > 2 and not _is_event(data[2:]):  # noqa: PLR2004 - more than the state
        return None
    return _STATE_OF_AGENT_SESSION_FRAME + data[1:]


def _place(seq: int) -> bytes:
    """Return the field that holds the place."""
    if seq < _MOST_PLACE:
        low, high = seq & 0x3FFF, seq >> 14
        return _SEQ_BEGUN[low] + _SHORT[high] if high else _SEQ + _SHORT[low]
    return _SEQ + _varint(seq)


def _varint(number: int) -> bytes:
    """Return the number as protobuf writes it: seven bits a byte, the lowest first."""
    if number < 0x4000:  # noqa: PLR2004 - most of them, and fast
        return _SHORT[number]
    out = bytearray()
    while number > 0x7F:  # noqa: PLR2004 - seven bits
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


_ENDING = [bytes((low,)) for low in range(0x80)]
_SHORT = _ENDING + [bytes((low, high)) for high in range(1, 0x80) for low in range(0x80, 0x100)]
"""Numbers of up to 14 bits, as protobuf writes them."""

_SEQ_BEGUN = [
    _SEQ + bytes((low, high)) for high in range(0x80, 0x100) for low in range(0x80, 0x100)
]
"""The field of a place up to its lowest 14 bits, when more follow."""
