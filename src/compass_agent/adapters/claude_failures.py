"""What Claude Code's results and retries say of failures and stops."""

from __future__ import annotations

__all__ = ("failure_of", "has_failed", "retry_of")

import re
from typing import TYPE_CHECKING

from compass_agent.adapters.objects import number_of, text_of
from compass_agent.errors.shapes import as_list, as_object
from compass_agent.events.classes import Failure, RetryScheduled

if TYPE_CHECKING:
    from collections.abc import Mapping

# What the command puts around a provider's text.
_WRAPPED = re.compile(
    r"^(?:[A-Z][^.\n]{0,60}\. )?API Error: ?(?:Request rejected \((?P<rejected>\d{3})\) · )?"
    r"(?:(?P<status>[45]\d\d) )?(?P<text>.+)$",
    re.DOTALL,
)
_ADVICE = re.compile(r" This is (?:a server-side issue, )?usually temporary\b.*$", re.DOTALL)
_DIAGNOSTIC = "[ede_diagnostic]"
_STOPPED = "Interrupted by user"


def has_failed(result: Mapping[str, object], said: Mapping[str, object] | None) -> bool:
    """Tell whether a result is one of a run that failed.

    Args:
        result: The result line.
        said: The line of the message that the command made of a failed request, when the run did
            not go on after it.
    """
    # A run that came to its limit of turns has failed, too, although it says that nothing did.
    if result.get("is_error") is True or _is_of_error(result):
        return True
    if said is None:
        return False
    # A result that says that all went well is believed, unless the failure is all that it holds.
    return result.get("is_error") is not False or text_of(result, "result") in ("", _spoken(said))


def failure_of(result: Mapping[str, object], said: Mapping[str, object]) -> Failure:
    """Return why a run failed or was stopped.

    Args:
        result: The result line; empty when none came.
        said: The line of the message that the command made of a failed request; may be empty.
    """
    reason = text_of(result, "terminal_reason")
    if reason.startswith("aborted"):
        return Failure(aborted=True, message=_STOPPED)
    spoken = _spoken(said)
    errors = [text for text in as_list(result.get("errors")) if isinstance(text, str)]
    told = "; ".join(text for text in errors if not text.startswith(_DIAGNOSTIC))
    # What a result holds that says that nothing failed is the answer.
    answered = result.get("is_error") is False and _is_of_error(result)
    text = ("" if answered else text_of(result, "result")) or told or spoken
    found = _WRAPPED.match(text.strip())
    inner = _ADVICE.sub("", found["text"]) if found else text
    status = number_of(result, "api_error_status")
    if status is None:
        status = number_of(said, "api_error_status")
    if status is None and found and (written := found["rejected"] or found["status"]):
        status = int(written)
    return Failure(
        aborted=False,
        message=inner or _subtype(result),
        status=status,
        code=_code(result, said),
        request_id=text_of(said, "request_id"),
    )


def retry_of(value: Mapping[str, object]) -> RetryScheduled:
    """Return the retry that an `api_retry` line announces."""
    status = number_of(value, "error_status")
    error = text_of(value, "error").replace("_", " ")
    reason = f"HTTP {status}, {error}" if status is not None and error else error
    return RetryScheduled(
        attempt=number_of(value, "attempt") or 0,
        attempts=number_of(value, "max_retries") or 0,
        delay_ms=number_of(value, "retry_delay_ms"),
        reason="" if reason == "unknown" else reason,
    )


def _is_of_error(result: Mapping[str, object]) -> bool:
    return text_of(result, "subtype").startswith("error")


def _spoken(said: Mapping[str, object]) -> str:
    texts = [as_object(block) for block in as_list(as_object(said.get("message")).get("content"))]
    return "\n".join(filter(None, (text_of(block, "text") for block in texts)))


def _code(result: Mapping[str, object], said: Mapping[str, object]) -> str:
    subtype = text_of(result, "subtype")
    codes = (
        *(text_of(line, "api_error_type") for line in (result, said)),
        *(text_of(line, "api_error") for line in (result, said)),
        text_of(said, "error"),
        subtype if subtype not in ("success", "error_during_execution") else "",
    )
    return next((code for code in codes if code), "")


def _subtype(result: Mapping[str, object]) -> str:
    reason = text_of(result, "terminal_reason") or text_of(result, "subtype")
    if reason in ("", "success", "completed"):
        return "The run ended as failed, without a reason"
    return f"The run ended: {reason.removeprefix('error_').replace('_', ' ')}"
