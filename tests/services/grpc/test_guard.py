"""Every failure as a real client of gRPC gets it: code, details, and none of our texts."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

import anyio
import grpc
import pytest
from google.rpc.error_details_pb2 import ErrorInfo, QuotaFailure, RetryInfo
from google.rpc.status_pb2 import Status
from grpc import aio

from compass_agent.errors.codes import TABLE, ErrorCode, OperationError
from compass_agent.log.memory import MemoryLog
from compass_agent.runtime.hub import running_hub
from compass_agent.services.grpc import HubReader
from compass_agent.wire.sessions import GET_SESSION, LIST_SESSIONS, get_request_to_bytes
from compass_agent.wire.status import failure_from_details, failure_to_details
from hubs import subscribed
from writing_logs import S

if TYPE_CHECKING:
    from pathlib import Path

    from compass_agent.log.read import SessionSummary
    from compass_agent.log.reading import Place, View

SECRET = "sk-ant-api03-" + "a1B2c3D4" * 6
DETAILS = "grpc-status-details-bin"
TOKEN = "-".join(["0123456789abcdef"] * 2)


class FailingLog(MemoryLog):
    """Raises what it is given, whatever is asked."""

    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self.error = error

    async def look(self, session: str, place: Place, page_frames: int) -> View | None:
        del session, place, page_frames
        raise self.error

    async def sessions(self) -> list[SessionSummary]:
        raise self.error


async def asked(
    target: str,
    method: tuple[str, str] = LIST_SESSIONS,
    request: bytes = b"",
    metadata: tuple[tuple[str, str], ...] = (),
) -> aio.AioRpcError:
    """The error of a call from a client that knows nothing of ours."""
    async with aio.insecure_channel(target) as channel:
        ask: aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(
            "/{}/{}".format(*method)
        )
        with pytest.raises(aio.AioRpcError) as caught, anyio.fail_after(10):
            await ask(request, metadata=metadata, timeout=60)
    return caught.value


def details_of(error: aio.AioRpcError) -> Status | None:
    found: dict[str, Any] = dict(error.trailing_metadata())
    return Status.FromString(found[DETAILS]) if DETAILS in found else None


def same(one: OperationError, other: OperationError) -> bool:
    names = ("code", "message", "guidance", "retryable", "http_status", "grpc_status")
    return one.retry_after_s == other.retry_after_s and all(
        getattr(one, name) == getattr(other, name) for name in names
    )


@pytest.mark.requirement("G-HUB-7")
@pytest.mark.parametrize("retry_after_s", [None, 0.0, 7.25])
@pytest.mark.parametrize("code", ErrorCode)
async def test_each_of_the_nine_codes_crosses_field_by_field(
    place: Path, code: ErrorCode, retry_after_s: float | None
) -> None:
    error = OperationError(code, retry_after_s=retry_after_s)
    async with running_hub(FailingLog(error), unix=place) as hub:
        plain = await asked(hub.targets[0])
        reader = HubReader(hub.targets[0])
        with pytest.raises(OperationError) as listing:
            await reader.sessions()
        with pytest.raises(OperationError) as reading:
            await anext(reader.read(S))
        await reader.aclose()
    assert same(listing.value, error)
    assert same(reading.value, error)
    row = TABLE[code]
    assert (plain.code().name, plain.details()) == (row.grpc_status, row.message)
    status = details_of(plain)
    assert status is not None
    assert (status.code, status.message) == (plain.code().value[0], row.message)
    info, retry, quota = ErrorInfo(), RetryInfo(), QuotaFailure()
    assert status.details[0].Unpack(info)
    assert (info.reason, info.domain) == (code.name, "compass.v1")
    assert dict(info.metadata) == {
        "retryable": "true" if row.retryable else "false",
        "guidance": row.guidance,
    }
    has_retry = any(detail.Unpack(retry) for detail in status.details)
    assert has_retry == (code is ErrorCode.UNAVAILABLE or retry_after_s is not None)
    has_quota = any(detail.Unpack(quota) for detail in status.details)
    assert has_quota == (code is ErrorCode.BUDGET_EXHAUSTED)
    assert status.ByteSize() < 4096


@pytest.mark.requirement("G-HUB-6")
@pytest.mark.parametrize("method", [LIST_SESSIONS, GET_SESSION])
async def test_an_unexpected_exception_is_internal_and_logged_once_with_its_text(
    place: Path, method: tuple[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    log = FailingLog(RuntimeError(f"a secret path, {SECRET}"))
    async with running_hub(log, unix=place) as hub:
        error = await asked(hub.targets[0], method, get_request_to_bytes(S))
    assert error.code() is grpc.StatusCode.INTERNAL
    assert "secret" not in repr((error, error.trailing_metadata()))
    logged = [one for one in caplog.records if one.name.startswith("compass")]
    assert [one.levelno for one in logged] == [logging.ERROR]
    # As text with secrets masked: of `exc_info` a handler would print all.
    assert logged[0].exc_info is None
    assert "a secret path" in logged[0].getMessage()
    assert SECRET not in logged[0].getMessage()


@pytest.mark.parametrize(
    ("code", "times"),
    [
        (ErrorCode.UNAVAILABLE, 1),
        (ErrorCode.STORAGE_FAILED, 1),
        (ErrorCode.NOT_FOUND, 0),
        (ErrorCode.CONFLICT, 0),
    ],
)
async def test_the_cause_of_a_failure_is_logged_once_when_it_is_the_hubs_own(
    place: Path, code: ErrorCode, times: int, caplog: pytest.LogCaptureFixture
) -> None:
    error = OperationError(code)
    error.__cause__ = OSError("a secret path")
    async with running_hub(FailingLog(error), unix=place) as hub:
        told = await asked(hub.targets[0])
    assert "secret" not in repr((told, told.trailing_metadata()))
    assert len([one for one in caplog.records if one.name.startswith("compass")]) == times


@pytest.mark.requirement("G-HUB-7")
@pytest.mark.parametrize("method", [LIST_SESSIONS, GET_SESSION])
async def test_a_cancelled_handler_answers_at_once(place: Path, method: tuple[str, str]) -> None:
    log = FailingLog(asyncio.CancelledError())
    async with running_hub(log, unix=place) as hub:
        error = await asked(hub.targets[0], method, get_request_to_bytes(S))
        assert error.code() is grpc.StatusCode.CANCELLED
        async with subscribed(hub.targets[0], session_id=S) as reader:
            with anyio.fail_after(10), pytest.raises(aio.AioRpcError) as caught:
                await reader.next()
        assert caught.value.code() is grpc.StatusCode.CANCELLED


@pytest.mark.requirement("G-HUB-7")
@pytest.mark.parametrize(
    ("method", "request_"),
    [
        (LIST_SESSIONS, b"\xff"),
        (LIST_SESSIONS, b"\x12\x01x"),
        (LIST_SESSIONS, b"\x12\x060.x.s1"),
        (GET_SESSION, b"\xff"),
    ],
)
async def test_a_request_that_cannot_be_read_is_none_of_the_nine(
    place: Path, method: tuple[str, str], request_: bytes
) -> None:
    async with running_hub(MemoryLog(), unix=place) as hub:
        error = await asked(hub.targets[0], method, request_)
    assert (error.code(), details_of(error)) == (grpc.StatusCode.INVALID_ARGUMENT, None)


async def test_a_place_that_cannot_be_read_is_none_of_the_nine(place: Path) -> None:
    async with (
        running_hub(MemoryLog(), unix=place) as hub,
        subscribed(hub.targets[0], session_id=S, after_epoch="?") as reader,
    ):
        with pytest.raises(aio.AioRpcError) as caught:
            await reader.next()
    error = caught.value
    assert (error.code(), details_of(error)) == (grpc.StatusCode.INVALID_ARGUMENT, None)


@pytest.mark.requirement("G-HUB-5")
@pytest.mark.parametrize("given", [None, "Bearer " + TOKEN[1:], TOKEN, "Basic " + TOKEN])
async def test_who_brings_no_credentials_is_not_authenticated(given: str | None) -> None:
    metadata = () if given is None else (("authorization", given),)
    async with running_hub(MemoryLog(), listen="127.0.0.1:0", token=TOKEN) as hub:
        error = await asked(hub.targets[0], metadata=metadata)
        assert (error.code(), details_of(error)) == (grpc.StatusCode.UNAUTHENTICATED, None)
        reader = HubReader(hub.targets[0], TOKEN + "x")
        with pytest.raises(OperationError) as caught:
            await reader.sessions()
        await reader.aclose()
    assert caught.value.code is ErrorCode.PERMISSION_DENIED


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
async def test_the_case_of_the_scheme_does_not_matter(scheme: str) -> None:
    async with running_hub(MemoryLog(), listen="127.0.0.1:0", token=TOKEN) as hub:
        metadata = (("authorization", f"{scheme} {TOKEN}"),)
        error = await asked(hub.targets[0], GET_SESSION, get_request_to_bytes(S), metadata)
    assert error.code() is grpc.StatusCode.NOT_FOUND


def test_details_that_are_not_ours_tell_of_no_failure() -> None:
    assert failure_from_details(b"\xff") is None
    foreign = Status(code=7, message="no")
    foreign.details.add().Pack(ErrorInfo(reason="NOT_FOUND", domain="example.com"))
    assert failure_from_details(foreign.SerializeToString()) is None
    newer = Status(code=7)
    newer.details.add().Pack(ErrorInfo(reason="OUT_OF_CHEESE", domain="compass.v1"))
    told = failure_from_details(newer.SerializeToString())
    assert told is not None
    assert told.code is ErrorCode.INTERNAL


@pytest.mark.parametrize(
    ("given", "read"), [(float("nan"), None), (-1.0, 0.0), (1e12, 86_400.0), (0.1, 0.1)]
)
def test_a_wait_that_makes_no_sense_is_kept_within_bounds(given: float, read: float | None) -> None:
    details = failure_to_details(OperationError(ErrorCode.UNAVAILABLE, retry_after_s=given))
    told = failure_from_details(details)
    assert told is not None
    assert told.retry_after_s == read
