"""What an operation raised gets its code by type, by shape, by text, in this order."""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
import sqlite3
import ssl
from collections import deque
from typing import Any

import anyio
import jsonschema
import pydantic
import pytest
import trio

from compass_agent.errors import ErrorCode, OperationError, classify_operation_error, log_cause
from compass_agent.log.sqlite.faults import reported


def code_of(error: object) -> str:
    """Return the code; nothing is logged."""
    quiet: list[OperationError] = []
    return classify_operation_error(error, log=quiet.append).code.value


def made(name: str, *bases: type[BaseException], module: str = "x", **attributes: Any) -> Exception:
    """Return an exception of a class of some library, with these attributes."""
    kind = type(name, bases or (Exception,), {"__module__": module})
    error = kind("some words")
    for key, value in attributes.items():
        setattr(error, key, value)
    return error


def sqlite_error(code: int) -> sqlite3.Error:
    error = sqlite3.OperationalError("some words")
    error.sqlite_errorcode = code
    return error


def caused(error: Exception, cause: BaseException) -> Exception:
    error.__cause__ = cause
    return error


@pytest.mark.parametrize("code", range(102))
def test_sqlite_decides_by_its_own_code_as_in_the_log(code: int) -> None:
    for extended in (code, code | 2 << 8):
        with pytest.raises(OperationError) as found, reported():
            raise sqlite_error(extended)
        assert code_of(sqlite_error(extended)) == found.value.code.value


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (sqlite_error(sqlite3.SQLITE_BUSY), "unavailable"),
        (sqlite_error(sqlite3.SQLITE_READONLY), "storage_failed"),
        (sqlite_error(sqlite3.SQLITE_PERM), "permission_denied"),
        (sqlite3.OperationalError("database is locked"), "unavailable"),
        (sqlite3.DatabaseError("file is not a database"), "storage_failed"),
        (made("DBAPIError", orig=sqlite_error(sqlite3.SQLITE_LOCKED)), "unavailable"),
        (made("SerializationError", sqlstate="40001"), "unavailable"),
        (made("OperationalError", pgcode="57014"), "unavailable"),
        (made("ConnectionFailure", sqlstate="08006"), "unavailable"),
        (made("AdminShutdown", sqlstate="57P01"), "unavailable"),
        (made("UniqueViolation", sqlstate="23505"), "conflict"),
        (made("InsufficientPrivilege", sqlstate="42501"), "permission_denied"),
        (made("UndefinedTable", sqlstate="42P01"), "storage_failed"),
        (made("NotFoundError", module="nats.js.errors", code=404, err_code=10059), "not_found"),
        (made("BadRequestError", module="nats.js.errors", code=400, err_code=10071), "conflict"),
        (made("ServiceUnavailableError", module="nats.js.errors", code=503), "unavailable"),
        (made("ServerError", module="nats.js.errors", code=500), "storage_failed"),
        (made("NoServersError", module="nats.errors"), "unavailable"),
        (made("TimeoutError", TimeoutError, module="nats.errors"), "unavailable"),
    ],
)
def test_engines_decide_by_their_own_codes(error: Exception, code: str) -> None:
    assert code_of(error) == code


class Status:
    """As the members of gRPC's enumeration."""

    def __init__(self, name: str) -> None:
        self.name = name


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("UNAVAILABLE", "unavailable"),
        ("DEADLINE_EXCEEDED", "unavailable"),
        ("PERMISSION_DENIED", "permission_denied"),
        ("NOT_FOUND", "not_found"),
        ("ABORTED", "conflict"),
        ("UNKNOWN", "internal"),
    ],
)
def test_a_link_over_grpc_decides_by_its_status(name: str, code: str) -> None:
    assert (
        code_of(made("AioRpcError", type("RpcError", (Exception,), {}), code=lambda: Status(name)))
        == code
    )
    assert code_of(made("GRPCError", status=Status(name))) == code


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (TimeoutError(), "unavailable"),
        (trio.TooSlowError(), "unavailable"),
        (made("ReadTimeout", module="httpx"), "unavailable"),
        (ConnectionRefusedError(errno.ECONNREFUSED, "x"), "unavailable"),
        (ConnectionResetError(), "unavailable"),
        (BrokenPipeError(), "unavailable"),
        (socket.gaierror(-2, "Name or service not known"), "unavailable"),
        (ssl.SSLError("handshake"), "unavailable"),
        (OSError(errno.EHOSTUNREACH, "x"), "unavailable"),
        (OSError(errno.ENOSPC, "x"), "unavailable"),
        (
            caused(OSError("All connection attempts failed"), ConnectionRefusedError()),
            "unavailable",
        ),
        (
            caused(OSError("All"), ExceptionGroup("x", [ConnectionRefusedError(), TimeoutError()])),
            "unavailable",
        ),
        (anyio.BrokenResourceError(), "unavailable"),
        (anyio.EndOfStream(), "unavailable"),
        (asyncio.IncompleteReadError(b"", 4), "unavailable"),
        (PermissionError(errno.EACCES, "x"), "permission_denied"),
        (OSError(errno.EROFS, "x"), "storage_failed"),
        (FileNotFoundError(errno.ENOENT, "x"), "internal"),
        (OSError("x"), "internal"),
        (ZeroDivisionError(), "internal"),
        (caused(RuntimeError("a bug"), TimeoutError()), "internal"),
    ],
)
def test_timeouts_lost_connections_and_rights_decide_by_type(error: Exception, code: str) -> None:
    assert code_of(error) == code


def test_the_type_comes_before_the_shape_and_the_text() -> None:
    assert code_of(TimeoutError("Access denied")) == "unavailable"
    shaped = made("Odd", TimeoutError, errors=lambda: [{"loc": ("state",), "type": "string_type"}])
    assert code_of(shaped) == "unavailable"
    assert code_of(made("Odd", errors=lambda: [{"loc": ("state",), "type": "x"}])) == "not_ready"


class Record(pydantic.BaseModel):
    """A stored record."""

    id: str
    state: str
    status: int = 0
    tags: list[str] = []

    @pydantic.model_validator(mode="after")
    def guard(self) -> Record:
        if self.id == "other":
            raise ValueError("the id is another record's")
        return self


GOOD: dict[str, object] = {"id": "a", "state": "READY"}


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (None, "not_found"),
        ("text", "not_found"),
        ({**GOOD, "id": "other"}, "internal"),
        ({**GOOD, "state": None}, "not_ready"),
        ({"id": "a"}, "not_ready"),
        ({**GOOD, "status": "x"}, "not_ready"),
        ({**GOOD, "id": 1}, "conflict"),
        ({**GOOD, "tags": [1]}, "conflict"),
        ({"id": 1, "tags": [1]}, "not_ready"),
    ],
)
def test_a_record_that_does_not_validate_decides_by_its_shape(value: object, code: str) -> None:
    with pytest.raises(pydantic.ValidationError) as found:
        Record.model_validate(value)
    assert code_of(found.value) == code


def issues(*items: tuple[tuple[str | int, ...], str], key: str = "loc") -> Exception:
    return made("ValidationError", errors=lambda: [{key: loc, "type": kind} for loc, kind in items])


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (issues((("a",), "x"), ((), "model_type")), "not_found"),
        (issues((("state",), "x"), ((), "value_error")), "internal"),
        (issues((("a",), "x"), (("status",), "x")), "not_ready"),
        (issues((("a", "state"), "x")), "conflict"),
        (issues(((0, "state"), "x")), "conflict"),
        (issues((("state", "inner"), "x")), "not_ready"),
        (issues((("__root__",), "type_error.dict")), "not_found"),
        (issues((("__root__",), "value_error")), "internal"),
        (issues((("status",), "x"), key="path"), "not_ready"),
        (made("Error", issues=[{"path": [], "code": "invalid_type"}]), "not_found"),
        (made("Error", issues=[{"path": [], "code": "custom"}]), "internal"),
        (made("Error", issues=[{"path": "$.state", "code": "custom"}]), "not_ready"),
        (made("ValidationError", validator="type", absolute_path=deque[str]()), "not_found"),
        (made("ValidationError", validator="const", absolute_path=deque[str]()), "internal"),
        (made("ValidationError", validator="type", absolute_path=deque(["state"])), "not_ready"),
        (made("NoIssues", errors=list), "internal"),
        (made("Other", errors=["text"]), "internal"),
        (made("Odd", errors=lambda: 1 / 0), "internal"),
    ],
)
def test_the_root_decides_first_then_the_state_then_the_rest(error: Exception, code: str) -> None:
    assert code_of(error) == code


def test_a_real_error_of_jsonschema_is_read() -> None:
    schema = {"type": "object", "properties": {"status": {"type": "integer"}}}
    for value, code in (("text", "not_found"), ({"status": "x"}, "not_ready")):
        with pytest.raises(jsonschema.ValidationError) as found:
            jsonschema.validate(value, schema)
        assert code_of(found.value) == code


def test_an_operation_error_comes_back_as_it_is_also_out_of_a_group_of_one() -> None:
    error = OperationError(ErrorCode.CONFLICT)
    assert classify_operation_error(error) is error
    assert classify_operation_error(ExceptionGroup("g", [ExceptionGroup("h", [error])])) is error


@pytest.mark.parametrize("value", [None, "timed out", 7, TimeoutError, {"code": "not_found"}])
def test_what_is_no_exception_is_internal(value: object) -> None:
    found = classify_operation_error(value)
    assert found.code is ErrorCode.INTERNAL
    assert found.__cause__ is None


def test_an_exception_whose_text_cannot_be_made_is_internal() -> None:
    class Mute(Exception):  # noqa: N818 - it is no error of ours
        def __str__(self) -> str:
            raise ValueError("no")

    assert code_of(Mute()) == "internal"


def test_the_original_stays_as_the_cause_and_says_how_long_to_wait() -> None:
    error = made("Away", TimeoutError, retry_after_s=4)
    found = classify_operation_error(error, log=len_of)
    assert found.__cause__ is error
    assert found.retry_after_s == 4.0
    for odd in (True, -1, 10**9, float("nan"), "4"):
        odd_one = made("Away", TimeoutError, retry_after_s=odd)
        assert classify_operation_error(odd_one, log=len_of).retry_after_s is None
    assert classify_operation_error(made("Bug", retry_after_s=4), log=len_of).retry_after_s is None


def len_of(error: OperationError) -> int:
    return len(error.args)


CAUSES: list[tuple[Exception, str, int | None]] = [
    (RuntimeError("a bug"), "internal", logging.ERROR),
    (sqlite_error(sqlite3.SQLITE_CORRUPT), "storage_failed", logging.ERROR),
    (TimeoutError("away"), "unavailable", logging.WARNING),
    (PermissionError(errno.EACCES, "no"), "permission_denied", None),
    (RuntimeError("query returned no rows"), "not_found", None),
    (RuntimeError("Conflicting writes"), "conflict", None),
    (RuntimeError("Unsupported kind"), "unsupported_input", None),
    (RuntimeError("it is not ready"), "not_ready", None),
]


@pytest.mark.requirement("G-ERR-2")
@pytest.mark.parametrize(("error", "code", "level"), CAUSES, ids=[code for _, code, _ in CAUSES])
def test_a_cause_is_logged_once_for_three_codes_and_never_for_others(
    error: Exception, code: str, level: int | None, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    twin = type(error)(*error.args)
    twin.__dict__.update(error.__dict__)
    first = classify_operation_error(twin)
    assert first.code.value == code
    again = classify_operation_error(twin)
    assert classify_operation_error(first) is first
    log_cause(first)
    log_cause(again)
    assert [record.levelno for record in caplog.records] == ([] if level is None else [level])
    if level is not None:
        assert code in caplog.text
        assert type(error).__name__ in caplog.text


def test_the_cause_of_what_storage_raised_is_logged_by_whoever_answers(
    caplog: pytest.LogCaptureFixture,
) -> None:
    error = OperationError(ErrorCode.STORAGE_FAILED)
    error.__cause__ = sqlite3.DatabaseError("file is not a database")
    classify_operation_error(error)
    assert caplog.records == []
    log_cause(error)
    log_cause(error)
    assert caplog.text.count("file is not a database") == 1


def test_without_a_cause_nothing_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    log_cause(OperationError(ErrorCode.INTERNAL))
    assert caplog.records == []


@pytest.mark.requirement("G-ERR-3")
def test_a_log_line_has_the_traceback_and_no_secret_and_moves_no_cursor(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with pytest.raises(RuntimeError) as found:
        fail_with_secrets()
    classify_operation_error(found.value)
    assert "Traceback" in caplog.text
    assert "inner" in caplog.text
    assert "outer" in caplog.text
    for gone in ("abc123", "pw@", "key=abc", "\x1b"):
        assert gone not in caplog.text
    assert caplog.records[0].exc_info is None


def fail_with_secrets() -> None:
    try:
        int("inner https://u:pw@host/x?key=abc\x1b[2J")
    except ValueError as inner:
        raise RuntimeError("outer sk-ant-abc123") from inner


class Keyed:
    """A key that no mapping takes."""

    __hash__ = None  # pyright: ignore[reportAssignmentType] # as of a list


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ([{"key": "state"}], "not_ready"),
        ([{"key": "name"}], "conflict"),
        ([{"key": ["state"]}], "conflict"),
        ([["state"]], "conflict"),
        ([Keyed()], "conflict"),
        ([dict[str, str]()], "conflict"),
    ],
)
def test_elements_of_a_path_may_be_of_any_kind(path: list[Any], code: str) -> None:
    assert code_of(made("ValidationError", issues=[{"path": path, "message": "m"}])) == code
    assert code_of(made("OtherError", errors=[{"loc": path, "type": "x"}])) == code


def test_a_class_without_a_module_is_classified() -> None:
    kind = type("TimeoutError", (Exception,), {})
    kind.__module__ = None  # pyright: ignore[reportAttributeAccessIssue] # a class made by hand
    assert code_of(kind("x")) == "unavailable"


def test_what_raises_while_it_is_looked_at_is_internal_and_keeps_its_cause() -> None:
    class HostileError(Exception):
        @property
        def sqlstate(self) -> str:
            raise SystemError

        @property
        def errors(self) -> object:
            class Items(list[object]):
                def __iter__(self) -> Any:
                    raise TypeError

            return Items([1])

    error = HostileError("x")
    logged: list[OperationError] = []
    told = classify_operation_error(error, log=logged.append)
    assert told.code is ErrorCode.INTERNAL
    assert told.__cause__ is error
    assert logged == [told]
