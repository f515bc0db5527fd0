"""Counts down on a terminal: to when a provider takes requests again, or a hub is tried again."""

from __future__ import annotations

__all__ = ("Countdown",)

import sys
import time
from typing import TYPE_CHECKING

import anyio

from compass_agent.cli.talk import talks_json, terminal_width
from compass_agent.view.words import duration

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TextIO


class Countdown:
    """One line on a terminal, drawn again each second, and wiped before anything else is printed.

    Args:
        out: The terminal, beside what is printed.
        shown: False: draw nothing, ever.
        width: Gives the terminal's width in cells, as it is now.
    """

    def __init__(
        self, out: TextIO, *, shown: bool, width: Callable[[], int | None] = lambda: None
    ) -> None:
        self._out = out
        self._shown = shown
        self._width = width
        self._texts: tuple[str, ...] = ()
        self._until_ms = 0
        self._hidden = False
        self._drawn = 0
        self._set = anyio.Event()

    @classmethod
    def on_stderr(cls) -> Countdown:
        """Return one that draws when both outputs are terminals, and people read them."""
        shown = sys.stderr.isatty() and sys.stdout.isatty() and not talks_json()
        return cls(sys.stderr, shown=shown, width=lambda: terminal_width(sys.stderr))

    @property
    def shown(self) -> bool:
        """Whether it draws at all."""
        return self._shown

    def begin(self, until_ms: int, *texts: str) -> None:
        """Count down to `until_ms`, in milliseconds since 1970-01-01 UTC.

        Args:
            until_ms: Until when.
            texts: What to say, with `{}` for the time that is left: the first that fits is shown,
                cut when none does.
        """
        if self._shown:
            self._until_ms, self._texts = until_ms, texts
            self.show()
            self._set.set()

    def hide(self) -> None:
        """Leave an empty line until `show` is called; the counting goes on."""
        self._hidden = True
        self._wipe()

    def show(self) -> None:
        """Draw it again, if there is time left."""
        self._hidden = False
        self._draw()

    def stop(self) -> None:
        """Stop counting and leave an empty line."""
        self._until_ms = 0
        self._wipe()

    async def run(self) -> None:
        """Draw, until it is cancelled."""
        while True:
            await self._set.wait()
            while self._until_ms:
                await anyio.sleep(1 - time.time() % 1)
                self._draw()
            self._set = anyio.Event()

    def _wipe(self) -> None:
        if self._drawn:
            self._out.write("\r" + " " * min(self._drawn, self._room()) + "\r")
            self._out.flush()
            self._drawn = 0

    def _room(self) -> int:
        # The last cell stays free: a line that reaches it cannot be drawn over.
        return max((self._width() or 80) - 1, 1)

    def _draw(self) -> None:
        left = self._until_ms - time.time_ns() // 1_000_000
        if not self._until_ms or left <= 0:
            self.stop()
            return
        if self._hidden:
            return
        room = self._room()
        span = duration((left + 999) // 1000 * 1000)
        texts = [text.format(span) for text in self._texts]
        text = next((text for text in texts if len(text) <= room), texts[-1][:room])
        self._out.write("\r" + text.ljust(min(self._drawn, room)))
        self._out.flush()
        self._drawn = max(self._drawn, len(text))
