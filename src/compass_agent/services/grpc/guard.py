"""The outermost layer of every call: who may, and what a failure looks like from outside."""

from __future__ import annotations

__all__ = ("Guard",)

import logging
from typing import TYPE_CHECKING, Any

import anyio
import grpc
from grpc import aio

from compass_agent.errors.answering import answer_for
from compass_agent.errors.codes import ErrorCode, OperationError
from compass_agent.errors.groups import only_exception
from compass_agent.errors.logged import cause_text
from compass_agent.services.bearer import Bearer
from compass_agent.wire.malformed import MalformedRequestError
from compass_agent.wire.status import STATUS_DETAILS, failure_to_details

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    _Context = aio.ServicerContext[Any, Any]

_logger = logging.getLogger("compass_agent.services")


class _NoCredentialsError(Exception):
    """Nobody is known to be calling: no token came, or another one."""


class Guard(aio.ServerInterceptor):
    """Asks for the token, and turns every failure into a status whose text is ours.

    Who comes through a unix socket needs no token: the socket is its owner's alone.

    Args:
        token: What others must bring, as `authorization: Bearer TOKEN`; None: nobody else may.
    """

    def __init__(self, token: str | None) -> None:
        self._bearer = None if token is None else Bearer(token)
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
        if handler.unary_unary:
            make, serve = grpc.unary_unary_rpc_method_handler, handler.unary_unary
        elif handler.unary_stream:
            make, serve = grpc.unary_stream_rpc_method_handler, handler.unary_stream
        else:
            make, serve = grpc.stream_stream_rpc_method_handler, handler.stream_stream
        wrap: Any = make

        async def guarded(request: Any, context: _Context) -> Any:
            return await self._guard(serve, request, context)

        return wrap(guarded)

    async def _guard(
        self, serve: Callable[[Any, _Context], Awaitable[Any]], request: Any, context: _Context
    ) -> Any:
        # What a cancelled scope leaves behind: the hub stops.
        failure: Exception = OperationError(ErrorCode.UNAVAILABLE)
        with anyio.CancelScope() as call:
            self._calls.add(call)
            try:
                self._admit(context)
                await _greet(context)
                return await serve(request, context)
            except anyio.get_cancelled_exc_class():
                if not call.cancel_called and not context.done():
                    # Without an answer the caller would wait until its own deadline.
                    with anyio.CancelScope(shield=True):
                        await context.abort(grpc.StatusCode.CANCELLED, "The call was cancelled.")
                raise
            except Exception as error:  # noqa: BLE001 - told by its code, below
                failure = only_exception(error)
            finally:
                self._calls.discard(call)
        await _abort(context, failure)
        return None

    def _admit(self, context: _Context) -> None:
        """Check who calls.

        Raises:
            OperationError: `unavailable` once the hub stops.
        """
        if self._stopped:
            raise OperationError(ErrorCode.UNAVAILABLE)
        if context.peer().startswith("unix:"):
            return
        given = dict(context.invocation_metadata() or ()).get("authorization", "")
        if self._bearer is None or not self._bearer.admits(given):
            raise _NoCredentialsError


async def _greet(context: _Context) -> None:
    """Send what stands before the first message.

    gRPC sends it with that message otherwise, and a call that is cancelled meanwhile cannot be
    ended with a status: it would wait for the hub's last moment, and then break off as cancelled.
    """
    with anyio.CancelScope(shield=True):
        await context.send_initial_metadata(())


async def _abort(context: _Context, error: Exception) -> None:
    """End the call with the status for `error`, and no other text than our own.

    What is outside of the nine codes has no details.
    """
    if isinstance(error, _NoCredentialsError):
        text = "Bring the token of this hub, as authorization: Bearer TOKEN."
        await context.abort(grpc.StatusCode.UNAUTHENTICATED, text)
    if isinstance(error, MalformedRequestError):
        await context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))
    failure = _told(error, gone=context.done())
    details = ((STATUS_DETAILS, failure_to_details(failure)),)
    await context.abort(grpc.StatusCode[failure.grpc_status], failure.message, details)


def _told(error: Exception, *, gone: bool) -> OperationError:
    """Return what the caller is told, having logged the cause when that is ours to look at."""
    if gone:
        # Who has gone cannot be written to; that is no fault.
        return answer_for(error, log=_debug)
    return answer_for(error)


def _debug(failure: OperationError) -> None:
    if failure.__cause__ is not None and _logger.isEnabledFor(logging.DEBUG):
        _logger.debug("a caller has gone:\n%s", cause_text(failure.__cause__))
