"""Cleans the failures in inner events: a readable text, what it says besides, no secrets."""

from __future__ import annotations

__all__ = ("FailureCleaner", "exit_without_secrets", "failure_of")

from dataclasses import replace
from typing import TYPE_CHECKING

from compass_agent.adapters.texts import tail
from compass_agent.errors.failure import describe_failure
from compass_agent.errors.redaction import redact
from compass_agent.errors.shapes import is_object, valid_text
from compass_agent.events.classes import (
    AgentExited,
    Failure,
    InnerEvent,
    MessageEnded,
    MessageFailed,
    Noticed,
    RetryEnded,
    RetryScheduled,
    RunEnded,
    TurnEnded,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

# Agents put this in place of the text when a stop shall not be shown.
_SILENT = "__omp.silent_abort__"
# The same failure comes four times and more in a row, with up to 100 KB of text.
_MOST_KEPT = 8
_NO_FAILURE = range(200, 300)


def exit_without_secrets(exited: AgentExited, secrets: Iterable[str]) -> AgentExited:
    """Return the event with its texts cut to what is shown, and masked."""
    return replace(
        exited,
        stderr_tail=tail(exited.stderr_tail, secrets),
        start_failure=redact(valid_text(exited.start_failure), secrets),
    )


def failure_of(error: object, secrets: Iterable[str] = ()) -> Failure:
    """Return the failure that an exception or an error's body tells."""
    # As the body of an answer: then its code tells the status that is documented for it.
    detail = describe_failure({"body": error} if is_object(error) else error, secrets)
    wait = detail.retry_after_s
    return Failure(
        aborted=False,
        message=detail.message,
        status=detail.status or None,
        retry_after_ms=None if wait is None else round(wait * 1000),
        code=detail.code or "",
        request_id=detail.request_id or "",
    )


def _first(told: int | None, read: float | None) -> int | None:
    return round(read) if told is None and read is not None else told


class FailureCleaner:
    """Cleans failures; the same text gives the same message wherever it comes.

    Args:
        secrets: Values that must not appear.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._secrets = tuple(secrets)
        self._kept: dict[Failure, Failure] = {}

    def clean(self, event: InnerEvent) -> InnerEvent:
        """Return `event` with its failure cleaned; an event without one as it is."""
        if isinstance(event, MessageFailed):
            return replace(event, failure=self.failure(event.failure))
        if isinstance(event, MessageEnded | TurnEnded | RunEnded | RetryEnded):
            if event.failure is None:
                return event
            return replace(event, failure=self.failure(event.failure))
        if isinstance(event, RetryScheduled):
            return replace(event, reason=self._text(event.reason))
        if isinstance(event, Noticed):
            return replace(event, text=redact(event.text, self._secrets))
        return event

    def failure(self, failure: Failure) -> Failure:
        """Return `failure` with the text for a person and what else its text says."""
        kept = self._kept.get(failure)
        if kept is None:
            if len(self._kept) >= _MOST_KEPT:
                del self._kept[next(iter(self._kept))]
            kept = self._kept[failure] = self._cleaned(failure)
        return kept

    def _cleaned(self, failure: Failure) -> Failure:
        raw = failure.message.replace(_SILENT, "").strip()
        status = None if failure.status in _NO_FAILURE else failure.status
        if not raw and failure.aborted:
            return replace(failure, message="", status=status)
        told: object = raw if raw or status is None else {"status": status, "body": ""}
        detail = describe_failure(told, self._secrets)
        wait = detail.retry_after_s
        return replace(
            failure,
            message=detail.message,
            status=detail.status if status is None else status,
            # What the provider says in its own field counts before a number in its text.
            retry_after_ms=_first(failure.retry_after_ms, None if wait is None else wait * 1000),
            code=failure.code or detail.code or "",
            request_id=failure.request_id or detail.request_id or "",
        )

    def _text(self, text: str) -> str:
        return self.failure(Failure(aborted=False, message=text)).message if text.strip() else ""
