"""What is known of a failure, whatever it was read from."""

from __future__ import annotations

__all__ = ("FailureDetail",)

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FailureDetail:
    """What went wrong.

    Attributes:
        message: The innermost text for a person, at most 8 KiB; never empty.
        status: The HTTP status; 0: there was no answer; None: not known.
        retry_after_s: Seconds that the provider asks to wait.
        code: The provider's own code.
        request_id: The provider's id of the request.
    """

    message: str
    status: int | None = None
    retry_after_s: float | None = None
    code: str | None = None
    request_id: str | None = None
