"""What a reader of a hub receives, turned back into items: the other end of `relay`."""

from __future__ import annotations

__all__ = ("items_from_bytes", "items_from_json", "subscription_to_bytes")

from typing import TYPE_CHECKING, TypeVar

from google.protobuf.message import DecodeError

from compass.v1.compass_pb2 import AgentSessionFrame, SessionFrame, SubscribeAgentSessionRequest
from compass_agent.errors.codes import ErrorCode, OperationError
from compass_agent.wire.items import (
    CaughtUp,
    End,
    FrameItem,
    Gap,
    GapReason,
    Reset,
    ResetReason,
    StateSignal,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compass_agent.wire.items import Item
    from compass_agent.wire.relay import Subscription

_Reason = TypeVar("_Reason", GapReason, ResetReason)


def subscription_to_bytes(wanted: Subscription) -> bytes:
    """Return the SubscribeAgentSessionRequest that asks for `wanted`."""
    return SubscribeAgentSessionRequest(
        session_id=wanted.session,
        after_epoch="" if wanted.after is None else wanted.after.epoch,
        after_seq=0 if wanted.after is None else wanted.after.seq,
        follow=wanted.follow,
        kinds=sorted(wanted.kinds),
        max_batch=wanted.max_batch,
    ).SerializeToString()


def items_from_bytes(data: bytes) -> list[Item]:
    """Return what one message of the stream holds, in order.

    Frames hold the events as they were emitted, with what this version does not know of them. Which
    lane a frame came through is not told by a hub.

    Raises:
        OperationError: `unavailable`, when the bytes are no such message.
    """
    try:
        message = AgentSessionFrame.FromString(data)
    except DecodeError as error:
        raise OperationError(ErrorCode.UNAVAILABLE) from error
    return [item for part in (message, *message.more) for item in _items(part)]


def items_from_json(line: bytes | str) -> tuple[str, list[Item]]:
    """Return the session and the items of one line that `item_to_json` wrote.

    Frames hold what this version knows of the events; the lane that they came through is not told.

    Raises:
        OperationError: `unsupported_input`, when it is no such line.
    """
    from google.protobuf.json_format import Parse, ParseError  # noqa: PLC0415 - dear to import

    try:
        message = Parse(line, AgentSessionFrame(), ignore_unknown_fields=True)
    except (ParseError, ValueError, RecursionError) as error:
        raise OperationError(ErrorCode.UNSUPPORTED_INPUT) from error
    found = [item for part in (message, *message.more) for item in _items(part)]
    return message.session_id, found


def _items(part: AgentSessionFrame) -> Iterator[Item]:
    gap = part.gap if part.HasField("gap") else None
    if gap is not None:
        why = _known(GapReason, gap.reason)
        yield Gap(part.epoch, gap.first_seq, gap.last_seq, why)
    if part.HasField("reset"):
        yield Reset(part.epoch, _known(ResetReason, part.reset.reason))
    elif part.HasField("end"):
        yield End(part.epoch, part.end.last_seq, part.end.state, part.end.reason)
    elif part.caught_up:
        yield CaughtUp(part.epoch)
    elif part.seq and (gap is None or part.seq != gap.last_seq):
        yield FrameItem(part.epoch, part.seq, _frame(part), late=part.late)
    elif part.state and not part.seq:
        yield StateSignal(part.epoch, part.state)


def _frame(part: AgentSessionFrame) -> bytes:
    frame = SessionFrame(state=part.state)
    if part.HasField("event"):
        frame.typed_event.CopyFrom(part.event)
    return frame.SerializeToString()


def _known(reasons: type[_Reason], number: int) -> _Reason:
    """Return the reason; what a newer hub says is UNSPECIFIED."""
    try:
        return reasons(number)
    except ValueError:
        return reasons(0)
