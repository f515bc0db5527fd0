"""The frames of failures and stops that a session's host tells, without any secret."""

from __future__ import annotations

__all__ = ("failure_frames", "stop_frames")

from typing import TYPE_CHECKING

from compass_agent.errors import describe_failure
from compass_agent.events.readable import verbatim_text
from compass_agent.frames import SessionErrorKind

if TYPE_CHECKING:
    from compass_agent.frames import SessionFrame
    from compass_agent.mapping import EventMapper
    from compass_agent.runtime.masking import Masker


def failure_frames(mapper: EventMapper, masker: Masker, failure: object) -> list[SessionFrame]:
    """Return the frames of a failure; it may be anything that `describe_failure` reads."""
    # Registered values first: of what the general rules leave, none would be known any more.
    detail = describe_failure(failure, masker.secrets)
    wait = detail.retry_after_s
    return mapper.session_error(
        SessionErrorKind.SESSION_ERROR_KIND_ERROR,
        masker.mask(detail.message),
        # No answer at all is told as 0 there; on the wire only a provider's status is one.
        status=detail.status or None,
        retry_after_ms=None if wait is None else round(wait * 1000),
        code=masker.mask(detail.code or ""),
        request_id=masker.mask(detail.request_id or ""),
    )


def stop_frames(
    mapper: EventMapper, masker: Masker, reason: object, stopped_by: object, code: object
) -> list[SessionFrame]:
    """Return the frames of a stop; by whoever asked for it, when nobody is named."""
    reason, stopped_by, code = (
        masker.mask(verbatim_text(text)) for text in (reason, stopped_by, code)
    )
    return mapper.session_error(
        SessionErrorKind.SESSION_ERROR_KIND_ABORTED,
        reason,
        stopped_by=stopped_by or mapper.stopped_by or "host",
        code=code,
    )
