"""The outermost layer of every call: who may, and what a failure looks like from outside."""

from __future__ import annotations

__all__ = ("Guard",)

import hmac
import logging
from typing import TYPE_CHECKING, Any

import anyio
import grpc
from grpc import aio

from compass_agent.errors.codes import ErrorCode, OperationError
from compass_agent.errors.groups import only_exception

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    _Context = aio.ServicerContext[Any, Any]

_logger = logging.getLogger("compass_agent.services")


class Guard(aio.ServerInterceptor):
    """Asks for the token, and turns every failure into a status whose text is ours.

    Who comes through a unix socket needs no token: the socket is its owner's alone.

    Args:
        token: What others must bring, as `authorization: Bearer TOKEN`; None: nobody else may.
    """

    def __init__(self, token: str | None) -> None:
        self._expected = None if token is None else f"Bearer {token}".encode()
        self._calls: set[anyio.CancelScope] = set()
        self._stopped = False

    def stop(self) -> None:
        """End every call, and each that still comes, as `unavailable`."""
        self._stopped = True
        for call in tuple(self._calls):
            call.cancel()

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[Any]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> Any:
        """Wrap the handler that answers the call."""
        handler: Any = await continuation(handler_call_details)
        if handler is None:  # no such method
            return handler
        serve: Any = handler.stream_stream or handler.unary_stream
        make: Any = (
            grpc.stream_stream_rpc_method_handler
            if handler.request_streaming
            else grpc.unary_stream_rpc_method_handler
        )

        async def guarded(request: Any, context: _Context) -> None:
            # What a cancelled scope leaves behind: the hub stops.
            failure: Exception = OperationError(ErrorCode.UNAVAILABLE)
            with anyio.CancelScope() as call:
                self._calls.add(call)
                try:
                    self._admit(context)
                    await _greet(context)
                    await serve(request, context)
                except Exception as error:  # noqa: BLE001 - told by its code, below
                    failure = only_exception(error)
                else:
                    return
                finally:
                    self._calls.discard(call)
            await _abort(context, failure)

        return make(guarded)

    def _admit(self, context: _Context) -> None:
        """Check who calls.

        Raises:
            OperationError: `permission_denied`; `unavailable` once the hub stops.
        """
        if self._stopped:
            raise OperationError(ErrorCode.UNAVAILABLE)
        if context.peer().startswith("unix:"):
            return
        given = dict(context.invocation_metadata() or ()).get("authorization", "")
        offered = given if isinstance(given, bytes) else given.encode()
        if self._expected is None or not hmac.compare_digest(offered, self._expected):
            raise OperationError(ErrorCode.PERMISSION_DENIED)


async def _greet(context: _Context) -> None:
    """Send what stands before the first message.

    gRPC sends it with that message otherwise, and a call that is cancelled meanwhile cannot be
    ended with a status: it would wait for the hub's last moment, and then break off as cancelled.
    """
    with anyio.CancelScope(shield=True):
        await context.send_initial_metadata(())


async def _abort(context: _Context, error: Exception) -> None:
    """End the call with the status for `error`, and no other text than that of its code."""
    if not isinstance(error, OperationError):
        # Who has gone cannot be written to; that is no fault.
        level = logging.DEBUG if context.done() else logging.ERROR
        _logger.log(level, "a call failed", exc_info=error)
        error = OperationError(ErrorCode.INTERNAL)
    await context.abort(grpc.StatusCode[error.grpc_status], error.message)
