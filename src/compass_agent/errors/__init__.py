"""Errors in one form: failed operations as typed errors, failed turns as described failures.

What describes failures is imported when it is first used: it compiles dozens of patterns, which
an agent whose turns all succeed never needs.
"""

from __future__ import annotations

__all__ = (
    "TEXT_RULES",
    "Advice",
    "ApiError",
    "ErrorCode",
    "FailureDetail",
    "OperationError",
    "TextRule",
    "advise",
    "classify_operation_error",
    "describe_failure",
    "format_operation_error",
    "format_tool_error",
    "log_cause",
    "map_http_status_to_error",
    "map_network_error",
    "problem_json",
    "redact",
    "redact_value",
    "retry_after_seconds",
)

from typing import TYPE_CHECKING

from compass_agent.errors.codes import ErrorCode, OperationError

if TYPE_CHECKING:
    from compass_agent.errors.advice import Advice, advise
    from compass_agent.errors.api import (
        ApiError,
        format_tool_error,
        map_http_status_to_error,
        map_network_error,
    )
    from compass_agent.errors.classify import classify_operation_error
    from compass_agent.errors.detail import FailureDetail
    from compass_agent.errors.failure import describe_failure
    from compass_agent.errors.logged import log_cause
    from compass_agent.errors.nested import redact_value
    from compass_agent.errors.redaction import redact
    from compass_agent.errors.retry import retry_after_seconds
    from compass_agent.errors.text_rules import TEXT_RULES, TextRule
    from compass_agent.errors.told import format_operation_error, problem_json

_HOMES = {
    "TEXT_RULES": "compass_agent.errors.text_rules",
    "Advice": "compass_agent.errors.advice",
    "ApiError": "compass_agent.errors.api",
    "FailureDetail": "compass_agent.errors.detail",
    "TextRule": "compass_agent.errors.text_rules",
    "advise": "compass_agent.errors.advice",
    "classify_operation_error": "compass_agent.errors.classify",
    "describe_failure": "compass_agent.errors.failure",
    "format_operation_error": "compass_agent.errors.told",
    "format_tool_error": "compass_agent.errors.api",
    "log_cause": "compass_agent.errors.logged",
    "map_http_status_to_error": "compass_agent.errors.api",
    "map_network_error": "compass_agent.errors.api",
    "problem_json": "compass_agent.errors.told",
    "redact": "compass_agent.errors.redaction",
    "redact_value": "compass_agent.errors.nested",
    "retry_after_seconds": "compass_agent.errors.retry",
}


def __getattr__(name: str) -> object:
    """Import a public name from its home, once."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'compass_agent.errors' has no attribute {name!r}")
    import importlib  # noqa: PLC0415 - only needed here

    value = globals()[name] = getattr(importlib.import_module(home), name)
    return value
