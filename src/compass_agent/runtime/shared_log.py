"""Logs that the sessions of a process share, one for each URL. Lives in the publishing thread."""

from __future__ import annotations

__all__ = ("RENEW_EVERY_S", "SharedLog", "Transport", "shared_log")

import logging
import os
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Protocol

from compass_agent.errors.worded import words_of
from compass_agent.log import is_hub, open_log
from compass_agent.runtime.joining import Joined
from compass_agent.transport import LocalTransport

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable

    from compass_agent.wire import Answer, Batch, SessionMeta

_logger = logging.getLogger("compass_agent.runtime")

# A lease is valid for five renewals, so that a busy machine does not lose one.
RENEW_EVERY_S = 2.0
_LEASE_S = 10.0


class Transport(Protocol):
    """A way to a log, or to the hub that keeps one."""

    async def open(
        self, session: str, epoch: str, meta: SessionMeta | None = None, *, recovered: bool = False
    ) -> None:
        """As `AppendLog.open`."""
        ...

    async def publish(self, batch: Batch) -> Answer:
        """As `AppendLog.append`."""
        ...

    async def renew(self, epochs: Iterable[tuple[str, str]], seconds: float = 10.0) -> None:
        """As `AppendLog.renew`."""
        ...

    def forget(self, session: str, epoch: str) -> None:
        """Let go of what is held for this epoch: its writer is done."""
        ...


class SharedLog:
    """The way to a log, the sessions that use it, and their common lease."""

    def __init__(self, transport: Transport, close: Callable[[], Awaitable[None]]) -> None:
        self.transport = transport
        self.aclose = close
        self.delivery = Joined()
        self.epochs: set[tuple[str, str]] = set()
        self.users = 0
        self._renewed = 0.0
        self._complained = False

    async def renew_when_due(self) -> None:
        """Renew the lease of all epochs, unless another session has just done so."""
        now = time.monotonic()
        if now - self._renewed < RENEW_EVERY_S / 2 or not self.epochs:
            return
        self._renewed = now
        try:
            await self.transport.renew(sorted(self.epochs), _LEASE_S)
        except Exception as error:  # noqa: BLE001 - frames are to be published all the same
            if not self._complained:
                _logger.warning("the lease could not be renewed, trying again: %s", words_of(error))
            self._complained = True
        else:
            self._complained = False


_logs: dict[str, SharedLog] = {}

# What a fork's child has of its parent's logs is neither used nor closed: both would disturb it.
_of_the_parent: list[SharedLog] = []


def _leave_to_parent() -> None:
    _of_the_parent.extend(_logs.values())
    _logs.clear()


os.register_at_fork(after_in_child=_leave_to_parent)


@asynccontextmanager
async def shared_log(url: str) -> AsyncGenerator[SharedLog]:
    """Open the log at `url`, or join those who have it open; the last to leave closes it.

    Raises:
        OperationError: As `open_log` does, or `TokenRefusedError`: a hub's token cannot be read.
    """
    shared = _logs.get(url)
    if shared is None:
        shared = _logs[url] = _open(url)
    shared.users += 1
    try:
        yield shared
    finally:
        shared.users -= 1
        if not shared.users:
            del _logs[url]
            await shared.aclose()


def _open(url: str) -> SharedLog:
    if not is_hub(url):
        log = open_log(url, one_loop=True)
        return SharedLog(LocalTransport(log), log.aclose)
    from compass_agent.transport.grpc import hub_transport  # noqa: PLC0415 - only who uses a hub needs gRPC

    hub = hub_transport(url)
    return SharedLog(hub, hub.aclose)
