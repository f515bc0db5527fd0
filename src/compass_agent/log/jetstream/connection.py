"""One connection to the servers, made when it is first needed, and anew whenever it breaks.

Of the client library only core publishing and subscriptions are used: its helpers for JetStream
can lose an acknowledgement for ever, skip messages, or end a connection unseen. Answers come in at
an inbox of this connection's own.
"""

from __future__ import annotations

__all__ = ("Connection",)

import asyncio
import logging
import math
import ssl
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any

import anyio
import nats
import nats.errors
from nats.aio.client import Client

from compass_agent.errors.codes import ErrorCode, OperationError
from compass_agent.errors.worded import words_of
from compass_agent.log.jetstream.credentials import Credentials, CredentialsError
from compass_agent.log.jetstream.faults import EngineError
from compass_agent.log.jetstream.waiting import Asked, Page, Waiting

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from nats.aio.msg import Msg
    from nats.aio.subscription import Subscription

_CONNECT_S = 2.0
_CLOSE_S = 1.0
_LATE = "it takes too long"
_FLUSH_S = 5
_ROOTS = "SSL_CERT_FILE names the certificates to trust"

_logger = logging.getLogger("compass_agent.log")


class Connection:
    """All of it is to be called on one asyncio event loop.

    Args:
        servers: The URLs of the servers, `nats://…`.
        lost: Called when the connection was broken and is there again: live messages may be lost.
        options: More for the client's `connect`; `user_credentials` names a file.

    Attributes:
        closed: It was closed.
    """

    def __init__(
        self,
        servers: list[str],
        lost: Callable[[], None],
        options: dict[str, Any] | None = None,
    ) -> None:
        self._servers = servers
        self._options = dict(options or {})
        path = self._options.pop("user_credentials", None)
        self._credentials = Credentials(path) if path else None
        if self._credentials is not None:
            self._options |= self._credentials.options()
        self._lost = lost
        self._client: Client | None = None
        self._waiting = Waiting()
        self._inbox = ""
        self._count = 0
        self._denied, self._why = False, ""
        self._unheard: EngineError | None = None
        self._dialling = anyio.CancelScope()
        self.closed = False

    @cached_property
    def _connecting(self) -> anyio.Lock:
        return anyio.Lock()  # Not earlier: it belongs to the event loop that it is made on.

    async def request(
        self, subject: str, payload: bytes, headers: dict[str, str] | None, timeout_s: float
    ) -> Msg:
        """Return the one answer.

        Raises:
            EngineError: `unsupported_input`: it is too large; else `unavailable`, or as the
                server says.
        """
        client = await self._connected()
        if len(payload) >= client.max_payload:
            raise EngineError(ErrorCode.UNSUPPORTED_INPUT, "a frame is too large for the engine")
        loop = asyncio.get_running_loop()
        inbox = self._next_inbox()
        asked = self._waiting.asked[inbox] = Asked(subject, loop.create_future())
        timer = loop.call_later(timeout_s, asked.fail, _no_answer(_LATE))
        try:
            await client.publish(subject, payload, reply=inbox, headers=headers)
            return await asked.answer
        except (nats.errors.Error, OSError) as error:
            raise _no_answer(words_of(error)) from error
        finally:
            timer.cancel()
            asked.answer.cancel()
            del self._waiting.asked[inbox]

    async def page(self, subject: str, payload: bytes, timeout_s: float) -> Page:
        """Return the messages that answer a batched request.

        Raises:
            EngineError: As `request`.
        """
        client = await self._connected()
        inbox = self._next_inbox()
        page = self._waiting.pages[inbox] = Page(subject)
        try:
            with anyio.fail_after(timeout_s):
                await client.publish(subject, payload, reply=inbox)
                await page.done.wait()
        except TimeoutError as error:
            raise _no_answer(_LATE) from error
        except (nats.errors.Error, OSError) as error:
            raise _no_answer(words_of(error)) from error
        finally:
            del self._waiting.pages[inbox]
        if page.error is not None:
            raise page.error
        return page

    async def subscribe(
        self, subject: str, heard: Callable[[Msg], Awaitable[None]]
    ) -> Subscription:
        """Have `heard` called with each message, and return once the server knows."""
        client = await self._connected()
        try:
            subscription = await client.subscribe(subject, cb=heard)  # pyright: ignore[reportUnknownMemberType] - of one argument that is not used
            await client.flush(timeout=_FLUSH_S)
        except (nats.errors.Error, OSError) as error:
            raise EngineError(
                ErrorCode.UNAVAILABLE, f"not subscribed: {words_of(error)}"
            ) from error
        return subscription

    async def aclose(self) -> None:
        """Close it; nothing can be asked any more."""
        self.closed = True
        self._waiting.give_up(EngineError(ErrorCode.UNAVAILABLE, "the log is closed"))
        client, self._client = self._client, None
        if client is not None:
            await _close(client)

    def _next_inbox(self) -> str:
        self._count += 1
        return f"{self._inbox}.{self._count}"

    async def _connected(self) -> Client:
        client = self._client
        if self._unheard is not None:
            raise self._unheard
        if client is not None and not client.is_closed:
            if client.is_connected:
                return client
            # The client would keep what it is given, and send it when nobody waits for it any more.
            raise EngineError(ErrorCode.UNAVAILABLE, "the connection is broken")
        async with self._connecting:
            if self.closed:
                raise OperationError(ErrorCode.UNAVAILABLE)
            if self._client is None or self._client.is_closed:
                self._client = await self._connect()
            return self._client

    async def _connect(self) -> Client:
        if self._credentials is not None:
            try:
                self._credentials.check()
            except CredentialsError as error:
                raise EngineError(ErrorCode.PERMISSION_DENIED, str(error)) from error
        client = Client()
        try:
            self._denied, self._why = False, ""
            with anyio.fail_after(_CONNECT_S) as self._dialling:
                await client.connect(
                    servers=self._servers,
                    error_cb=self._on_error,
                    disconnected_cb=self._on_disconnect,
                    reconnected_cb=self._on_reconnect,
                    connect_timeout=int(_CONNECT_S),
                    reconnect_time_wait=0.1,  # pyright: ignore[reportArgumentType] - seconds, and it takes parts of one
                    max_reconnect_attempts=-1,
                    **self._options,
                )
            _mark_safe(client)
            self._inbox = client.new_inbox()
            await client.subscribe(f"{self._inbox}.*", cb=self._waiting.heard)  # pyright: ignore[reportUnknownMemberType] - as above
        except (TimeoutError, nats.errors.Error, OSError) as error:
            await _close(client)
            code = ErrorCode.PERMISSION_DENIED if self._denied else ErrorCode.UNAVAILABLE
            why = self._why or words_of(error)
            raise EngineError(code, f"the engine cannot be reached: {why}") from error
        except anyio.get_cancelled_exc_class():
            await _close(client)
            raise
        except Exception as error:  # The client lets out what it does not foresee.
            await _close(client)
            why = f"the engine cannot be reached: {words_of(error)}"
            raise EngineError(ErrorCode.UNAVAILABLE, why) from error
        if self.closed:
            await _close(client)
            raise OperationError(ErrorCode.UNAVAILABLE)
        return client

    async def _on_disconnect(self) -> None:
        self._waiting.give_up(EngineError(ErrorCode.UNAVAILABLE, "the connection was broken"))

    async def _on_reconnect(self) -> None:
        self._unheard = None
        if self._client is not None:
            _mark_safe(self._client)
        self._lost()

    async def _on_error(self, error: Exception) -> None:
        text = str(error).lower()
        if "authorization violation" in text and self._client is None:
            self._denied, self._why = True, "it refuses this user, or what proves who it is"
            self._dialling.deadline = -math.inf
        if isinstance(error, ssl.SSLError) and self._client is None:
            self._why = f"no safe connection: {error.reason or error}; {_ROOTS}"
            self._dialling.deadline = -math.inf
        if isinstance(error, CredentialsError):
            self._on_bad_credentials(error)
        if "permissions violation" in text:
            self._on_violation(text)
        elif isinstance(error, nats.errors.SlowConsumerError):
            self._lost()
        _logger.info("the engine's client says: %s", words_of(error))

    def _on_bad_credentials(self, error: CredentialsError) -> None:
        """The file broke since it was checked; a connection that was there is tried for again."""
        if self._client is None:
            self._denied, self._why = True, str(error)
            self._dialling.deadline = -math.inf
            return
        transport: Any = getattr(self._client, "_transport", None)
        if transport is not None:  # The client would leave it open.
            transport.close()

    def _on_violation(self, text: str) -> None:
        inbox = self._inbox.rpartition(".")[0].lower()
        if "subscription to" in text and inbox and f'"{inbox}.' in text:
            reason = f"not allowed to hear answers at {self._inbox}: see COMPASS_NATS_INBOX"
            self._unheard = EngineError(ErrorCode.PERMISSION_DENIED, reason)
            self._waiting.give_up(self._unheard)
            return
        self._waiting.denied(text)


def _no_answer(why: str) -> EngineError:
    return EngineError(ErrorCode.UNAVAILABLE, f"no answer: {why}")


def _mark_safe(client: Client) -> None:
    """Tell asyncio's protocol that it is over TLS: the client does not, so each end would warn."""
    writer: Any = getattr(getattr(client, "_transport", None), "_io_writer", None)
    if writer is not None and writer.get_extra_info("ssl_object") is not None:
        writer.transport.get_protocol()._over_ssl = True  # noqa: SLF001 - there is no other way


async def _close(client: Client) -> None:
    _mark_safe(client)
    # A connection that was not trusted is never told to have closed.
    with anyio.move_on_after(_CLOSE_S, shield=True), suppress(nats.errors.Error, OSError):
        await client.close()
        # A client that was refused once counts as closed, and leaves its next connection open.
        transport: Any = getattr(client, "_transport", None)
        if transport is not None:
            transport.close()
            with suppress(asyncio.CancelledError):  # Of one who waited for that before us.
                await transport.wait_closed()
