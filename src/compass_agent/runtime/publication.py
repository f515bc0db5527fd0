"""Publishes a session from a thread of its own, whatever the host's event loop does."""

from __future__ import annotations

__all__ = ("Publication",)

import logging
import os
import threading
from functools import partial
from typing import TYPE_CHECKING
from weakref import WeakSet

import anyio
from anyio.from_thread import BlockingPortal, BlockingPortalProvider

from compass_agent.errors.codes import ErrorCode, OperationError
from compass_agent.errors.worded import words_of
from compass_agent.log.extras import require_extra_of
from compass_agent.publish import Pump
from compass_agent.runtime.journals import deliver_journals, new_journal
from compass_agent.runtime.late_calls import expect_late_calls
from compass_agent.runtime.shared_log import RENEW_EVERY_S, shared_log
from compass_agent.sink.records import JournalHead

if TYPE_CHECKING:
    from concurrent.futures import Future

    from compass_agent.runtime.shared_log import SharedLog
    from compass_agent.sink import FrameSink
    from compass_agent.wire import Answer, Batch, SessionMeta

_logger = logging.getLogger("compass_agent.runtime")

# One thread and one loop for all sessions of the process; the last session to close ends it.
_threads = BlockingPortalProvider("asyncio")


# Those that run, for `_forget_thread`.
_portals: WeakSet[BlockingPortal] = WeakSet()


def _forget_thread() -> None:
    """Have the child of a fork start a thread of its own."""
    global _threads  # noqa: PLW0603 - as in the docstring
    for portal in _portals:
        # The loop's thread is not there. Who asks it to stop, as its owner does when it is freed,
        # would wait for ever; a portal that is known not to run says so instead.
        portal._event_loop_thread_id = None  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - there is no public way
    _portals.clear()
    _threads = BlockingPortalProvider("asyncio")


os.register_at_fork(after_in_child=_forget_thread)

_FIRST_DELAY_S = 0.05

# The part of the time for closing in which frames are sent; the rest is for closing the log.
_DRAINING = 0.8


def _begin() -> anyio.Event:
    """Return what a session of this loop is closed by."""
    expect_late_calls()
    return anyio.Event()


class Publication:
    """Opens the session's epoch in a log and pumps its frames there until it is closed.

    Args:
        sink: The session's sink.
        url: The log.
        meta: What the log is told about the session.
        fsync: Whether the journal waits for the disk.

    Raises:
        ExtraMissingError: `unsupported_input`: what it takes to reach that log is not installed.
    """

    def __init__(
        self, sink: FrameSink, url: str, meta: SessionMeta, *, fsync: bool = False
    ) -> None:
        require_extra_of(url)
        self._fsync = fsync
        self._sink = sink
        self._url = url
        self._meta = meta
        self._closing: anyio.Event | None = None
        self._timeout = 0.0
        self._portal: BlockingPortal | None = None
        self._served: Future[None] | None = None

    def keep_journal(self) -> None:
        """Have priority frames on disk from now on, unless the log is this process's memory."""
        head = JournalHead(self._sink.session_id, self._sink.epoch, self._url, self._meta)
        journal = new_journal(head, fsync=self._fsync)
        if journal is not None:
            self._sink.use_journal(journal)

    def start(self) -> None:
        """Begin to publish. Takes about a millisecond when the thread has to be started."""
        self._portal = _threads.__enter__()
        _portals.add(self._portal)
        self._closing = self._portal.call(_begin)
        self._served = self._portal.start_task_soon(self._serve, self._closing)

    def close(self, timeout: float) -> None:
        """Flush what waits and stop. Blocks up to `timeout` seconds; never raises."""
        portal, served, closing = self._portal, self._served, self._closing
        if portal is None or served is None or closing is None:
            self._sink.close_journal()
            return
        self._portal = None
        self._timeout = timeout * _DRAINING
        try:
            portal.start_task_soon(closing.set)
            served.result(timeout)
        except Exception as error:  # noqa: BLE001 - nothing may reach the agent
            why = " in time" if isinstance(error, TimeoutError) else f": {words_of(error)}"
            _logger.warning("session %s could not be closed%s", self._sink.session_id, why)
        finally:
            self._sink.close_journal()
            if served.done():
                _threads.__exit__(None, None, None)
            else:
                # A busy SQLite file holds its caller for seconds: the thread ends after that.
                leave = threading.Thread(target=_threads.__exit__, args=(None, None, None))
                leave.start()

    async def _serve(self, closing: anyio.Event) -> None:
        delay = _FIRST_DELAY_S
        while True:
            try:
                async with shared_log(self._url) as shared:
                    await self._publish(shared, closing)
                    return
            except OperationError as error:
                if delay == _FIRST_DELAY_S:
                    text = "the session log could not be opened, trying again: %s"
                    _logger.warning(text, words_of(error))
            if closing.is_set():
                self._sink.give_up()
                return
            self._sink.note_retry()
            with anyio.move_on_after(delay):
                await closing.wait()
            delay = min(30.0, delay * 4)

    async def _publish(self, shared: SharedLog, closing: anyio.Event) -> None:
        epoch = (self._sink.session_id, self._sink.epoch)
        shared.epochs.add(epoch)
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_keep_lease, shared)
                publisher = _OpeningPublisher(shared, self._url, self._meta)
                async with Pump(self._sink, publisher) as pump:
                    await closing.wait()
                    await pump.aclose(self._timeout)
                tasks.cancel_scope.cancel()
        finally:
            shared.epochs.discard(epoch)
            shared.transport.forget(*epoch)


class _OpeningPublisher:
    """Before its first batch, delivers what others left for the log, then opens the epoch.

    Sessions that are opened at the same time deliver together.
    """

    def __init__(self, shared: SharedLog, url: str, meta: SessionMeta) -> None:
        self._transport = shared.transport
        self._delivery = shared.delivery
        self._url = url
        self._meta = meta
        self._opened = False
        self._sealed = False

    async def publish(self, batch: Batch) -> Answer:
        if not self._opened:
            await self._delivery.run(partial(deliver_journals, self._url, self._transport))
            await self._transport.open(batch.session, batch.epoch, self._meta)
            self._opened = True
        try:
            answer = await self._transport.publish(batch)
        except OperationError as error:
            if error.code is not ErrorCode.NOT_FOUND:
                raise
            answer = await self._publish_anew(batch)
        self._sealed = self._sealed or answer.sealed
        return answer

    async def _publish_anew(self, batch: Batch) -> Answer:
        """Publish to a log that has deleted the session: what is told from now on is to be seen."""
        # A writer whose session was taken over must not take it back from the one at work.
        await self._transport.open(batch.session, batch.epoch, self._meta, recovered=self._sealed)
        return await self._transport.publish(batch)


async def _keep_lease(shared: SharedLog) -> None:
    while True:
        await anyio.sleep(RENEW_EVERY_S)
        await shared.renew_when_due()
