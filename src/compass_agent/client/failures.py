"""How a tail fails, and what broken calls of grpclib mean."""

from __future__ import annotations

__all__ = ("BROKEN", "FailureDetails", "TailError", "failure_of")

from typing import TYPE_CHECKING

from grpclib.const import Status
from grpclib.encoding.base import StatusDetailsCodecBase
from grpclib.exceptions import GRPCError, ProtocolError, StreamTerminatedError
from h2.exceptions import H2Error

from compass_agent.errors.codes import ErrorCode, OperationError
from compass_agent.wire.status import failure_from_details

if TYPE_CHECKING:
    from compass_agent.frames import Cursor

BROKEN = (GRPCError, StreamTerminatedError, ProtocolError, H2Error, OSError, TimeoutError)
"""What a call raises that the hub, or the way to it, failed."""

# What a status means that came without details.
_MEANINGS = {
    Status.PERMISSION_DENIED: ErrorCode.PERMISSION_DENIED,
    Status.UNAUTHENTICATED: ErrorCode.PERMISSION_DENIED,
    Status.NOT_FOUND: ErrorCode.NOT_FOUND,
    Status.ABORTED: ErrorCode.CONFLICT,
    Status.INVALID_ARGUMENT: ErrorCode.UNSUPPORTED_INPUT,
    # An older hub.
    Status.UNIMPLEMENTED: ErrorCode.UNSUPPORTED_INPUT,
}


class TailError(OperationError):
    """A tail failed, or gave up: it never just stops.

    Attributes:
        cursor: Behind it a later tail goes on, without hole or repeat; None: nothing was read.
    """

    def __init__(
        self,
        code: ErrorCode | str,
        *,
        retry_after_s: float | None = None,
        cursor: Cursor | None = None,
    ) -> None:
        super().__init__(code, retry_after_s=retry_after_s)
        self.cursor = cursor


class FailureDetails(StatusDetailsCodecBase):
    """Reads a hub's `google.rpc.Status` as the failed operation that it tells of."""

    def encode(self, status: Status, message: str | None, details: object) -> bytes:
        """Refuse: a client sends none."""
        raise NotImplementedError

    def decode(self, status: Status, message: str | None, data: bytes) -> OperationError | None:
        """Return the error; None: these bytes do not tell of one."""
        del status, message
        return failure_from_details(data)


def failure_of(error: Exception) -> OperationError:
    """Return the failed operation that one of `BROKEN` tells of.

    Anything that a hub did not say itself is the connection's: `unavailable`.
    """
    if isinstance(error, GRPCError):
        if isinstance(error.details, OperationError):
            return error.details
        return OperationError(_MEANINGS.get(error.status, ErrorCode.UNAVAILABLE))
    if isinstance(error, PermissionError):
        return OperationError(ErrorCode.PERMISSION_DENIED)
    return OperationError(ErrorCode.UNAVAILABLE)
