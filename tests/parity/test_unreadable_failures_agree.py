"""Every way in has an answer even when the failure cannot be classified."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import pytest

from compass_agent.errors import ErrorCode, OperationError, answering, format_operation_error
from compass_agent.errors.repeats import REPEATS
from ways_in import FailingLog, opened_ways
from writing_logs import E1, S, batch

if TYPE_CHECKING:
    from pathlib import Path

SECRET = "sk-ant-api03-" + "a1B2c3D4" * 6
CAUSE = "the text of a cause"
BROKEN = "the text of a broken rule"


@pytest.mark.requirement("G-ERR-4")
async def test_what_cannot_be_classified_is_internal_everywhere(
    place: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(_error: object, **_: object) -> OperationError:
        message = f"{BROKEN}: {SECRET}"
        raise TypeError(message)

    monkeypatch.setattr(answering, "classify_operation_error", broken)
    internal = format_operation_error(OperationError(ErrorCode.INTERNAL))
    del internal["success"]
    log = FailingLog()
    await log.open(S, E1)
    await log.append(batch(1, trace=[1, 2], through=2))
    async with opened_ways(log, place, monkeypatch) as ways:
        log.error = lambda: RuntimeError(f"{CAUSE}: {SECRET}")
        for name, way in (ways.all() | ways.later()).items():
            caplog.clear()
            REPEATS.forget()
            said = await way()
            assert (name, said.told) == (name, internal)
            assert not any(text in said.raw for text in (SECRET, CAUSE, BROKEN)), name
            records = [one for one in caplog.records if one.levelno >= logging.WARNING]
            assert len(records) == (0 if name.startswith("cli") else 1), (name, caplog.text)
            for record in records:
                text = record.getMessage()
                assert (CAUSE in text, BROKEN in text, SECRET in text) == (True, True, False)
