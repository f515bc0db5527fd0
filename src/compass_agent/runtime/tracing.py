"""Where the trace context of an injection comes from, when its caller gives none."""

from __future__ import annotations

__all__ = ("TRACING", "Tracing")

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def _nothing() -> str:
    return ""


class Tracing:
    """The source of `traceparent` of this process.

    Attributes:
        current: Returns the W3C trace context of what the caller does now, or "". Never raises.
    """

    def __init__(self) -> None:
        self.current: Callable[[], str] = _nothing


TRACING = Tracing()
"""That of this process; `compass_agent.telemetry` puts another source in."""
