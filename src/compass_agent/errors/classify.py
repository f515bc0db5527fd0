"""Turns whatever an operation raised into one of the nine codes."""

from __future__ import annotations

__all__ = ("classify_operation_error",)

from typing import TYPE_CHECKING

from compass_agent.errors.codes import ErrorCode, OperationError
from compass_agent.errors.engines import code_of_type
from compass_agent.errors.foreign import attribute, own_text
from compass_agent.errors.groups import only_exception
from compass_agent.errors.logged import log_cause
from compass_agent.errors.stored import code_of_mismatch
from compass_agent.errors.text_rules import TEXT_RULES, code_of_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from compass_agent.errors.text_rules import TextRule

_LONGEST_WAIT = 86_400.0


def classify_operation_error(
    error: object,
    *,
    rules: Iterable[TextRule] = TEXT_RULES,
    log: Callable[[OperationError], object] = log_cause,
) -> OperationError:
    """Return the `OperationError` for what an operation raised. The first that fits counts.

    An `OperationError` comes back as the same object. Then the type and its attributes decide
    (databases by their own codes, timeouts, lost connections, rights); then the shape of a stored
    record that does not validate; then the text. What is left is `storage_failed` when the text
    says that storage failed, else `internal`; so is what is no exception. Never raises, whatever
    the exception is made of.

    Args:
        error: What was raised. A group of one counts as the one.
        rules: The rules for texts, in their order: `(MY_RULE, *TEXT_RULES)` adds one in front.
        log: Is handed each new error with its cause. By default the cause of an `internal`,
            `storage_failed` or `unavailable` is logged, once.
    """
    if isinstance(error, Exception):
        error = only_exception(error)
    if isinstance(error, OperationError):
        return error
    if not isinstance(error, BaseException):
        return OperationError(ErrorCode.INTERNAL)
    code = _code_of(error, rules)
    told = OperationError(code, retry_after_s=_wait(error, code))
    told.__cause__ = error
    log(told)
    return told


def _code_of(error: BaseException, rules: Iterable[TextRule]) -> ErrorCode:
    try:
        return (
            code_of_type(error) or code_of_mismatch(error) or code_of_text(_text_of(error), rules)
        )
    except Exception:  # noqa: BLE001 - foreign classes may be made of anything; `error` is logged
        return ErrorCode.INTERNAL


def _text_of(error: BaseException) -> str:
    # A KeyError shows what it was given as a repr, in quotes.
    if isinstance(error, KeyError) and len(error.args) == 1 and isinstance(error.args[0], str):
        return error.args[0]
    return own_text(error)


def _wait(error: BaseException, code: ErrorCode) -> float | None:
    """Return the wait that `error` itself names, where trying again can help."""
    seconds = attribute(error, "retry_after_s")
    if code is not ErrorCode.UNAVAILABLE or isinstance(seconds, bool):
        return None
    if not isinstance(seconds, int | float) or not 0 <= seconds <= _LONGEST_WAIT:
        return None
    return float(seconds)
