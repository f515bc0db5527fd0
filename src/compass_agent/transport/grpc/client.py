"""The agent's end: hands batches to a hub over one connection, with a call for each epoch.

A call that breaks is made anew for the next batch. What was not answered raises, so that the pump
sends the same batch again.
"""

from __future__ import annotations

__all__ = ("GrpcTransport", "hub_transport")

from typing import TYPE_CHECKING, TypeAlias

import anyio
import grpc
from grpc import aio

from compass_agent.errors.codes import ErrorCode, OperationError
from compass_agent.log.hubs import CHANNEL_OPTIONS, LARGEST_MESSAGE, hub_way
from compass_agent.wire import Answer, Batch, SessionMeta
from compass_agent.wire.publish import PUBLISH_FRAME, answer_from_bytes, request_to_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable

    _Call: TypeAlias = aio.StreamStreamCall[bytes, bytes]
    _Publish: TypeAlias = aio.StreamStreamMultiCallable[bytes, bytes]

_PROBE_S = 1.0

_OPTIONS = (
    *CHANNEL_OPTIONS,
    # What is too large is refused below: gRPC would end the call without saying why.
    ("grpc.max_send_message_length", -1),
)

# Answers by which a batch is refused for good; with any other code nothing became of it.
_REFUSALS = frozenset({ErrorCode.UNSUPPORTED_INPUT, ErrorCode.CONFLICT})


class _Epoch:
    """One epoch that is published: what it is called, and its call to the hub."""

    def __init__(self, meta: SessionMeta | None, *, recovered: bool = False) -> None:
        self.meta = meta
        self.recovered = recovered
        self.call: _Call | None = None
        self.lock = anyio.Lock()


class GrpcTransport:
    """Hands batches to the hub at `target`. Lives in one asyncio loop.

    Making one connects to nothing, and never fails.

    Args:
        target: As gRPC names it: `unix:PATH`, `HOST:PORT`.
        token: What the hub asks for, when it asks.
    """

    def __init__(self, target: str, token: str | None = None) -> None:
        self._channel = aio.insecure_channel(target, options=_OPTIONS)
        service, method = PUBLISH_FRAME
        # Without serializers bytes go as they are.
        self._publish: _Publish = self._channel.stream_stream(f"/{service}/{method}")
        self._metadata = None if token is None else (("authorization", f"Bearer {token}"),)
        self._epochs: dict[tuple[str, str], _Epoch] = {}

    async def open(
        self, session: str, epoch: str, meta: SessionMeta | None = None, *, recovered: bool = False
    ) -> None:
        """As `AppendLog.open`.

        Raises:
            OperationError: `unavailable`: the hub cannot be reached. `permission_denied`: it wants
                another token. Else as the hub's log raises; what it has against a recovered epoch
                is told with the first batch.
        """
        known = self._epochs.setdefault((session, epoch), _Epoch(meta))
        known.meta = meta or SessionMeta()
        known.recovered = recovered
        async with known.lock:
            self._break(known)
            answer = await self._ask(known, Batch(session, epoch, 0))
        if answer.code is not None:
            raise OperationError(answer.code)

    async def publish(self, batch: Batch) -> Answer:
        """As `AppendLog.append`.

        Raises:
            OperationError: `unavailable`: the batch was not answered, or the hub could not store it
                for now; the same batch may be published again. `permission_denied`. Else as the
                hub's log raises.
        """
        known = self._epochs.setdefault((batch.session, batch.epoch), _Epoch(None))
        async with known.lock:
            answer = await self._ask(known, batch)
        if answer.code is not None and answer.code not in _REFUSALS:
            raise OperationError(answer.code)
        return answer

    async def renew(self, epochs: Iterable[tuple[str, str]], seconds: float = 10.0) -> None:
        """Let the hub know these writers, after it came back, too; it renews their leases itself.

        Raises:
            OperationError: As `publish`.
        """
        for session, epoch in epochs:
            known = self._epochs.get((session, epoch))
            if not seconds:
                await self._tell_gone(session, epoch)
                continue
            if known is None or known.lock.locked():
                continue
            async with known.lock:
                if known.recovered:
                    # Opened behind the writer at work, by one that lives all the same.
                    known.recovered = False
                    self._break(known)
                if known.call is None or known.call.done():
                    await self._ask(known, Batch(session, epoch, 0))

    def forget(self, session: str, epoch: str) -> None:
        """Let the hub know that this writer is done: its lease is no longer renewed."""
        known = self._epochs.pop((session, epoch), None)
        if known is not None:
            self._break(known)

    async def aclose(self) -> None:
        """Close the connection. What is under way stays unanswered."""
        for known in self._epochs.values():
            self._break(known)
        self._epochs.clear()
        with anyio.CancelScope(shield=True):
            await self._channel.close()

    async def _tell_gone(self, session: str, epoch: str) -> None:
        """Let the hub know that the epoch's writer is gone."""
        gone = _Epoch(SessionMeta(), recovered=True)
        try:
            answer = await self._ask(gone, Batch(session, epoch, 0))
        finally:
            self._break(gone)
        if answer.code is not None:
            raise OperationError(answer.code)

    async def _ask(self, known: _Epoch, batch: Batch) -> Answer:
        """Send `batch` and return the answer to it. After a failure the call is not used again."""
        answered = False
        try:
            call, meta = known.call, known.meta if known.recovered else None
            if call is None or call.done():
                known.call = call = self._publish(metadata=self._metadata)
                meta = known.meta
            request = request_to_bytes(batch, meta, recovered=known.recovered)
            data = await self._exchange(call, request)
            session, epoch, answer = answer_from_bytes(data)
            if (session, epoch, answer.batch) != (batch.session, batch.epoch, batch.number):
                raise OperationError(ErrorCode.UNAVAILABLE)
            answered = True
        finally:
            if not answered:
                self._break(known)
        return answer

    async def _exchange(self, call: _Call, request: bytes) -> bytes:
        """Send one message and return the one that answers it."""
        if len(request) > LARGEST_MESSAGE:
            raise OperationError(ErrorCode.UNSUPPORTED_INPUT)
        try:
            await call.write(request)
            data: object = await call.read()
        except grpc.RpcError as error:
            status = _status(error)
            if status is grpc.StatusCode.INTERNAL:
                status = await self._why()
            raise _failure(status) from error
        if not isinstance(data, bytes):
            raise OperationError(ErrorCode.UNAVAILABLE)
        return data

    async def _why(self) -> grpc.StatusCode | None:
        """Return why the hub takes no call from us; None: it does, or gives no reason.

        When a call is refused while it is being written to, gRPC says no more than that.
        """
        call = self._publish(metadata=self._metadata)
        try:
            with anyio.move_on_after(_PROBE_S):
                await call.read()
        except grpc.RpcError as error:
            return _status(error)
        finally:
            call.cancel()
        return None

    @staticmethod
    def _break(known: _Epoch) -> None:
        call, known.call = known.call, None
        if call is not None:
            call.cancel()


def hub_transport(url: str) -> GrpcTransport:
    """Return a transport to the hub that `url` names: `unix:PATH` or `grpc://HOST:PORT`.

    The token is read from the file that `COMPASS_TOKEN_FILE` names.

    Raises:
        TokenRefusedError: That file cannot be read, or holds no token.
    """
    return GrpcTransport(*hub_way(url))


def _status(error: grpc.RpcError) -> grpc.StatusCode | None:
    return error.code() if isinstance(error, aio.AioRpcError) else None


def _failure(status: grpc.StatusCode | None) -> OperationError:
    """Return what the status of a broken call means for the batch that was sent."""
    if status in (grpc.StatusCode.PERMISSION_DENIED, grpc.StatusCode.UNAUTHENTICATED):
        return OperationError(ErrorCode.PERMISSION_DENIED)
    if status is grpc.StatusCode.RESOURCE_EXHAUSTED:
        # The message is too large for the other side, and always will be: it has to be halved.
        return OperationError(ErrorCode.UNSUPPORTED_INPUT)
    return OperationError(ErrorCode.UNAVAILABLE)
