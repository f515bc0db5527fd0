"""The few things that the log asks of a NATS server, on the event loop of a thread of its own.

The client library needs asyncio. Of it only core requests and subscriptions are used: its helpers
for JetStream can lose an acknowledgement for ever, skip messages, or end a connection unseen. A
request that got no answer may have been done all the same, or may be done later; whoever makes one
fences it, so that it can do no harm.
"""

from __future__ import annotations

__all__ = ("Engine",)

import asyncio
import json
import logging
import math
import ssl
from base64 import b64decode
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any

import anyio
import nats
import nats.errors
from nats.aio.client import Client

from compass_agent.errors.codes import ErrorCode, OperationError
from compass_agent.errors.worded import words_of
from compass_agent.log.jetstream.faults import ConflictError, EngineError, fault
from compass_agent.log.jetstream.waiting import (
    STATUS_NONE,
    Asked,
    Page,
    Stored,
    Waiting,
    no_stream,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from nats.aio.msg import Msg
    from nats.aio.subscription import Subscription

_TIMEOUT_S = 5.0
"""How long one request may take: about as long as a cluster needs after it lost its leader."""

_ONE_MESSAGE_S = 2.0
"""How long storing or looking up one message may take. It is short, since a request that came while
nobody led the stream is never answered: only the next one is."""

_OF_ONE_MESSAGE = ("$JS.API.STREAM.MSG.GET.", "$JS.API.DIRECT.GET.")

_CONNECT_S = 2.0
_CLOSE_S = 1.0
_PAGE_BYTES = 1 << 20
_MANY = 1 << 10
_LAG_S = 0.05
_ROOTS = "SSL_CERT_FILE names the certificates to trust"
_NO_MESSAGE = 10037

_logger = logging.getLogger("compass_agent.log")


class Engine:
    """One connection, made when it is first needed, and made anew whenever it breaks.

    All of it is to be called on one asyncio event loop.

    Args:
        servers: The URLs of the servers, `nats://…`.
        stream: The stream's name.
        lost: Called when the connection was broken and is there again: live messages may be lost.
        options: More for the client's `connect`.

    Attributes:
        stream: The stream's name.
        closed: It was closed.
    """

    def __init__(
        self,
        servers: list[str],
        stream: str,
        lost: Callable[[], None],
        options: dict[str, Any] | None = None,
    ) -> None:
        self.stream = stream
        self._servers = servers
        self._options = options or {}
        self._lost = lost
        self._client: Client | None = None
        self._waiting = Waiting()
        self._inbox = ""
        self._count = 0
        self._denied, self._unsafe = False, ""
        self._is_bound = self._lags = False
        self._unheard: EngineError | None = None
        self._dialling = anyio.CancelScope()
        self.closed = False

    @cached_property
    def _connecting(self) -> anyio.Lock:
        return anyio.Lock()  # Not earlier: it belongs to the event loop that it is made on.

    async def publish(self, subject: str, payload: bytes, fence: tuple[str, int]) -> int:
        """Store a message unless the last one that matches `fence[0]` is not at `fence[1]`.

        Returns:
            Its place in the stream.

        Raises:
            ConflictError: It is not.
            FullError: There is no room.
            OperationError: It is not known whether the message was stored or will be.
        """
        headers = {
            "Nats-Expected-Stream": self.stream,
            "Nats-Expected-Last-Subject-Sequence": str(fence[1]),
            "Nats-Expected-Last-Subject-Sequence-Subject": fence[0],
        }
        if subject.endswith(".h"):
            headers["Nats-Rollup"] = "sub"
        try:
            return (await self._json(subject, payload, headers))["seq"]
        except ConflictError:
            self._lags = self._is_bound
            raise

    async def api(self, name: str, body: object = None) -> dict[str, Any]:
        """Ask JetStream's own interface; return its answer.

        Raises:
            OperationError: As the answer says, or `unavailable`.
        """
        payload = b"" if body is None else json.dumps(body).encode("utf-8")
        return await self._json(f"$JS.API.{name}", payload, None)

    async def last(self, subject: str) -> Stored | None:
        """Return the last message that matches `subject`, as the stream's leader knows it.

        A user that may not ask the leader, which can be asked for any message, asks any replica.
        """
        if not self._is_bound:
            try:
                return await self._get({"last_by_subj": subject})
            except EngineError as error:
                if error.code is not ErrorCode.PERMISSION_DENIED:
                    raise
                self._is_bound = True
        return await self._nearest(subject)

    async def following(self, subject: str, start: int) -> Stored | None:
        """Return the leader's first message from `start` on that matches; it skips lost ones."""
        return await self._get({"next_by_subj": subject, "seq": start})

    async def subjects(self, subject: str) -> dict[str, int]:
        """Return the subjects that match and that messages are stored under, and how many."""
        found: dict[str, int] = {}
        while True:
            body = {"subjects_filter": subject, "offset": len(found)}
            answer = await self.api(f"STREAM.INFO.{self.stream}", body)
            some: dict[str, int] = answer["state"].get("subjects") or {}
            found |= some
            if not some or len(found) >= answer.get("total", 0):
                return found

    async def holds(self, subject: str) -> bool:
        """Tell whether messages match, also when none can be read; False: the user may not ask."""
        try:
            return bool(await self.subjects(subject))
        except EngineError as error:
            if error.code is ErrorCode.PERMISSION_DENIED:
                return False
            raise

    async def bytes(self) -> int:
        """Return how large the stream is."""
        answer = await self.api(f"STREAM.INFO.{self.stream}")
        return int(answer["state"]["bytes"])

    async def purge(self, subject: str, below: int) -> None:
        """Remove what matches `subject` and stands below this place in the stream; 0: all."""
        body: dict[str, object] = {"filter": subject}
        if below:
            body["seq"] = below
        await self.api(f"STREAM.PURGE.{self.stream}", body)

    async def fetch(self, subject: str, start: int) -> list[Stored]:
        """Return all messages that match `subject` from place `start` on, in their order.

        Any replica answers: one that lags may not have the newest yet.
        """
        found: list[Stored] = []
        more = True
        while more:
            some, more = await self.page(subject, start)
            found += some
            start = found[-1].pos + 1 if found else start
        return found

    async def page(self, subject: str, start: int) -> tuple[list[Stored], bool]:
        """Return the first messages from `start` on, up to 1 MiB, and whether there are more."""
        page = await self._page({"next_by_subj": subject, "seq": max(start, 1)})
        return page.found, page.more

    async def lasts(self, filters: list[str]) -> list[Stored] | None:
        """Return the last message of each subject that one of `filters` matches, in their order.

        Any replica answers: one that lags may not have the newest yet. None: they are too many or
        too large for one answer.
        """
        page = await self._page({"multi_last": filters})
        return None if page.too_many or page.more else page.found

    async def _page(self, asked: dict[str, object]) -> Page:
        client = await self._connected()
        self._count += 1
        inbox = f"{self._inbox}.{self._count}"
        subject = f"$JS.API.DIRECT.GET.{self.stream}"
        page = self._waiting.pages[inbox] = Page(subject)
        body = {**asked, "batch": _MANY, "max_bytes": _PAGE_BYTES}
        try:
            with anyio.fail_after(_TIMEOUT_S):
                await client.publish(subject, json.dumps(body).encode(), reply=inbox)
                await page.done.wait()
        except (TimeoutError, nats.errors.Error, OSError) as error:
            raise EngineError(ErrorCode.UNAVAILABLE, f"no answer: {words_of(error)}") from error
        finally:
            del self._waiting.pages[inbox]
        if page.error is not None:
            raise page.error
        return page

    async def subscribe(
        self, subject: str, heard: Callable[[Msg], Awaitable[None]]
    ) -> Subscription:
        """Have `heard` called with each live message, and return once the server knows."""
        client = await self._connected()
        try:
            subscription = await client.subscribe(subject, cb=heard)  # pyright: ignore[reportUnknownMemberType] - of one argument that is not used
            await client.flush(timeout=int(_TIMEOUT_S))
        except (nats.errors.Error, OSError) as error:
            raise EngineError(
                ErrorCode.UNAVAILABLE, f"not subscribed: {words_of(error)}"
            ) from error
        return subscription

    async def aclose(self) -> None:
        """Close the connection; nothing can be asked any more."""
        self.closed = True
        self._waiting.give_up(EngineError(ErrorCode.UNAVAILABLE, "the log is closed"))
        client, self._client = self._client, None
        if client is not None:
            await _close(client)

    async def _get(self, body: dict[str, object]) -> Stored | None:
        try:
            answer = await self.api(f"STREAM.MSG.GET.{self.stream}", body)
        except EngineError as error:
            if error.code is ErrorCode.NOT_FOUND:
                return None
            raise
        message = answer["message"]
        return Stored(message["seq"], message["subject"], b64decode(message.get("data", "")))

    async def _nearest(self, subject: str) -> Stored | None:
        if self._lags:  # The replica may not have yet what was in the way.
            self._lags = False
            await anyio.sleep(_LAG_S)
        answer = await self._request(f"$JS.API.DIRECT.GET.{self.stream}.{subject}", b"", None)
        headers = answer.headers or {}
        status = headers.get("Status")
        if status is not None and status != STATUS_NONE:
            raise EngineError(ErrorCode.UNAVAILABLE, f"no answer: {status}")
        if status is not None:
            return None
        return Stored(int(headers["Nats-Sequence"]), headers["Nats-Subject"], answer.data)

    async def _json(
        self, subject: str, payload: bytes, headers: dict[str, str] | None
    ) -> dict[str, Any]:
        answer: dict[str, Any] = json.loads((await self._request(subject, payload, headers)).data)
        error = answer.get("error")
        if error is None:
            return answer
        number, status = error.get("err_code", 0), error.get("code", 0)
        if number == _NO_MESSAGE:
            raise EngineError(ErrorCode.NOT_FOUND, error.get("description", ""))
        raise fault(number, status, error.get("description", ""))

    async def _request(self, subject: str, payload: bytes, headers: dict[str, str] | None) -> Msg:
        client = await self._connected()
        if len(payload) >= client.max_payload:
            raise EngineError(ErrorCode.UNSUPPORTED_INPUT, "a frame is too large for the engine")
        asked = Asked(subject, anyio.CancelScope())
        one = headers is not None or subject.startswith(_OF_ONE_MESSAGE)
        timeout = _ONE_MESSAGE_S if one else _TIMEOUT_S
        self._waiting.asked.add(asked)
        with asked.scope:
            try:
                answer = await client.request(subject, payload, timeout, headers=headers)
            except nats.errors.NoRespondersError as error:
                raise no_stream(self.stream) from error
            except (nats.errors.Error, OSError) as error:
                raise EngineError(ErrorCode.UNAVAILABLE, f"no answer: {words_of(error)}") from error
            finally:
                self._waiting.asked.discard(asked)
            return answer
        raise asked.error or OperationError(ErrorCode.UNAVAILABLE)

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
        client = Client()
        try:
            self._denied, self._unsafe = False, ""
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
            self._inbox = client.new_inbox()
            await client.subscribe(f"{self._inbox}.*", cb=self._waiting.heard)  # pyright: ignore[reportUnknownMemberType] - as above
        except (TimeoutError, nats.errors.Error, OSError) as error:
            await _close(client)
            code = ErrorCode.PERMISSION_DENIED if self._denied else ErrorCode.UNAVAILABLE
            why = self._unsafe or words_of(error)
            raise EngineError(code, f"the engine cannot be reached: {why}") from error
        except anyio.get_cancelled_exc_class():
            await _close(client)
            raise
        if self.closed:
            await _close(client)
            raise OperationError(ErrorCode.UNAVAILABLE)
        return client

    async def _on_disconnect(self) -> None:
        self._waiting.give_up(EngineError(ErrorCode.UNAVAILABLE, "the connection was broken"))

    async def _on_reconnect(self) -> None:
        self._unheard = None
        self._lost()

    async def _on_error(self, error: Exception) -> None:
        text = str(error).lower()
        if "authorization violation" in text and self._client is None:
            self._denied = True
            self._dialling.deadline = -math.inf
        if isinstance(error, ssl.SSLError) and self._client is None:
            self._unsafe = f"no safe connection: {error.reason or error}; {_ROOTS}"
            self._dialling.deadline = -math.inf
        if "permissions violation" in text:
            self._on_violation(text)
        elif isinstance(error, nats.errors.SlowConsumerError):
            self._lost()
        _logger.info("the engine's client says: %s", words_of(error))

    def _on_violation(self, text: str) -> None:
        inbox = self._inbox.rpartition(".")[0].lower()
        if "subscription to" in text and inbox and f'"{inbox}.' in text:
            reason = f"not allowed to hear answers at {self._inbox}: see COMPASS_NATS_INBOX"
            self._unheard = EngineError(ErrorCode.PERMISSION_DENIED, reason)
            self._waiting.give_up(self._unheard)
            return
        self._waiting.denied(text)


async def _close(client: Client) -> None:
    # A connection that was not trusted is never told to have closed.
    with anyio.move_on_after(_CLOSE_S, shield=True), suppress(nats.errors.Error, OSError):
        await client.close()
        # A client that was refused once counts as closed, and leaves its next connection open.
        transport: Any = getattr(client, "_transport", None)
        if transport is not None:
            transport.close()
            with suppress(asyncio.CancelledError):  # Of one who waited for that before us.
                await transport.wait_closed()
