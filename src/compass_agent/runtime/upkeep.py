"""Keeps a log small while a hub runs, also when nobody appends to it."""

from __future__ import annotations

__all__ = ("keep_pruned",)

import logging
from typing import TYPE_CHECKING

import anyio

from compass_agent.errors.codes import OperationError

if TYPE_CHECKING:
    from compass_agent.log import KeepLog

_logger = logging.getLogger("compass_agent.runtime")

_EVERY_S = 60.0


async def keep_pruned(log: KeepLog) -> None:
    """Prune `log` now and then every minute, until it is cancelled."""
    while True:
        try:
            await log.prune()
        except OperationError as error:
            _logger.warning("the log could not be pruned, trying again: %r", error)
        await anyio.sleep(_EVERY_S)
