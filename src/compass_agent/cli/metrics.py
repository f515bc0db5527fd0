"""`--metrics`: the command's counters go to the OpenTelemetry SDK that the process has set up."""

from __future__ import annotations

__all__ = ("add_metrics_option", "start_metrics")

from typing import TYPE_CHECKING

from compass_agent.cli.exits import CommandError
from compass_agent.cli.talk import say

if TYPE_CHECKING:
    import argparse


def add_metrics_option(parser: argparse.ArgumentParser) -> None:
    """Add `--metrics`."""
    parser.add_argument(
        "--metrics",
        action="store_true",
        help="give the counters to OpenTelemetry, as set up by opentelemetry-instrument and OTEL_*",
    )


def start_metrics(options: argparse.Namespace) -> None:
    """Export metrics, if asked to; say so when nothing would take them.

    Raises:
        CommandError: The extra `otel` is not installed.
    """
    if not options.metrics:
        return
    from compass_agent.telemetry import ExtraMissingError, export_metrics  # noqa: PLC0415 - dear

    try:
        taken = export_metrics()
    except ExtraMissingError as error:
        raise CommandError(error.reason, error.code) from error
    if not taken:
        say("no metrics go out: no OpenTelemetry SDK is set up (try opentelemetry-instrument)")
