"""Counts down, on a terminal, to the moment at which the provider lets one try again."""

from __future__ import annotations

__all__ = ("Countdown",)

import sys
import time
from typing import TYPE_CHECKING

import anyio

from compass_agent.view.words import duration

if TYPE_CHECKING:
    from typing import TextIO


class Countdown:
    """One line on a terminal, drawn again each second, and wiped before anything else is printed.

    Args:
        out: The terminal, beside what is printed.
        shown: False: draw nothing, ever.
    """

    def __init__(self, out: TextIO, *, shown: bool) -> None:
        self._out = out
        self._shown = shown
        self._until_ms = 0
        self._drawn = 0
        self._set = anyio.Event()

    @classmethod
    def on_stderr(cls) -> Countdown:
        """Return one that draws when both outputs are terminals."""
        return cls(sys.stderr, shown=sys.stderr.isatty() and sys.stdout.isatty())

    def begin(self, until_ms: int) -> None:
        """Count down to `until_ms`, in milliseconds since 1970-01-01 UTC."""
        if self._shown:
            self._until_ms = until_ms
            self._draw()
            self._set.set()

    def wipe(self) -> None:
        """Stop counting and leave an empty line."""
        self._until_ms = 0
        if self._drawn:
            self._out.write("\r" + " " * self._drawn + "\r")
            self._out.flush()
            self._drawn = 0

    async def run(self) -> None:
        """Draw, until it is cancelled."""
        while True:
            await self._set.wait()
            while self._until_ms:
                await anyio.sleep(1 - time.time() % 1)
                self._draw()
            self._set = anyio.Event()

    def _draw(self) -> None:
        left = self._until_ms - time.time_ns() // 1_000_000
        if not self._until_ms or left <= 0:
            self.wipe()
            return
        text = f"compass: the provider lets try again in {duration((left + 999) // 1000 * 1000)}"
        self._out.write("\r" + text.ljust(self._drawn))
        self._out.flush()
        self._drawn = max(self._drawn, len(text))
