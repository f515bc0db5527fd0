"""Counters of this process for OpenTelemetry, and the trace context of injections.

::

    export_metrics()  # to the meter provider that the process has set up
    carry_traces()  # injections carry the span that is current

Needs the extra `otel`; without it every function raises `ExtraMissingError`. Nothing of it is
loaded unless a host asks for it.
"""

from __future__ import annotations

__all__ = (
    "ExtraMissingError",
    "Traced",
    "carry_traces",
    "context_of",
    "export_metrics",
    "finish_metrics",
)

import importlib
from typing import TYPE_CHECKING, Protocol

from compass_agent.errors.extras import ExtraMissingError

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.metrics import MeterProvider


class Traced(Protocol):
    """Anything that carries a W3C trace context, such as an injection."""

    @property
    def traceparent(self) -> str:
        """The trace context; "" without one."""
        ...


def _require() -> None:
    try:
        importlib.import_module("opentelemetry.metrics")
    except ModuleNotFoundError as error:
        reason = "OpenTelemetry needs more: pip install 'compass-agent[otel]'"
        raise ExtraMissingError(reason) from error


def export_metrics(meter_provider: MeterProvider | None = None) -> bool:
    """Let a meter provider read the counters of this process; a second call changes nothing.

    They are those of all sessions and hubs, from before the call too. They are read when the
    provider's readers ask, in the readers' threads; sessions take no part in it.

    Args:
        meter_provider: The provider; else the one of the process, also when it is set later.

    Returns:
        Whether there is an SDK that takes them by now, not only OpenTelemetry's own stand-in.

    Raises:
        ExtraMissingError: `unsupported_input`: the extra `otel` is not installed.
    """
    _require()
    from compass_agent.telemetry.metrics import export  # noqa: PLC0415 - needs the extra

    return export(meter_provider)


def finish_metrics(timeout_s: float) -> bool:
    """Let the process's meter provider send what it has and end; it takes no more afterwards.

    A provider waits half a minute for a collector that is away; this does not.

    Args:
        timeout_s: How long it may take, in seconds; half as long again passes at the most.

    Returns:
        Whether all went out in time, or there is no SDK that would send anything.

    Raises:
        ExtraMissingError: `unsupported_input`: the extra `otel` is not installed.
    """
    _require()
    from compass_agent.telemetry.metrics import finish  # noqa: PLC0415 - needs the extra

    return finish(timeout_s)


def carry_traces() -> None:
    """Have `session.inject` write the span that is current, when it is given no `traceparent`.

    Raises:
        ExtraMissingError: `unsupported_input`: the extra `otel` is not installed.
    """
    _require()
    from compass_agent.telemetry.traces import carry  # noqa: PLC0415 - needs the extra

    carry()


def context_of(injection: Traced) -> Context:
    """Return the context of an injection that was received: spans in it go on with its trace.

    Without a trace context, or with one that is malformed, it is an empty context: a span in it
    begins a trace of its own.

    Args:
        injection: Anything with a `traceparent`: a `SessionInjection` of either lane, or an entry
            of a view.

    Raises:
        ExtraMissingError: `unsupported_input`: the extra `otel` is not installed.
    """
    _require()
    from compass_agent.telemetry.traces import context_from  # noqa: PLC0415 - needs the extra

    return context_from(injection.traceparent)
