"""Trying again where others were quicker."""

from __future__ import annotations

__all__ = ("Turns",)

import anyio

from compass_agent.log.jetstream.faults import BusyError

_TURNS, _TURNS_AT_ONCE, _PAUSE_S = 100, 4, 0.02


class Turns:
    """Counts how often others were quicker: it does not go on for ever, nor without a pause."""

    def __init__(self) -> None:
        self._count = 0

    async def lost(self) -> None:
        """Begin anew, after a pause when that happened before.

        Raises:
            BusyError: It happened too often.
        """
        self._count += 1
        if self._count > _TURNS:
            raise BusyError
        if self._count > _TURNS_AT_ONCE:
            await anyio.sleep(_PAUSE_S)
