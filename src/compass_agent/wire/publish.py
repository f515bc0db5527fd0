"""Batches and answers as an agent process and a hub send them to each other.

What crosses is the same on both ends: a batch, or an answer, that was written here reads as equal.
"""

from __future__ import annotations

__all__ = (
    "MAX_FRAME_BYTES",
    "PUBLISH_FRAME",
    "PublishRequest",
    "answer_from_bytes",
    "answer_to_bytes",
    "request_from_bytes",
    "request_to_bytes",
)

from typing import TYPE_CHECKING, NamedTuple

from google.protobuf.message import DecodeError

from compass.v1.agent_gateway_pb2 import (
    PublishFrameRequest,
    PublishFrameResponse,
    SequencedFrame,
    SessionOpen,
)
from compass.v1.compass_pb2 import SessionEnd
from compass_agent.errors.codes import ErrorCode, OperationError
from compass_agent.frames import as_state, valid_text
from compass_agent.wire.batch import Answer, Batch, EndMark, SessionMeta
from compass_agent.wire.convert import decode_frame
from compass_agent.wire.malformed import MalformedRequestError

if TYPE_CHECKING:
    from collections.abc import Iterable

PUBLISH_FRAME = ("compass.v1.AgentGatewayService", "PublishFrame")
"""Service and name of the method."""

MAX_FRAME_BYTES = 3 * 1024 * 1024
"""A larger frame is refused: readers with gRPC's own limit of 4 MiB could never be given it."""

_LARGEST_NUMBER = 2**63 - 1


class PublishRequest(NamedTuple):
    """One message to a hub.

    Attributes:
        batch: What is to be stored. Number 0: nothing; the message only opens the epoch, or says of
            a recovered one that its writer is gone.
        meta: Not None: open the epoch before.
        recovered: The epoch's writer is gone, and somebody delivers what it left.
    """

    batch: Batch
    meta: SessionMeta | None
    recovered: bool = False

    def check(self) -> None:
        """Check what comes from outside before a log sees it: every frame must decode.

        Raises:
            OperationError: `unsupported_input`, when it does not, or is too large.
        """
        frames = (*self.batch.priority, *self.batch.trace)
        if self.batch.number > _LARGEST_NUMBER or any(
            len(data) > MAX_FRAME_BYTES for _, data in frames
        ):
            raise OperationError(ErrorCode.UNSUPPORTED_INPUT)
        for _, data in frames:
            decode_frame(data)


def request_to_bytes(
    batch: Batch, meta: SessionMeta | None = None, *, recovered: bool = False
) -> bytes:
    """Return the message that carries `batch`, and opens its epoch when `meta` is given.

    Only a message that opens can say `recovered`.
    """
    request = PublishFrameRequest(
        session_id=batch.session,
        epoch=batch.epoch,
        priority=_sequenced(batch.priority),
        trace=_sequenced(batch.trace),
        through=batch.through,
        prev_priority=batch.prev_priority,
        batch=batch.number,
        lost_priority=batch.lost_priority,
    )
    if meta is not None:
        request.open.CopyFrom(
            SessionOpen(
                title=valid_text(meta.title),
                agent=valid_text(meta.agent),
                version=valid_text(meta.version),
                recovered=recovered,
            )
        )
    if batch.end is not None:
        request.end.CopyFrom(
            SessionEnd(
                state=as_state(batch.end.state),
                reason=valid_text(batch.end.reason),
                last_seq=batch.end.last_seq,
                prev_priority=batch.end.prev_priority,
            )
        )
    return request.SerializeToString()


def request_from_bytes(data: bytes) -> PublishRequest:
    """Read what `request_to_bytes` wrote. Frames are not looked at; that is for `check`.

    Raises:
        MalformedRequestError: The bytes are no such message.
    """
    try:
        request = PublishFrameRequest.FromString(data)
    except DecodeError as error:
        raise MalformedRequestError("a message is no PublishFrameRequest") from error
    end: EndMark | None = None
    if request.HasField("end"):
        mark = request.end
        end = EndMark(mark.state, mark.reason, mark.last_seq, mark.prev_priority)
    meta: SessionMeta | None = None
    if request.HasField("open"):
        meta = SessionMeta(request.open.title, request.open.agent, request.open.version)
    batch = Batch(
        session=request.session_id,
        epoch=request.epoch,
        number=request.batch,
        priority=[(frame.seq, frame.frame) for frame in request.priority],
        trace=[(frame.seq, frame.frame) for frame in request.trace],
        through=request.through,
        prev_priority=request.prev_priority,
        end=end,
        lost_priority=request.lost_priority,
    )
    return PublishRequest(batch, meta, request.open.recovered)


def answer_to_bytes(session: str, epoch: str, answer: Answer) -> bytes:
    """Return the message that carries `answer`, which is about a batch of `session` and `epoch`."""
    return PublishFrameResponse(
        session_id=session,
        epoch=epoch,
        batch=answer.batch,
        last_priority=answer.last_priority,
        through=answer.through,
        late_trace=answer.late_trace,
        missing_from=answer.missing_from,
        sealed=answer.sealed,
        code="" if answer.code is None else str(answer.code),
    ).SerializeToString()


def answer_from_bytes(data: bytes) -> tuple[str, str, Answer]:
    """Return the session, the epoch and the answer that `answer_to_bytes` wrote.

    A code that this version does not know reads as `internal`.

    Raises:
        OperationError: `unavailable`, when the bytes are no such message: what became of the batch
            is not known.
    """
    try:
        response = PublishFrameResponse.FromString(data)
    except DecodeError as error:
        raise OperationError(ErrorCode.UNAVAILABLE) from error
    answer = Answer(
        batch=response.batch,
        last_priority=response.last_priority,
        through=response.through,
        late_trace=response.late_trace,
        missing_from=response.missing_from,
        sealed=response.sealed,
        code=_code(response.code) if response.code else None,
    )
    return response.session_id, response.epoch, answer


def _sequenced(frames: Iterable[tuple[int, bytes]]) -> list[SequencedFrame]:
    return [SequencedFrame(seq=seq, frame=data) for seq, data in frames]


def _code(text: str) -> ErrorCode:
    try:
        return ErrorCode(text)
    except ValueError:
        return ErrorCode.INTERNAL
