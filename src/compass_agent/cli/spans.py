"""Numbers, spans of time and points in time, as people write them on a command line."""

from __future__ import annotations

__all__ = ("count_or_all", "moment", "seconds", "whole_number")

import argparse
import datetime as dt
import re
import time

_LONGEST_S = 366 * 86_400.0
_SPAN = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,3})?)(ms|s|m|h|d|)", re.ASCII)
_UNITS = {"ms": 0.001, "s": 1.0, "": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
_COUNT = re.compile(r"[0-9]{1,9}", re.ASCII)


def seconds(text: str) -> float:
    """Return the span, such as `90`, `1.5s`, `10m`, `2h` or `1d`, in seconds."""
    match = _SPAN.fullmatch(text)
    span = -1.0 if match is None else float(match[1]) * _UNITS[match[2]]
    if not 0.0 <= span <= _LONGEST_S:
        raise argparse.ArgumentTypeError("a span of time, such as 90, 30s, 10m, 2h or 1d")
    return span


def moment(text: str) -> int:
    """Return the point in time in milliseconds since 1970-01-01 UTC: a span ago, or ISO 8601."""
    if _SPAN.fullmatch(text):
        return time.time_ns() // 1_000_000 - round(seconds(text) * 1000)
    try:
        at = dt.datetime.fromisoformat(text)
        return round(at.timestamp() * 1000)  # without a zone it is local time
    except (ValueError, OverflowError, OSError) as error:
        raise argparse.ArgumentTypeError(
            "a span before now, such as 10m, or a time, such as 2026-11-30T10:47 or with its zone"
        ) from error


def whole_number(text: str) -> int:
    """Return a whole number, 0 or more."""
    if not _COUNT.fullmatch(text):
        raise argparse.ArgumentTypeError("a whole number, 0 or more")
    return int(text)


def count_or_all(text: str) -> int | None:
    """Return a whole number, 0 or more; None for `all`."""
    try:
        return None if text == "all" else whole_number(text)
    except argparse.ArgumentTypeError:
        raise argparse.ArgumentTypeError("a whole number, 0 or more, or all") from None
