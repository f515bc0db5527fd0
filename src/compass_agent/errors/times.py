"""Reads the ways in which providers write a span of time or a moment. Never raises."""

from __future__ import annotations

__all__ = ("duration_s", "epoch_s", "http_date_s", "number", "timestamp_s")

import re
from datetime import UTC, datetime, timedelta

# `float()` also takes "inf", "nan", "1_000" and digits of other scripts; more than ten digits
# before the point are no wait that anybody means.
_NUMBER = re.compile(r"-?[0-9]{1,10}(?:\.[0-9]{1,12})?")
_EPOCH = re.compile(r"[0-9]{9,17}(?:\.[0-9]{1,12})?")
_DURATION_PART = re.compile(r"([0-9]{1,10}(?:\.[0-9]{1,12})?)(ns|us|µs|μs|ms|s|m|h|d)")
_UNITS = {
    "ns": 1e-9,
    "us": 1e-6,
    "µs": 1e-6,
    "μs": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "m": 60.0,
    "h": 3600.0,
    "d": 86400.0,
}
_LONGEST_DURATION = 64

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAY, _MONTH = r"(?P<day>[0-9]{1,2})", r"(?P<month>[a-z]{3})"
_CLOCK = r"(?P<hour>[0-9]{2}):(?P<minute>[0-9]{2}):(?P<second>[0-9]{2})"
# RFC 9110 5.6.7: the form of today, the one of RFC 850, and that of C's asctime.
_HTTP_DATES = tuple(
    re.compile(pattern, re.ASCII | re.IGNORECASE)
    for pattern in (
        rf"[a-z]{{3}}, {_DAY} {_MONTH} (?P<year>[0-9]{{4}}) {_CLOCK} (?:GMT|UTC|\+0000)",
        rf"[a-z]{{6,9}}, {_DAY}-{_MONTH}-(?P<year>[0-9]{{2}}) {_CLOCK} (?:GMT|UTC)",
        rf"[a-z]{{3}} {_MONTH} +{_DAY} {_CLOCK} (?P<year>[0-9]{{4}})",
    )
)
_TIMESTAMP = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt ]([0-9]{2}):([0-9]{2}):([0-9]{2})"
    r"(\.[0-9]{1,9})?(?:([Zz])|([+-])([0-9]{2}):?([0-9]{2}))?"
)
# Two digits of a year this far ahead mean the last century (RFC 9110).
_CENTURY_TURN = 50
_SMALLEST_MILLISECONDS = 1e12


def number(text: str) -> float | None:
    """Return the plain decimal number that `text` is; None for anything else."""
    text = text.strip()
    return float(text) if _NUMBER.fullmatch(text) else None


def duration_s(text: str) -> float | None:
    """Return the seconds of a Go duration such as `1m13.588s`; None for anything else."""
    text = text.strip()
    if len(text) > _LONGEST_DURATION:
        return None
    parts = list(_DURATION_PART.finditer(text))
    if not parts or "".join(part[0] for part in parts) != text:
        return None
    total = 0.0
    for part in parts:
        amount = float(part[1])
        # 644 * 0.001 is not 0.644; 644 / 1000 is.
        total += amount / 1000 if part[2] == "ms" else amount * _UNITS[part[2]]
    return total


def http_date_s(text: str) -> float | None:
    """Return the epoch seconds of an HTTP date in any of its three forms."""
    for form in _HTTP_DATES:
        match = form.fullmatch(text.strip())
        if match is not None:
            return _moment(match.groupdict())
    return None


def timestamp_s(text: str) -> float | None:
    """Return the epoch seconds of an RFC 3339 timestamp; without a zone it is UTC."""
    match = _TIMESTAMP.fullmatch(text.strip())
    if match is None:
        return None
    year, month, day, hour, minute, second = (int(match[i]) for i in range(1, 7))
    offset = timedelta()
    if match[9]:
        offset = timedelta(hours=int(match[10]), minutes=int(match[11]))
        offset = -offset if match[9] == "-" else offset
    try:
        moment = datetime(year, month, day, hour, minute, min(second, 59), tzinfo=UTC)
        seconds = (moment - offset).timestamp()
    except (ValueError, OverflowError):
        return None
    return seconds + float(match[7] or 0)


def epoch_s(text: str) -> float | None:
    """Return the epoch seconds of a number of epoch seconds or milliseconds."""
    text = text.strip()
    if not _EPOCH.fullmatch(text):
        return None
    value = float(text)
    return value / 1000 if value >= _SMALLEST_MILLISECONDS else value


def _moment(parts: dict[str, str]) -> float | None:
    month = parts["month"].lower()
    if month not in _MONTHS:
        return None
    year = int(parts["year"])
    if len(parts["year"]) == 2:  # noqa: PLR2004 - the short form of RFC 850
        year += 1900 if year >= _CENTURY_TURN else 2000
    try:
        return datetime(
            year,
            _MONTHS.index(month) + 1,
            int(parts["day"]),
            int(parts["hour"]),
            int(parts["minute"]),
            min(int(parts["second"]), 59),
            tzinfo=UTC,
        ).timestamp()
    except ValueError:
        return None
