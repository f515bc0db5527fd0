"""Logs that the sessions of a process share, one for each URL. Lives in the publishing thread."""

from __future__ import annotations

__all__ = ("RENEW_EVERY_S", "SharedLog", "shared_log")

import logging
import os
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from compass_agent.errors.codes import OperationError
from compass_agent.log import open_log

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from compass_agent.log import SessionLog

_logger = logging.getLogger("compass_agent.runtime")

# A lease is valid for five renewals, so that a busy machine does not lose one.
RENEW_EVERY_S = 2.0
_LEASE_S = 10.0


class SharedLog:
    """A log, the sessions that use it, and their common lease."""

    def __init__(self, log: SessionLog) -> None:
        self.log = log
        self.epochs: set[tuple[str, str]] = set()
        self.users = 0
        self._renewed = 0.0

    async def renew_when_due(self) -> None:
        """Renew the lease of all epochs, unless another session has just done so."""
        now = time.monotonic()
        if now - self._renewed < RENEW_EVERY_S / 2 or not self.epochs:
            return
        self._renewed = now
        try:
            await self.log.renew(sorted(self.epochs), _LEASE_S)
        except OperationError as error:
            _logger.warning("the lease could not be renewed: %r", error)


_logs: dict[str, SharedLog] = {}

# What a fork's child has of its parent's logs is neither used nor closed: both would disturb it.
_of_the_parent: list[SharedLog] = []


def _leave_to_parent() -> None:
    _of_the_parent.extend(_logs.values())
    _logs.clear()


os.register_at_fork(after_in_child=_leave_to_parent)


@asynccontextmanager
async def shared_log(url: str) -> AsyncGenerator[SharedLog]:
    """Open the log at `url`, or join those who have it open; the last to leave closes it."""
    shared = _logs.get(url)
    if shared is None:
        shared = _logs[url] = SharedLog(open_log(url))
    shared.users += 1
    try:
        yield shared
    finally:
        shared.users -= 1
        if not shared.users:
            del _logs[url]
            await shared.log.aclose()
