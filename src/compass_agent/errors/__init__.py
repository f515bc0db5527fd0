"""Errors in one form: failed operations as typed errors, failed turns as described failures."""

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

from compass_agent.errors.advice import Advice, advise
from compass_agent.errors.codes import ErrorCode, OperationError
from compass_agent.errors.failure import FailureDetail, describe_failure
from compass_agent.errors.redact import redact
from compass_agent.errors.retry import retry_after_seconds
