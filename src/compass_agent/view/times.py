"""The time at the head of each entry, in a column of one width."""

from __future__ import annotations

__all__ = ("TimeForm", "Times")

import datetime as dt
import time
from enum import StrEnum

_YEAR_10000_MS = 253_402_300_800_000
_MINUTE_S = 60


class TimeForm(StrEnum):
    """How times are written.

    CLOCK is the time of day, ISO is complete, REL counts from the first entry that is shown, DELTA
    from the one before, NONE leaves the column out.
    """

    CLOCK = "clock"
    ISO = "iso"
    REL = "rel"
    DELTA = "delta"
    NONE = "none"


_WIDTHS = {TimeForm.CLOCK: 8, TimeForm.REL: 10, TimeForm.DELTA: 10, TimeForm.NONE: 0}
_ISO_UTC, _ISO_LOCAL = 24, 29


class Times:
    """Writes times. One serves one reading, because REL and DELTA count from what was written.

    Args:
        form: How to write them.
        utc: In UTC; else in the local time of this machine.
    """

    def __init__(self, form: TimeForm = TimeForm.CLOCK, *, utc: bool = False) -> None:
        self._form = form
        self._utc = utc
        self._from_ms: int | None = None
        self._second = -1
        self._clock = ""
        self.width: int = _WIDTHS.get(form, _ISO_UTC if utc else _ISO_LOCAL)
        """Characters of a time."""

    def text(self, at_ms: int | None) -> str:
        """Return the time, `width` characters long.

        Args:
            at_ms: Milliseconds since 1970-01-01 UTC; None, or what no calendar holds: dashes.
        """
        if self._form is TimeForm.NONE:
            return ""
        if at_ms is None or not 0 < at_ms < _YEAR_10000_MS:
            return "--:--:--".rjust(self.width)
        if self._form is TimeForm.CLOCK:
            return self._of_day(at_ms // 1000)
        if self._form is TimeForm.ISO:
            return self._iso(at_ms)
        return self._counted(at_ms).rjust(self.width)

    def _of_day(self, second: int) -> str:
        if second != self._second:
            parts = time.gmtime(second) if self._utc else time.localtime(second)
            self._second, self._clock = second, time.strftime("%H:%M:%S", parts)
        return self._clock

    def _iso(self, at_ms: int) -> str:
        at = dt.datetime.fromtimestamp(at_ms / 1000, dt.UTC)
        if self._utc:
            return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        return at.astimezone().isoformat(timespec="milliseconds")

    def _counted(self, at_ms: int) -> str:
        base = at_ms if self._from_ms is None else self._from_ms
        if self._from_ms is None or self._form is TimeForm.DELTA:
            self._from_ms = at_ms
        sign = "-" if at_ms < base else "+"  # clocks step back
        seconds, rest = divmod(abs(at_ms - base), 1000)
        minutes, seconds = divmod(seconds, _MINUTE_S)
        hours, minutes = divmod(minutes, _MINUTE_S)
        return f"{sign}{hours}:{minutes:02}:{seconds:02}.{rest // 100}"
