"""Writes the cause of a failed operation to the program's own log: once, and without secrets."""

from __future__ import annotations

__all__ = ("cause_text", "is_first_time", "log_cause")

import re
from typing import TYPE_CHECKING

from compass_agent.errors.codes import TABLE, ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterable

    from compass_agent.errors.codes import OperationError

_NAME = "compass_agent.errors"
_LONGEST = 65_536
_MARK = "_compass_logged"
# What moves a terminal's cursor has no place in a log; line ends and tabs have.
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def log_cause(error: OperationError, secrets: Iterable[str] = ()) -> None:
    """Log what `error` was raised from, when its code asks for that and it was not logged yet.

    The place that answers a caller calls it for what storage raised as an `OperationError` already;
    for others `classify_operation_error` has done it. It is logged as text with secrets masked,
    and not as `exc_info`, of which a handler would print all.

    What fails again in the same way is logged with its traceback once, then in one line a minute at
    most that says how often.

    Args:
        error: The failed operation.
        secrets: Values that must not appear.
    """
    cause = error.__cause__
    if cause is None or not TABLE[error.code].logged or not is_first_time(cause):
        return
    import logging  # noqa: PLC0415 - only for failures

    passes = error.code is ErrorCode.UNAVAILABLE
    level = logging.WARNING if passes else logging.ERROR
    from compass_agent.errors.repeats import REPEATS  # noqa: PLC0415 - likewise

    logger = logging.getLogger(_NAME)
    what = _what(error, secrets)
    count = REPEATS.count((error.code, what), cause)
    if count is None:
        text = "an operation failed (%s)%s:\n%s"
        logger.log(level, text, error.code, what, cause_text(cause, secrets))
    elif count:
        logger.log(level, "an operation failed (%s)%s: %d more times", error.code, what, count)


def _what(error: OperationError, secrets: Iterable[str]) -> str:
    """Return what an engine or a file has against it, such as the session that cannot be read."""
    from compass_agent.errors.redaction import redact  # noqa: PLC0415 - dear to import
    from compass_agent.errors.worded import words_of  # noqa: PLC0415 - likewise

    reason = getattr(error, "reason", None)
    return f": {redact(words_of(error), secrets)}" if isinstance(reason, str) and reason else ""


def cause_text(error: BaseException, secrets: Iterable[str] = ()) -> str:
    """Return `error` with traceback and causes as text for a log, secrets masked. Never raises."""
    import traceback  # noqa: PLC0415 - only for failures

    from compass_agent.errors.redaction import redact  # noqa: PLC0415 - dear to import
    from compass_agent.errors.shapes import valid_text  # noqa: PLC0415 - likewise

    try:
        text = "".join(traceback.format_exception(error)).rstrip("\n")
    except Exception as failure:  # noqa: BLE001 - made from foreign classes, it may raise anything
        text = f"{type(error).__name__} (no traceback: {type(failure).__name__})"
    # A secret on the border of what is read is cut off behind the border of what is shown.
    text = redact(valid_text(text[: 2 * _LONGEST]), secrets)
    return _CONTROLS.sub(_visible, text[:_LONGEST])


def _visible(match: re.Match[str]) -> str:
    return f"\\u{ord(match[0]):04x}"


def is_first_time(cause: BaseException) -> bool:
    """Mark `cause` as logged; tell whether it was not."""
    if getattr(cause, _MARK, False) is True:
        return False
    try:
        setattr(cause, _MARK, True)
    except Exception:  # noqa: BLE001 - a class that takes no attributes: better twice than never
        return True
    return True
