"""Sends event streams: batched, with heartbeats, ended well when the server stops.

Whoever leaves is noticed at once, and frees its place. A failure before the first event is an HTTP
answer like any other; after it, an event `error` with the same object.
"""

from __future__ import annotations

__all__ = ("Pace", "Streams")

import math
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio

from compass_agent.errors.answering import answer_for
from compass_agent.errors.codes import ErrorCode, OperationError
from compass_agent.errors.told import problem_json
from compass_agent.services.http.feeds import Part, failure_of
from compass_agent.services.http.sse import event

if TYPE_CHECKING:
    from collections.abc import Generator

    from anyio.abc import ObjectReceiveStream, ObjectSendStream
    from starlette.types import Receive, Send

    from compass_agent.frames import Cursor
    from compass_agent.services.http.feeds import Feed

_HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    # Tells proxies not to collect what is sent before they pass it on.
    (b"x-accel-buffering", b"no"),
]
_FULL_RETRY_S = 5.0
_GOODBYE_S = 0.5


@dataclass(frozen=True, slots=True)
class Pace:
    """How streams are written.

    Attributes:
        batch: Frames a write, at most.
        linger_s: How long a write waits for more frames, in seconds.
        heartbeat_s: After how much silence a heartbeat is sent, likewise.
        retry_ms: How long a client waits before it comes again, in milliseconds.
        readers: How many streams may be open at once.
    """

    batch: int = 64
    linger_s: float = 0.010
    heartbeat_s: float = 10.0
    retry_ms: int = 2_000
    readers: int = 64


class Streams:
    """All open streams of one server.

    Attributes:
        pace: How they are written.
    """

    def __init__(self, pace: Pace) -> None:
        self.pace = pace
        self._open: set[anyio.CancelScope] = set()
        self._stopped = False
        self._closed: anyio.Event | None = None

    @property
    def count(self) -> int:
        """How many streams are open."""
        return len(self._open)

    def stop(self) -> None:
        """End every stream, and refuse those that still come, as `unavailable`: come again."""
        self._stopped = True
        for one in tuple(self._open):
            one.cancel()

    async def drained(self) -> None:
        """Return once no stream is open."""
        while self._open:
            self._closed = self._closed or anyio.Event()
            await self._closed.wait()

    async def serve(self, feed: Feed, receive: Receive, send: Send, *, head: bool = False) -> None:
        """Send the events of `feed` until it ends, the reader leaves or the server stops.

        Args:
            feed: What to send.
            receive: As ASGI has it.
            send: Likewise.
            head: Send the headers alone.

        Raises:
            OperationError: Nothing was sent yet. `unavailable`: too many streams are open, or the
                server stops. Else what stopped the feed.
        """
        if head:
            with self._counted() as place:
                await feed.check()
            if place.cancelled_caught:
                raise OperationError(ErrorCode.UNAVAILABLE)
            await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
            return
        writer = _Writer(self.pace, send, feed.places, several=feed.several)
        sender, receiver = anyio.create_memory_object_stream[Part](0)
        with sender, receiver:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_until_gone, receive, tasks.cancel_scope)
                with self._counted() as place:
                    tasks.start_soon(_run, feed, sender)
                    try:
                        await writer.run(receiver)
                    except anyio.get_cancelled_exc_class():
                        # Nobody of ours asked for it: the server gives up what is still open.
                        if writer.started and anyio.current_effective_deadline() > -math.inf:
                            await _goodbye(writer)
                        raise
                if place.cancelled_caught:
                    await _goodbye(writer)
                tasks.cancel_scope.cancel()

    @contextmanager
    def _counted(self) -> Generator[anyio.CancelScope]:
        if self._stopped:
            raise OperationError(ErrorCode.UNAVAILABLE)
        if len(self._open) >= self.pace.readers:
            raise OperationError(ErrorCode.UNAVAILABLE, retry_after_s=_FULL_RETRY_S)
        with anyio.CancelScope() as place:
            self._open.add(place)
            try:
                yield place
            finally:
                self._open.discard(place)
                if self._closed is not None:
                    self._closed.set()
                    self._closed = None


async def _until_gone(receive: Receive, scope: anyio.CancelScope) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()


async def _run(feed: Feed, sender: ObjectSendStream[Part]) -> None:
    async with sender:
        error = await failure_of(lambda: feed.run(sender))
        if error is not None:
            await sender.send(Part(b"", error=error))


async def _goodbye(writer: _Writer) -> None:
    with anyio.move_on_after(_GOODBYE_S):
        await writer.fail(OperationError(ErrorCode.UNAVAILABLE))


class _Writer:
    """Writes one stream.

    Args:
        pace: How it is written.
        send: As ASGI has it.
        places: Where the reader begins, a session each.
        several: Each write ends with a mark: the place in all sessions.

    Attributes:
        started: The answer has begun.
    """

    def __init__(
        self, pace: Pace, send: Send, places: dict[str, Cursor | None], *, several: bool
    ) -> None:
        self._pace = pace
        self._send = send
        self._places = places
        self._several = several
        # What was put into a write that was given up is not told.
        self._told = dict(places)
        self.started = False
        self._ended = False
        self._buffer = [f"retry: {pace.retry_ms}\n\n".encode()]

    async def run(self, parts: ObjectReceiveStream[Part]) -> None:
        """Write all parts, then the end.

        Raises:
            OperationError: Nothing was sent yet: what stopped the feed.
        """
        part = await self._receive(parts)
        while part is not None:
            part = await self._fill(parts, part)
            await self._flush()
            if part is None:
                part = await self._wait(parts)
        await self._end()

    async def fail(self, error: OperationError) -> None:
        """Tell why the stream stops, and end it.

        Raises:
            OperationError: Nothing was sent yet: the answer tells it.
        """
        if not self.started:
            raise error
        # What was not sent is not told either: the reader comes again for it.
        self._places = dict(self._told)
        self._buffer = [event("error", self._described(error))]
        await self._end()

    async def _fill(self, parts: ObjectReceiveStream[Part], part: Part | None) -> Part | None:
        """Take what belongs into the next write; return the part that no longer fits."""
        deadline = anyio.current_time() + self._pace.linger_s
        frames = 0
        while part is not None:
            if frames and frames + part.frames > self._pace.batch:
                return part
            self._put(part)
            frames += part.frames
            if frames >= self._pace.batch or self._pace.linger_s <= 0:
                return None
            part = await self._receive(parts, deadline)
        return None

    def _put(self, part: Part) -> None:
        if part.error is None:
            self._buffer.append(part.data)
        else:
            self._put_failure(part, part.error)
        if part.cursor is not None:
            self._places[part.session] = part.cursor

    def _put_failure(self, part: Part, error: Exception) -> None:
        failed = answer_for(error)
        if not self.started and not self._several:
            raise failed
        told = self._described(failed)
        if part.session:
            told |= {"sessionId": part.session, "cursor": part.cursor and str(part.cursor)}
        self._buffer.append(event("error", told))
        # Of one session nothing more comes, no heartbeat either.
        self._ended = self._ended or not self._several

    def _described(self, error: OperationError) -> dict[str, object]:
        """Return the object for what stops the stream, with its place when that is one alone."""
        told = problem_json(error)
        if not self._several:
            for session, cursor in self._told.items():
                told |= {"sessionId": session, "cursor": cursor and str(cursor)}
        return told

    async def _receive(
        self, parts: ObjectReceiveStream[Part], deadline: float = math.inf
    ) -> Part | None:
        """Return the next part; None: none came until `deadline`, or the feed has ended."""
        with anyio.CancelScope(deadline=deadline):
            try:
                return await parts.receive()
            except anyio.EndOfStream:
                self._ended = True
        return None

    async def _wait(self, parts: ObjectReceiveStream[Part]) -> Part | None:
        """Return the next part, with heartbeats until it comes; None: the feed has ended."""
        while not self._ended:
            part = await self._receive(parts, anyio.current_time() + self._pace.heartbeat_s)
            if part is not None:
                return part
            if not self._ended:
                self._buffer.append(event("hb", {"t": str(time.time_ns() // 1_000_000)}))
                await self._flush()
        return None

    async def _flush(self) -> None:
        if not self.started:
            self.started = True
            await self._send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
        if self._several and self._told != self._places:
            self._buffer.append(f"id: {_mark(self._places)}\n\n".encode())
        body = b"".join(self._buffer)
        self._buffer.clear()
        told = dict(self._places)
        await self._send({"type": "http.response.body", "body": body, "more_body": True})
        self._told = told

    async def _end(self) -> None:
        if self._buffer:
            await self._flush()
        await self._send({"type": "http.response.body", "body": b"", "more_body": False})


def _mark(marks: dict[str, Cursor | None]) -> str:
    """Return the place in all sessions, as `Last-Event-ID` brings it back."""
    return ",".join(f"{name}@{place}" if place else name for name, place in marks.items())
