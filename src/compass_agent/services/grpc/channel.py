"""The reader's end of a connection to a hub: how it is kept, and what its failures mean."""

from __future__ import annotations

__all__ = ("failure_of", "hub_channel")

from typing import TYPE_CHECKING

import grpc
from grpc import aio

from compass_agent.errors.codes import ErrorCode, OperationError
from compass_agent.log.hubs import CHANNEL_OPTIONS
from compass_agent.wire.status import STATUS_DETAILS, failure_from_details

if TYPE_CHECKING:
    from collections.abc import Iterable

# What a status means that came without details: from something between, or from gRPC itself.
_MEANINGS = {
    grpc.StatusCode.PERMISSION_DENIED: ErrorCode.PERMISSION_DENIED,
    grpc.StatusCode.UNAUTHENTICATED: ErrorCode.PERMISSION_DENIED,
    grpc.StatusCode.NOT_FOUND: ErrorCode.NOT_FOUND,
    grpc.StatusCode.ABORTED: ErrorCode.CONFLICT,
    grpc.StatusCode.INVALID_ARGUMENT: ErrorCode.UNSUPPORTED_INPUT,
    # An older hub.
    grpc.StatusCode.UNIMPLEMENTED: ErrorCode.UNSUPPORTED_INPUT,
}


def hub_channel(target: str) -> aio.Channel:
    """Return a channel to the hub at `target`. It connects when it is used."""
    return aio.insecure_channel(target, options=CHANNEL_OPTIONS)


def failure_of(error: grpc.RpcError) -> OperationError:
    """Return the failed operation that a broken call tells of.

    Anything that a hub did not say itself is the connection's: `unavailable`.
    """
    if not isinstance(error, aio.AioRpcError):
        return OperationError(ErrorCode.UNAVAILABLE)
    metadata: Iterable[tuple[str, str | bytes]] = error.trailing_metadata() or ()
    for key, value in metadata:
        if key == STATUS_DETAILS and isinstance(value, bytes):
            told = failure_from_details(value)
            if told is not None:
                return told
    return OperationError(_MEANINGS.get(error.code(), ErrorCode.UNAVAILABLE))
