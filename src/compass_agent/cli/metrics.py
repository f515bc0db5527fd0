"""`--metrics`: the command's counters go to the OpenTelemetry SDK that the process has set up."""

from __future__ import annotations

__all__ = ("add_metrics_option", "giving_metrics")

from contextlib import contextmanager
from typing import TYPE_CHECKING

from compass_agent.cli.exits import CommandError
from compass_agent.cli.talk import say

if TYPE_CHECKING:
    import argparse
    from collections.abc import Generator

# The SDK would wait for half a minute for a collector that is away; a hub stops within two seconds.
_LAST_WORD_S = 1.0


def add_metrics_option(parser: argparse.ArgumentParser) -> None:
    """Add `--metrics`."""
    parser.add_argument(
        "--metrics",
        action="store_true",
        help="give the counters to OpenTelemetry, as set up by OTEL_* and"
        " `opentelemetry-instrument -- compass …`",
    )


@contextmanager
def giving_metrics(options: argparse.Namespace) -> Generator[None]:
    """Export metrics in the block, if asked to, and once more at its end, for a second at most.

    When nothing would take them, it says so. The SDK takes no more afterwards.

    Raises:
        CommandError: The extra `otel` is not installed.
    """
    if not options.metrics:
        yield
        return
    from compass_agent.telemetry import (  # noqa: PLC0415 - dear
        ExtraMissingError,
        export_metrics,
        finish_metrics,
    )

    try:
        taken = export_metrics()
    except ExtraMissingError as error:
        raise CommandError(error.reason, error.code) from error
    if not taken:
        say(
            "no metrics go out: no OpenTelemetry SDK is set up"
            " (try opentelemetry-instrument -- compass …)"
        )
    try:
        yield
    finally:
        if not finish_metrics(_LAST_WORD_S):
            say("the last metrics did not go out")
