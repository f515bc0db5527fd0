"""The table of the nine codes: complete, exact, the only source, and read without defaults."""

from __future__ import annotations

import ast
import copy
import pickle
from pathlib import Path

import pytest

from compass_agent.errors import (
    ErrorCode,
    OperationError,
    format_operation_error,
    problem_json,
)
from compass_agent.errors.codes import TABLE

SOURCE = Path(__file__).resolve().parents[2] / "src"

# code: HTTP, gRPC, exit status, retryable, logged. Spelled out a second time on purpose.
EXPECTED = {
    "permission_denied": (403, "PERMISSION_DENIED", 77, False, False),
    "not_found": (404, "NOT_FOUND", 4, False, False),
    "conflict": (409, "ABORTED", 9, False, False),
    "unsupported_input": (422, "INVALID_ARGUMENT", 65, False, False),
    "not_ready": (409, "FAILED_PRECONDITION", 8, True, False),
    "unavailable": (503, "UNAVAILABLE", 5, True, True),
    "budget_exhausted": (402, "RESOURCE_EXHAUSTED", 10, False, False),
    "storage_failed": (409, "FAILED_PRECONDITION", 11, False, True),
    "internal": (500, "INTERNAL", 1, False, True),
}


def test_the_set_of_codes_is_closed_and_each_has_one_row() -> None:
    assert [code.value for code in ErrorCode] == list(EXPECTED)
    assert list(TABLE) == list(ErrorCode)


@pytest.mark.parametrize("code", ErrorCode)
def test_a_row_is_what_was_agreed(code: ErrorCode) -> None:
    row = TABLE[code]
    assert (
        row.http_status,
        row.grpc_status,
        row.exit_status,
        row.retryable,
        row.logged,
    ) == EXPECTED[code.value]


def test_the_texts_are_authored_and_exit_statuses_tell_codes_apart() -> None:
    texts = [text for row in TABLE.values() for text in (row.message, row.guidance)]
    assert len(set(texts)) == len(texts) == 2 * len(ErrorCode)
    assert all(text == text.strip() and text.endswith(".") and "\n" not in text for text in texts)
    # No operation of ours takes such a key.
    assert not any("idempotency" in text for text in texts)
    assert len({row.exit_status for row in TABLE.values()}) == len(ErrorCode)


def test_the_table_cannot_be_changed() -> None:
    with pytest.raises(TypeError):
        TABLE[ErrorCode.INTERNAL] = TABLE[ErrorCode.CONFLICT]  # pyright: ignore[reportIndexIssue] - that it fails is the test


def test_nothing_reads_the_table_with_a_default() -> None:
    odd: list[str] = []
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            match node:
                case ast.Attribute(value=ast.Name(id="TABLE"), attr=name):
                    if name not in {"items", "values", "keys"}:
                        odd.append(f"{path.name}:{node.lineno}: TABLE.{name}")
                case _:
                    pass
    assert odd == []


def test_no_other_module_writes_the_messages() -> None:
    copies = [
        f"{path.name}: {row.message}"
        for path in sorted(SOURCE.rglob("*.py"))
        if path.name != "codes.py"
        for row in TABLE.values()
        if row.message in path.read_text("utf-8")
    ]
    assert copies == []


@pytest.mark.requirement("G-ERR-1")
@pytest.mark.parametrize("code", ErrorCode)
def test_an_error_shows_its_row_and_nothing_of_its_cause(code: ErrorCode) -> None:
    error = OperationError(code, retry_after_s=2.5)
    error.__cause__ = RuntimeError("sk-ant-secret of the cause")
    row = TABLE[code]
    assert (error.code, error.message, error.guidance) == (code, row.message, row.guidance)
    assert (error.retryable, error.http_status) == (row.retryable, row.http_status)
    assert (error.grpc_status, error.exit_status) == (row.grpc_status, row.exit_status)
    assert error.retry_after_s == 2.5
    assert str(error) == row.message
    assert "cause" not in repr(error) + str(format_operation_error(error))


def test_an_unknown_code_is_refused() -> None:
    with pytest.raises(ValueError, match="teapot"):
        OperationError("teapot")


@pytest.mark.parametrize("code", ErrorCode)
def test_the_object_for_programs_has_exactly_these_fields(code: ErrorCode) -> None:
    row = TABLE[code]
    told = format_operation_error(OperationError(code))
    assert told == {
        "success": False,
        "code": code.value,
        "message": row.message,
        "retryable": row.retryable,
        "guidance": row.guidance,
    }
    assert list(told) == ["success", "code", "message", "retryable", "guidance"]
    assert type(told["code"]) is str
    waits = format_operation_error(OperationError(code, retry_after_s=0.0))
    assert waits == {**told, "retry_after_s": 0.0}


@pytest.mark.parametrize("code", ErrorCode)
def test_the_problem_has_the_same_texts_and_the_status(code: ErrorCode) -> None:
    row = TABLE[code]
    told = problem_json(OperationError(code, retry_after_s=3.0))
    assert told == {
        "type": f"urn:compass-agent:error:{code.value}",
        "title": told["title"],
        "status": row.http_status,
        "detail": row.message,
        "error": row.message,
        "code": code.value,
        "retryable": row.retryable,
        "guidance": row.guidance,
        "retry_after_s": 3.0,
    }
    assert told["title"]
    assert "retry_after_s" not in problem_json(OperationError(code))


def test_an_error_survives_copies_and_pickles() -> None:
    error = OperationError(ErrorCode.UNAVAILABLE, retry_after_s=1.5)
    for twin in (copy.copy(error), pickle.loads(pickle.dumps(error))):  # noqa: S301 - made just here
        assert (twin.code, twin.retry_after_s, str(twin)) == (
            error.code,
            error.retry_after_s,
            str(error),
        )
