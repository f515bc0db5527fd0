"""How a failed operation ends the command: the table's exit status, message and guidance."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable

import pytest

from broken_logs import raises
from compass_agent.cli import main
from compass_agent.errors import ErrorCode, OperationError, format_operation_error
from compass_agent.errors.codes import TABLE

Fail = Callable[[BaseException], None]


@pytest.fixture
def fail(monkeypatch: pytest.MonkeyPatch) -> Fail:
    """Make the log fail to open with the given exception."""

    def arm(error: BaseException) -> None:
        monkeypatch.setattr("compass_agent.log.open_log", raises(error))
        monkeypatch.setattr("compass_agent.cli.sessions.log_exists", bool)

    return arm


COMMANDS = (["tail", "s"], ["sessions", "--log", "sqlite:there"])


@pytest.mark.parametrize("command", COMMANDS, ids=["tail", "sessions"])
@pytest.mark.parametrize("code", ErrorCode)
def test_a_code_is_told_in_two_lines_with_its_exit_status(
    command: list[str], code: ErrorCode, fail: Fail, capsys: pytest.CaptureFixture[str]
) -> None:
    fail(OperationError(code))
    assert main(command) == TABLE[code].exit_status
    out, err = capsys.readouterr()
    assert out == ""
    assert err == f"compass: {TABLE[code].message}\n{TABLE[code].guidance}\n"


@pytest.mark.parametrize("command", COMMANDS, ids=["tail", "sessions"])
@pytest.mark.parametrize("code", ErrorCode)
def test_with_json_it_is_the_object_that_every_way_in_tells(
    command: list[str], code: ErrorCode, fail: Fail, capsys: pytest.CaptureFixture[str]
) -> None:
    error = OperationError(code, retry_after_s=2.5)
    fail(error)
    assert main([*command, "--json"]) == TABLE[code].exit_status
    out, err = capsys.readouterr()
    assert out == ""
    assert json.loads(err) == format_operation_error(error)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (RuntimeError("sk-ant-abc123"), ErrorCode.INTERNAL),
        (RuntimeError("Access denied for sk-ant-abc123"), ErrorCode.PERMISSION_DENIED),
        (ExceptionGroup("g", [RuntimeError("sk-ant-abc123")]), ErrorCode.INTERNAL),
    ],
)
def test_other_exceptions_are_classified_and_their_text_is_not_shown(
    error: Exception,
    code: ErrorCode,
    fail: Fail,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG, "compass_agent")
    fail(error)
    assert main(["tail", "s"]) == TABLE[code].exit_status
    err = capsys.readouterr().err
    assert err == f"compass: {TABLE[code].message}\n{TABLE[code].guidance}\n"
    assert [record.levelname for record in caplog.records] == ["DEBUG"]
    assert "abc123" not in caplog.text
    assert "RuntimeError" in caplog.text
