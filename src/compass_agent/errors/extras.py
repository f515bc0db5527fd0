"""Says what to install when something that was asked for needs an extra that is not there."""

from __future__ import annotations

__all__ = ("ExtraMissingError",)

from compass_agent.errors.codes import ErrorCode, OperationError


class ExtraMissingError(OperationError):
    """What this takes is not installed: `unsupported_input`. `reason` says what to install."""

    def __init__(self, reason: str) -> None:
        super().__init__(ErrorCode.UNSUPPORTED_INPUT)
        self.reason = reason

    def __str__(self) -> str:
        return self.reason
