"""Failed operations as gRPC carries them: a google.rpc.Status in the trailing metadata.

Needs the extra `grpc`. Every client of gRPC can read these; ours turns them back into the same
error.
"""

from __future__ import annotations

__all__ = ("DOMAIN", "STATUS_DETAILS", "failure_from_details", "failure_to_details")

import math
from typing import TYPE_CHECKING

from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import DecodeError
from google.rpc.code_pb2 import Code
from google.rpc.error_details_pb2 import ErrorInfo, QuotaFailure, RetryInfo
from google.rpc.status_pb2 import Status

from compass_agent.errors.codes import ErrorCode, OperationError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from google.protobuf.any_pb2 import Any as Detail
    from google.protobuf.message import Message

STATUS_DETAILS = "grpc-status-details-bin"
"""The key of the metadata."""

DOMAIN = "compass.v1"
"""Marks an ErrorInfo as one of ours."""

_LONGEST_WAIT_S = 86_400.0


def failure_to_details(error: OperationError) -> bytes:
    """Return the encoded google.rpc.Status for `error`: below 4 KiB, all of it our own words."""
    info = ErrorInfo(
        reason=error.code.name,
        domain=DOMAIN,
        metadata={"retryable": str(error.retryable).lower(), "guidance": error.guidance},
    )
    details: list[Message] = [info]
    if error.code is ErrorCode.UNAVAILABLE or error.retry_after_s is not None:
        # Without a delay it says that trying again is right, and not when.
        details.append(RetryInfo(retry_delay=_delay(error.retry_after_s)))
    if error.code is ErrorCode.BUDGET_EXHAUSTED:
        violation = QuotaFailure.Violation(subject="budget", description=error.message)
        details.append(QuotaFailure(violations=[violation]))
    status = Status(code=Code.Value(error.grpc_status), message=error.message)
    for detail in details:
        status.details.add().Pack(detail)
    return status.SerializeToString()


def failure_from_details(data: bytes) -> OperationError | None:
    """Return the error that `failure_to_details` wrote; None: these bytes do not tell of one."""
    try:
        status = Status.FromString(data)
        code = _code(status.details)
        if code is None:
            return None
        return OperationError(code, retry_after_s=_retry_after_s(status.details))
    except DecodeError:
        return None


def _code(details: Iterable[Detail]) -> ErrorCode | None:
    info = ErrorInfo()
    for detail in details:
        if detail.Unpack(info) and info.domain == DOMAIN:
            try:
                return ErrorCode(info.reason.lower())
            except ValueError:
                # A code that this version does not know.
                return ErrorCode.INTERNAL
    return None


def _retry_after_s(details: Iterable[Detail]) -> float | None:
    retry = RetryInfo()
    for detail in details:
        if detail.Unpack(retry) and retry.HasField("retry_delay"):
            seconds = retry.retry_delay.seconds + retry.retry_delay.nanos / 1e9
            return min(max(seconds, 0.0), _LONGEST_WAIT_S)
    return None


def _delay(seconds: float | None) -> Duration | None:
    if seconds is None or not math.isfinite(seconds):
        return None
    nanos = round(min(max(seconds, 0.0), _LONGEST_WAIT_S) * 1e9)
    return Duration(seconds=nanos // 1_000_000_000, nanos=nanos % 1_000_000_000)
