"""The hub's end: batches from agents' processes go into a log, and each is answered.

For as long as an agent's call lives, the hub renews the leases of its epochs.
"""

from __future__ import annotations

__all__ = ("Ingest",)

import logging
from collections import Counter
from typing import TYPE_CHECKING

import anyio
import grpc

from compass_agent.errors.answering import answer_for
from compass_agent.errors.codes import ErrorCode
from compass_agent.transport.counts import BatchCounts
from compass_agent.wire import Answer
from compass_agent.wire.publish import PUBLISH_FRAME, answer_to_bytes, request_from_bytes

if TYPE_CHECKING:
    from grpc import aio

    from compass_agent.log.append import AppendLog
    from compass_agent.wire import Batch
    from compass_agent.wire.publish import PublishRequest

    _Handler = grpc.RpcMethodHandler[bytes, bytes]
    _Context = aio.ServicerContext[bytes, bytes]

_logger = logging.getLogger("compass_agent.transport")

_RENEW_EVERY_S = 2.0
_LEASE_S = 10.0

# Batches of one call that are stored at the same time; behind them the call is not read.
_AT_ONCE = 16


class Ingest:
    """Serves `PublishFrame` into `log`, which stays its owner's to close.

    Attributes:
        writers: How many calls publish each (session, epoch).
        counts: What was taken.
    """

    def __init__(self, log: AppendLog) -> None:
        self._log = log
        self.writers: Counter[tuple[str, str]] = Counter()
        self.counts = BatchCounts()

    def handler(self) -> grpc.GenericRpcHandler:
        """Return what a server is given."""
        service, method = PUBLISH_FRAME
        # Without serializers bytes come as they are.
        serve: _Handler = grpc.stream_stream_rpc_method_handler(self.publish_frame)
        return grpc.method_handlers_generic_handler(service, {method: serve})

    async def keep_leases(self) -> None:
        """Renew the leases of the epochs whose calls live, every two seconds, until cancelled.

        What fails is logged once, until it works again.
        """
        complained = False
        while True:
            await anyio.sleep(_RENEW_EVERY_S)
            if self.writers:
                try:
                    await self._log.renew(sorted(self.writers), _LEASE_S)
                except Exception as error:  # noqa: BLE001 - the hub goes on, and tries again
                    if not complained:
                        failure = answer_for(error)
                        _logger.warning(
                            "the leases could not be renewed, trying again: %s", failure.code
                        )
                    complained = True
                else:
                    complained = False

    async def publish_frame(self, _requests: object, context: _Context) -> None:
        """Answer every batch of one call, which may carry many sessions.

        Raises:
            MalformedRequestError: A message cannot be read, so that it is not known what to
                answer.
        """
        epochs: set[tuple[str, str]] = set()
        room = anyio.Semaphore(_AT_ONCE)
        writing = anyio.Lock()

        async def answer(request: PublishRequest) -> None:
            try:
                batch = request.batch
                told = await self._store(request)
                self.counts.add(batch, told)
                async with writing:
                    await context.write(answer_to_bytes(batch.session, batch.epoch, told))
            finally:
                room.release()

        try:
            async with anyio.create_task_group() as tasks:
                while True:
                    await room.acquire()
                    data = await _next_message(context)
                    if not isinstance(data, bytes):
                        break
                    request = request_from_bytes(data)
                    if not request.recovered:
                        self._meet(request.batch, epochs)
                    tasks.start_soon(answer, request)
        finally:
            self.writers.subtract(epochs)
            self.writers += Counter[tuple[str, str]]()

    def _meet(self, batch: Batch, epochs: set[tuple[str, str]]) -> None:
        """Note that this call publishes the batch's epoch, until it ends or the call does."""
        epoch = (batch.session, batch.epoch)
        if epoch not in epochs:
            epochs.add(epoch)
            self.writers[epoch] += 1

    async def _store(self, request: PublishRequest) -> Answer:
        batch, meta, recovered = request
        try:
            request.check()
            if recovered and batch.number == 0:
                # Storing says that the writer lives; it does not.
                await self._log.renew([(batch.session, batch.epoch)], 0.0)
            elif meta is not None:
                await self._log.open(batch.session, batch.epoch, meta, recovered=recovered)
            if batch.number == 0:
                return Answer(0, 0, 0)
            return await self._log.append(batch)
        except Exception as error:  # noqa: BLE001 - told by its code; the text of it stays here
            failure = answer_for(error)
            code = ErrorCode.UNAVAILABLE if failure.retryable else failure.code
        return Answer(batch.number, 0, 0, code=code)


async def _next_message(context: _Context) -> object:
    """Return the next message's bytes, or gRPC's mark of the end."""
    return await context.read()
