"""Lines in logs and on terminals tell of exceptions in words, not as Python writes them."""

from __future__ import annotations

import errno
import os
import re
from pathlib import Path

import pytest

import compass_agent
from compass_agent.errors.codes import ErrorCode, OperationError
from compass_agent.errors.extras import ExtraMissingError
from compass_agent.errors.worded import words_of

_SOURCE = Path(compass_agent.__file__).parent
# Asserts of `compass_agent.testing` are read by those who wrote what fails.
_FILES = [path for path in _SOURCE.rglob("*.py") if path.parent.name != "testing"]
_REPR = re.compile(r"error!r|repr\(error\)|%r")


class BreaksError(Exception):
    def __str__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/a/b"), "No space left on device"),
        (PermissionError(errno.EACCES, "Permission denied"), "Permission denied"),
        (RuntimeError("can't start new thread"), "can't start new thread"),
        (RuntimeError("two\n  lines"), "two lines"),
        (ConnectionResetError(), "connection reset"),
        (TimeoutError(), "no answer in time"),
        (MemoryError(), "memory"),
        (BreaksError(), "breaks"),
        (OperationError(ErrorCode.UNAVAILABLE), OperationError(ErrorCode.UNAVAILABLE).message),
        (ExtraMissingError("nats"), ExtraMissingError("nats").reason),
        (ExceptionGroup("x", [ValueError("inner")]), "inner"),
        (ValueError("api_key=sk-ant-abc123456789"), "api_key=[redacted]"),
    ],
)
def test_an_exception_is_told_in_words(error: BaseException, words: str) -> None:
    assert words_of(error) == words


def test_no_message_shows_an_exception_as_python_writes_it() -> None:
    shown = {path.name: _REPR.findall(path.read_text("utf-8")) for path in _FILES}

    assert {name: found for name, found in shown.items() if found} == {}
