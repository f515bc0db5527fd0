"""The W3C trace context: out of the span that is current, and into a context again."""

from __future__ import annotations

__all__ = ("carry", "context_from")

import logging

from opentelemetry.context import Context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from compass_agent.errors.logged import cause_text
from compass_agent.runtime.tracing import TRACING

_logger = logging.getLogger("compass_agent.telemetry")
_HEADER = "traceparent"
_propagator = TraceContextTextMapPropagator()


def carry() -> None:
    """Have injections carry the span that is current."""
    TRACING.current = _current


def context_from(traceparent: object) -> Context:
    """Return the context that `traceparent` names; an empty one when it names none."""
    if not isinstance(traceparent, str):
        return Context()
    return _propagator.extract({_HEADER: traceparent}, Context())


def _current() -> str:
    """Return the trace context of the current span; "" when there is none."""
    carrier: dict[str, str] = {}
    try:
        _propagator.inject(carrier)
    except Exception as error:  # noqa: BLE001 - nothing may reach the agent
        _logger.warning("an injection goes without its trace context:\n%s", cause_text(error))
    return carrier.get(_HEADER, "")
