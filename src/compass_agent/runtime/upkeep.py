"""Keeps a log small while a hub runs, also when nobody appends to it; what fails is tried again."""

from __future__ import annotations

__all__ = ("Trying", "keep_pruned")

import logging
from typing import TYPE_CHECKING

import anyio

from compass_agent.errors.answering import answer_for

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from compass_agent.log import KeepLog

_logger = logging.getLogger("compass_agent.runtime")

_EVERY_S, _REST = 60.0, 20
"""A large log takes long to look through, and whoever uses it waits meanwhile: so many times as
long it is left alone."""


class Trying:
    """Does something that a hub does again and again, and that may fail in any way.

    Args:
        what: What is not so when it fails, for the log: "the log could not be pruned".
    """

    def __init__(self, what: str) -> None:
        self._what = what
        self._complained = False

    async def once(self, work: Callable[[], Awaitable[object]]) -> None:
        """Do it. What fails is logged once, until it works again; nothing of it is raised."""
        try:
            await work()
        except Exception as error:  # noqa: BLE001 - the hub goes on, and tries again
            if not self._complained:
                failure = answer_for(error)
                _logger.warning("%s, trying again: %s", self._what, failure.code)
            self._complained = True
        else:
            self._complained = False


async def keep_pruned(log: KeepLog) -> None:
    """Prune `log` now and then every minute, or less often if that takes long, until cancelled."""
    pruning = Trying("the log could not be pruned")
    while True:
        began = anyio.current_time()
        await pruning.once(log.prune)
        await anyio.sleep(max(_EVERY_S, _REST * (anyio.current_time() - began)))
