"""Errors in one form: failed operations as typed errors, failed turns as described failures.

What describes failures is imported when it is first used: it compiles dozens of patterns, which
an agent whose turns all succeed never needs.
"""

from __future__ import annotations

__all__ = (
    "Advice",
    "ErrorCode",
    "FailureDetail",
    "OperationError",
    "advise",
    "describe_failure",
    "redact",
    "retry_after_seconds",
)

from typing import TYPE_CHECKING

from compass_agent.errors.codes import ErrorCode, OperationError

if TYPE_CHECKING:
    from compass_agent.errors.advice import Advice, advise
    from compass_agent.errors.failure import FailureDetail, describe_failure
    from compass_agent.errors.redaction import redact
    from compass_agent.errors.retry import retry_after_seconds

_HOMES = {
    "Advice": "compass_agent.errors.advice",
    "FailureDetail": "compass_agent.errors.failure",
    "advise": "compass_agent.errors.advice",
    "describe_failure": "compass_agent.errors.failure",
    "redact": "compass_agent.errors.redaction",
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
