"""What readers receive through a hub: pages to messages, with the events' bytes as they are.

An event is encoded once, in the agent's process. To relay it, its bytes are set between those of
its place; nothing is decoded, however many readers there are.
"""

from __future__ import annotations

__all__ = ("SUBSCRIBE", "Relay", "Subscription", "subscription_from_bytes")

from dataclasses import dataclass
from typing import TYPE_CHECKING

from google.protobuf.message import DecodeError

from compass.v1.compass_pb2 import AgentSessionFrame, SubscribeAgentSessionRequest
from compass_agent.errors.codes import ErrorCode, OperationError
from compass_agent.frames import Cursor, InvalidCursorError, check_session_id, event_kind
from compass_agent.wire.convert import decode_frame, item_to_subscriber_frame
from compass_agent.wire.items import FrameItem, Gap

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from compass_agent.wire.items import Item

SUBSCRIBE = ("compass.v1.CompassService", "SubscribeAgentSession")
"""Service and name of the method."""

_MESSAGE_BYTES = 512 * 1024
"""A message that holds this much is sent: far below the 4 MiB that gRPC's readers take."""

# Keys of fields as they stand in the bytes: the number, and how the value is written.
_STATE_OF_SESSION_FRAME = 0x08
_STATE_OF_AGENT_SESSION_FRAME = b"\x18"
_EVENT_OF_BOTH = 0x12
_MORE_OF_AGENT_SESSION_FRAME = b"\xb2\x01"
_LONGEST_LENGTH = 5


@dataclass(frozen=True, slots=True)
class Subscription:
    """What a reader asks of a hub.

    Attributes:
        session: The session's id.
        after: Where to begin; None: with the oldest that is kept.
        follow: Go on live.
        kinds: The kinds of events to send; empty: all.
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
        OperationError: `unsupported_input`: the bytes are no such message, or name no session or
            no place in one.
    """
    try:
        request = SubscribeAgentSessionRequest.FromString(data)
        after: Cursor | None = None
        if request.after_epoch:
            after = Cursor.parse(f"{request.after_epoch}-{request.after_seq}")
    except (DecodeError, InvalidCursorError) as error:
        raise OperationError(ErrorCode.UNSUPPORTED_INPUT) from error
    return Subscription(
        session=check_session_id(request.session_id),
        after=after,
        follow=request.follow if request.HasField("follow") else True,
        kinds=frozenset(request.kinds),
        max_batch=request.max_batch,
    )


class Relay:
    """Encodes one reader's items as AgentSessionFrame.

    Args:
        subscription: What the reader asked for.
    """

    def __init__(self, subscription: Subscription) -> None:
        self._session = subscription.session
        self._kinds = subscription.kinds
        self._max_batch = subscription.max_batch
        self._heads: dict[str, bytes] = {}

    def messages(self, items: Iterable[Item]) -> Iterator[bytes]:
        """Yield the encoded messages that carry `items`, in order.

        Raises:
            OperationError: `unsupported_input`, when an item holds bytes that are no SessionFrame.
        """
        parts = self._filtered(items) if self._kinds else items
        if self._max_batch:
            return self._batched(parts)
        return self._one_by_one(parts)

    def _filtered(self, items: Iterable[Item]) -> Iterator[Item]:
        for item in items:
            if not isinstance(item, FrameItem) or self._wanted(item):
                yield item

    def _wanted(self, item: FrameItem) -> bool:
        """Tell whether the frame is of a kind that was asked for. A transition always is."""
        frame = decode_frame(item.data)
        return bool(frame.state) or event_kind(frame) in self._kinds

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

    def _batched(self, items: Iterable[Item]) -> Iterator[bytes]:
        parts: list[bytes] = []
        size = count = 0
        for item in items:
            part = self._encode(item)
            if count and (count >= self._max_batch or size + len(part) > _MESSAGE_BYTES):
                yield b"".join(parts)
                parts, size, count = [], 0, 0
            if count:
                parts += (_MORE_OF_AGENT_SESSION_FRAME, _varint(len(part)))
            parts.append(part)
            size += len(part)
            count += 1
        if parts:
            yield b"".join(parts)

    def _encode(self, item: Item) -> bytes:
        if isinstance(item, FrameItem):
            event = _relayed(item.data)
            if event is not None:
                place = AgentSessionFrame(seq=item.seq, late=item.late)
                return self._head(item.epoch) + event + place.SerializeToString()
        return item_to_subscriber_frame(self._session, item).SerializeToString()

    def _head(self, epoch: str) -> bytes:
        head = self._heads.get(epoch)
        if head is None:
            frame = AgentSessionFrame(session_id=self._session, epoch=epoch)
            self._heads = {epoch: frame.SerializeToString()}
            head = self._heads[epoch]
        return head


def _relayed(data: bytes) -> bytes | None:
    """Return event and state of an encoded SessionFrame as AgentSessionFrame has them.

    None: the bytes do not stand as protobuf writes them, and have to be decoded.
    """
    if len(data) > 1 and data[0] == _STATE_OF_SESSION_FRAME and data[1] < 0x80:  # noqa: PLR2004 - of one byte
        if len(data) == 2 or _is_one_event(data, 2):  # noqa: PLR2004 - the state alone
            return _STATE_OF_AGENT_SESSION_FRAME + data[1:]
        return None
    return data if _is_one_event(data, 0) else None


def _is_one_event(data: bytes, start: int) -> bool:
    """Tell whether one event, and nothing else, stands in `data` from `start` on."""
    if len(data) <= start + 1 or data[start] != _EVENT_OF_BOTH:
        return False
    length = shift = 0
    for at in range(start + 1, min(len(data), start + 1 + _LONGEST_LENGTH)):
        length |= (data[at] & 0x7F) << shift
        if data[at] < 0x80:  # noqa: PLR2004 - the last byte of a number
            return at + 1 + length == len(data)
        shift += 7
    return False


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:  # noqa: PLR2004 - seven bits a byte
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)
