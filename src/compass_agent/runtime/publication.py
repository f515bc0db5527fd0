"""Publishes a session from a thread of its own, whatever the host's event loop does."""

from __future__ import annotations

__all__ = ("Publication",)

import logging
import threading
from typing import TYPE_CHECKING

import anyio
from anyio.from_thread import BlockingPortalProvider

from compass_agent.errors.codes import OperationError
from compass_agent.publish import Pump
from compass_agent.runtime.shared_log import RENEW_EVERY_S, shared_log
from compass_agent.transport import LocalTransport

if TYPE_CHECKING:
    from concurrent.futures import Future

    from anyio.from_thread import BlockingPortal

    from compass_agent.runtime.shared_log import SharedLog
    from compass_agent.sink import FrameSink
    from compass_agent.wire import Answer, Batch, SessionMeta

_logger = logging.getLogger("compass_agent.runtime")

# One thread and one loop for all sessions of the process; the last session to close ends it.
_threads = BlockingPortalProvider("asyncio")

# The part of the time for closing in which frames are sent; the rest is for closing the log.
_DRAINING = 0.8


class Publication:
    """Opens the session's epoch in a log and pumps its frames there until it is closed.

    Args:
        sink: The session's sink.
        url: The log.
        meta: What the log is told about the session.
    """

    def __init__(self, sink: FrameSink, url: str, meta: SessionMeta) -> None:
        self._sink = sink
        self._url = url
        self._meta = meta
        self._closing: anyio.Event | None = None
        self._timeout = 0.0
        self._portal: BlockingPortal | None = None
        self._served: Future[None] | None = None

    def start(self) -> None:
        """Begin to publish. Takes about a millisecond when the thread has to be started."""
        self._portal = _threads.__enter__()
        self._closing = self._portal.call(anyio.Event)
        self._served = self._portal.start_task_soon(self._serve, self._closing)

    def close(self, timeout: float) -> None:
        """Flush what waits and stop. Blocks up to `timeout` seconds; never raises."""
        portal, served, closing = self._portal, self._served, self._closing
        if portal is None or served is None or closing is None:
            return
        self._portal = None
        self._timeout = timeout * _DRAINING
        try:
            portal.start_task_soon(closing.set)
            served.result(timeout)
        except Exception as error:  # noqa: BLE001 - nothing may reach the agent
            why = "in time" if isinstance(error, TimeoutError) else f"({error!r})"
            _logger.warning("session %s could not be closed %s", self._sink.session_id, why)
        finally:
            if served.done():
                _threads.__exit__(None, None, None)
            else:
                # A busy SQLite file holds its caller for seconds: the thread ends after that.
                leave = threading.Thread(target=_threads.__exit__, args=(None, None, None))
                leave.start()

    async def _serve(self, closing: anyio.Event) -> None:
        delay = 0.05
        while True:
            try:
                async with shared_log(self._url) as shared:
                    await self._publish(shared, closing)
                    return
            except OperationError as error:
                _logger.warning("the session log could not be opened: %s", error)
            if closing.is_set():
                return
            with anyio.move_on_after(delay):
                await closing.wait()
            delay = min(30.0, delay * 4)

    async def _publish(self, shared: SharedLog, closing: anyio.Event) -> None:
        epoch = (self._sink.session_id, self._sink.epoch)
        shared.epochs.add(epoch)
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_keep_lease, shared)
                publisher = _OpeningPublisher(LocalTransport(shared.log), self._meta)
                async with Pump(self._sink, publisher) as pump:
                    await closing.wait()
                    await pump.aclose(self._timeout)
                tasks.cancel_scope.cancel()
        finally:
            shared.epochs.discard(epoch)


class _OpeningPublisher:
    """Opens the epoch in the log before its first batch goes there."""

    def __init__(self, transport: LocalTransport, meta: SessionMeta) -> None:
        self._transport = transport
        self._meta = meta
        self._opened = False

    async def publish(self, batch: Batch) -> Answer:
        if not self._opened:
            await self._transport.open(batch.session, batch.epoch, self._meta)
            self._opened = True
        return await self._transport.publish(batch)


async def _keep_lease(shared: SharedLog) -> None:
    while True:
        await anyio.sleep(RENEW_EVERY_S)
        await shared.renew_when_due()
