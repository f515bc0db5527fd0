"""The few things that the log asks of a NATS server, on the event loop of a thread of its own.

A request that got no answer may have been done all the same, or may be done later; whoever makes
one fences it, so that it can do no harm.
"""

from __future__ import annotations

__all__ = ("Engine",)

import json
import math
import time
from base64 import b64decode
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import anyio

from compass_agent.errors.codes import ErrorCode, OperationError
from compass_agent.log.jetstream.connection import Connection
from compass_agent.log.jetstream.faults import ConflictError, EngineError, fault
from compass_agent.log.jetstream.waiting import (
    STATUS_NOBODY,
    STATUS_NONE,
    Page,
    Stored,
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

_PAGE_BYTES = 1 << 20
_MANY = 1 << 10
_LAG_S = 0.05
_OTHERS_S = 30.0
"""A server that could not be reached is not asked again for so long: it costs a connection."""

_NO_MESSAGE = 10037


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
    """

    def __init__(
        self,
        servers: list[str],
        stream: str,
        lost: Callable[[], None],
        options: dict[str, Any] | None = None,
    ) -> None:
        self.stream = stream
        self._connection = Connection(servers, lost, options)
        self._is_bound = self._lags = False
        self._servers, self._options = servers, options
        self._others: list[Engine] = []
        self._asked_s = -math.inf

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return self._connection.closed

    @property
    def may_lag(self) -> bool:
        """Whether any replica tells of the last message, one that lags, too."""
        return self._is_bound

    async def publish(
        self, subject: str, payload: bytes, fence: tuple[str, int], *, harmed: bool = False
    ) -> int:
        """Store a message unless the last one that matches `fence[0]` is not at `fence[1]`.

        A sheet takes the place of the one before. Where the engine has lost one (`harmed`), it
        would remove the new one in its stead, so that is done by hand.

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
        if subject.endswith(".h") and not harmed:
            headers["Nats-Rollup"] = "sub"
        try:
            pos: int = (await self._json(subject, payload, headers))["seq"]
        except ConflictError:
            self._lags = self._is_bound
            raise
        if harmed:
            with suppress(EngineError):  # It only takes room.
                await self.purge(subject, pos)
        return pos

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
        return await self.nearest(subject)

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

    async def counted(self, subject: str) -> dict[str, int] | None:
        """As `subjects`, of messages that cannot be read, too; None: the user may not ask."""
        try:
            return await self.subjects(subject)
        except EngineError as error:
            if error.code is ErrorCode.PERMISSION_DENIED:
                return None
            raise

    async def bytes(self) -> int:
        """Return how large the stream is."""
        answer = await self.api(f"STREAM.INFO.{self.stream}")
        return int(answer["state"]["bytes"])

    async def may_purge(self) -> None:
        """Ask for a purge of nothing.

        Raises:
            EngineError: `permission_denied`: the user may not.
        """
        await self.purge(f"{self.stream}.s.none", 0)

    async def purge(self, subject: str, below: int) -> int:
        """Remove what matches `subject` and stands below this place in the stream; 0: all.

        Returns:
            How many messages went.
        """
        body: dict[str, object] = {"filter": subject}
        if below:
            body["seq"] = below
        answer = await self.api(f"STREAM.PURGE.{self.stream}", body)
        return int(answer.get("purged", 0))

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
        body = {**asked, "batch": _MANY, "max_bytes": _PAGE_BYTES}
        subject = f"$JS.API.DIRECT.GET.{self.stream}"
        return await self._connection.page(subject, json.dumps(body).encode(), _TIMEOUT_S)

    async def subscribe(
        self, subject: str, heard: Callable[[Msg], Awaitable[None]]
    ) -> Subscription:
        """Have `heard` called with each live message, and return once the server knows."""
        return await self._connection.subscribe(subject, heard)

    async def aclose(self) -> None:
        """Close the connection; nothing can be asked any more."""
        others, self._others = self._others, []
        for other in others:
            await other.aclose()
        await self._connection.aclose()

    async def others(self) -> list[Engine]:
        """Return each server by itself, those that can be reached; with one server, this one.

        Who is connected to a server is answered by that one, if it has a replica.
        """
        if len(self._servers) < 2:  # noqa: PLR2004 - there is no other one
            return [self]
        now_s = time.monotonic()
        if not self._others or now_s - self._asked_s > _OTHERS_S:
            self._asked_s = now_s
            before = {other.server: other for other in self._others}
            tried = [before.get(one) or self._alone(one) for one in self._servers]
            self._others = [other for other in tried if await other.reached()]
            for other in tried:
                if other not in self._others:
                    await other.aclose()
        return self._others or [self]

    def _alone(self, server: str) -> Engine:
        return Engine([server], self.stream, lambda: None, self._options)

    @property
    def server(self) -> str:
        """The first server."""
        return self._servers[0]

    async def reached(self) -> bool:
        """Tell whether the server answers now."""
        try:
            await self.nearest(f"{self.stream}.s.none")
        except OperationError:
            return False
        return True

    async def _get(self, body: dict[str, object]) -> Stored | None:
        try:
            answer = await self.api(f"STREAM.MSG.GET.{self.stream}", body)
        except EngineError as error:
            if error.code is ErrorCode.NOT_FOUND:
                return None
            raise
        message = answer["message"]
        return Stored(message["seq"], message["subject"], b64decode(message.get("data", "")))

    async def nearest(self, subject: str) -> Stored | None:
        """Return the last message that matches `subject`, as any replica knows it."""
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
        one = headers is not None or subject.startswith(_OF_ONE_MESSAGE)
        timeout_s = _ONE_MESSAGE_S if one else _TIMEOUT_S
        answer = await self._connection.request(subject, payload, headers, timeout_s)
        if answer.headers and answer.headers.get("Status") == STATUS_NOBODY:
            raise no_stream(self.stream)
        return answer
