"""A failed operation is told alike by gRPC, HTTP, SSE, MCP and the command, field by field."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import pytest

from compass_agent.errors.codes import TABLE, ErrorCode, OperationError
from compass_agent.errors.repeats import REPEATS
from compass_agent.log.read import ReadLog
from compass_agent.services import (
    export_session,
    get_session,
    read_entries,
    read_session,
    resolve_session,
    tail,
)
from compass_agent.services.grpc import HubReader
from ways_in import FailingLog, opened_ways
from writing_logs import E1, S, batch

if TYPE_CHECKING:
    from pathlib import Path

SECRET = "sk-ant-api03-" + "a1B2c3D4" * 6
NOTHING_ELSE = "the text of a cause"


async def stored() -> FailingLog:
    """A session of two frames that goes on."""
    log = FailingLog()
    await log.open(S, E1)
    await log.append(batch(1, trace=[1, 2], through=2))
    return log


def expected(error: OperationError) -> dict[str, Any]:
    row = TABLE[error.code]
    told: dict[str, Any] = {
        "code": error.code.value,
        "message": row.message,
        "retryable": row.retryable,
        "guidance": row.guidance,
    }
    wait = error.retry_after_s
    return told if wait is None else told | {"retry_after_s": wait}


@pytest.mark.requirement("G-ERR-4")
@pytest.mark.parametrize("retry_after_s", [None, 7.25])
@pytest.mark.parametrize("code", ErrorCode)
async def test_every_code_is_told_alike_by_every_way_in(
    place: Path, monkeypatch: pytest.MonkeyPatch, code: ErrorCode, retry_after_s: float | None
) -> None:
    error = OperationError(code, retry_after_s=retry_after_s)
    log = await stored()
    async with opened_ways(log, place, monkeypatch) as ways:
        log.error = lambda: OperationError(code, retry_after_s=retry_after_s)
        told = {name: (await way()).told for name, way in (ways.all() | ways.later()).items()}
    assert told == dict.fromkeys(told, expected(error))
    assert len(told) == 19


@pytest.mark.requirement("G-ERR-4")
async def test_an_unexpected_exception_is_internal_everywhere_and_its_secret_reaches_nobody(
    place: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    log = await stored()
    internal = expected(OperationError(ErrorCode.INTERNAL))
    async with opened_ways(log, place, monkeypatch) as ways:
        log.error = lambda: RuntimeError(f"{NOTHING_ELSE}: {SECRET}")
        for name, way in (ways.all() | ways.later()).items():
            caplog.clear()
            REPEATS.forget()
            said = await way()
            assert (name, said.told) == (name, internal)
            assert SECRET not in said.raw
            assert NOTHING_ELSE not in said.raw
            records = [one for one in caplog.records if one.levelno >= logging.WARNING]
            # The terminal is the user's: the command tells a cause to those alone who ask for it.
            assert len(records) == (0 if name.startswith("cli") else 1), (name, caplog.text)
            for record in records:
                text = record.getMessage()
                assert (NOTHING_ELSE in text, SECRET in text) == (True, False)
                assert (record.exc_info, record.levelno) == (None, logging.ERROR)


@pytest.mark.parametrize(
    ("code", "times"),
    [
        (ErrorCode.UNAVAILABLE, 1),
        (ErrorCode.STORAGE_FAILED, 1),
        (ErrorCode.NOT_FOUND, 0),
        (ErrorCode.BUDGET_EXHAUSTED, 0),
    ],
)
async def test_the_cause_of_a_failed_operation_is_logged_once_whoever_asks(
    place: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    code: ErrorCode,
    times: int,
) -> None:
    def broken() -> OperationError:
        error = OperationError(code)
        error.__cause__ = OSError(f"{NOTHING_ELSE}: {SECRET}")
        return error

    log = await stored()
    async with opened_ways(log, place, monkeypatch) as ways:
        log.error = broken
        for name, way in (ways.all() | ways.later()).items():
            if not name.startswith("cli"):
                caplog.clear()
                REPEATS.forget()
                said = await way()
                assert (name, caplog.text.count(NOTHING_ELSE)) == (name, times)
                assert NOTHING_ELSE not in said.raw
                assert SECRET not in caplog.text


@pytest.mark.requirement("G-ERR-4")
async def test_an_unknown_session_is_not_found_by_every_way_in(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = await stored()
    absent = expected(OperationError(ErrorCode.NOT_FOUND))
    async with opened_ways(log, place, monkeypatch) as ways:
        told = {name: (await way()).told for name, way in ways.of("nobody").items()}
        assert told == dict.fromkeys(told, absent)
        reader = HubReader(ways.target)
        try:
            for one in (log, reader):
                for operation in (got, read, folded, tailed, exported, resolved):
                    with pytest.raises(OperationError) as caught:
                        await operation(one)
                    assert caught.value.code is ErrorCode.NOT_FOUND
        finally:
            await reader.aclose()


async def got(log: ReadLog) -> None:
    await get_session(log, "nobody")


async def read(log: ReadLog) -> None:
    await read_session(log, "nobody")


async def folded(log: ReadLog) -> None:
    await read_entries(log, "nobody")


async def tailed(log: ReadLog) -> None:
    await anext(tail(log, "nobody"))


async def exported(log: ReadLog) -> None:
    await anext(export_session(log, "nobody"))


async def resolved(log: ReadLog) -> None:
    await resolve_session(log, "nobody")
