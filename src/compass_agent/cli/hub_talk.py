"""What is said while a hub is away, and when it is there again."""

from __future__ import annotations

__all__ = ("HubTalk",)

import time
from typing import TYPE_CHECKING

from compass_agent.cli.talk import say
from compass_agent.services.hub_links import HubAway, HubBack
from compass_agent.view.words import duration

if TYPE_CHECKING:
    from compass_agent.cli.countdown import Countdown


class HubTalk:
    """Says how a reading through a hub fares, on stderr.

    On a terminal the wait for each try is counted down on one line. Elsewhere a line tells of the
    1st, 2nd, 4th, 8th try and so on: a hub that is away for hours fills no file.

    Args:
        countdown: Draws the wait; None: there is nobody to draw it.
    """

    def __init__(self, countdown: Countdown | None = None) -> None:
        self._countdown = countdown

    def __call__(self, link: HubAway | HubBack) -> None:
        """Say it."""
        if self._countdown is not None:
            self._countdown.stop()
        if isinstance(link, HubBack):
            frames = "1 frame" if link.missing == 1 else f"{link.missing} frames"
            place = "" if link.cursor is None else f" after {link.cursor}"
            say(f"reconnected{place}; {frames} missing")
            return
        drawn = self._countdown is not None and self._countdown.shown
        if link.attempt == 1:
            limit = duration(round(link.patience_s * 1000))
            say(
                "the connection to the hub broke; the session may still be running;"
                f" trying again for {limit}"
            )
        elif not drawn and link.attempt & (link.attempt - 1) == 0:
            wait = duration(round(link.wait_s * 1000))
            say(f"the hub is away, the session may still be running; try {link.attempt} in {wait}")
        if drawn and self._countdown is not None:
            until_ms = time.time_ns() // 1_000_000 + round(link.wait_s * 1000)
            number = link.attempt
            self._countdown.begin(
                until_ms,
                f"compass: the hub is away, the session may still be running; try {number} in {{}}",
                f"compass: the hub is away; try {number} in {{}}",
                f"try {number} in {{}}",
            )
