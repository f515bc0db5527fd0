"""Asks ASGI applications in memory, on whatever event loop runs; and reads event streams."""

from __future__ import annotations

__all__ = ("Answer", "Event", "EventReader", "Opened", "ask", "opened")

import json
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import anyio

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Mapping, MutableMapping

    from starlette.types import ASGIApp

    _Message = MutableMapping[str, Any]


@dataclass
class Answer:
    """A whole answer; header names are in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Event:
    """One event as a browser gives it to its listeners."""

    name: str
    data: str
    last_id: str

    @property
    def json(self) -> Any:
        return json.loads(self.data)


@dataclass
class EventReader:
    """Parses an event stream as browsers do; what is not complete yet is no event."""

    last_id: str = ""
    retry_ms: int | None = None
    _text: str = ""
    _name: str = ""
    _data: list[str] = field(default_factory=list[str])
    _id: str = ""
    _tail: bytes = b""

    def feed(self, data: bytes) -> list[Event]:
        """The events that `data` completes."""
        data = self._tail + data
        found: list[Event] = []
        # Lines end with CR LF, CR or LF; a CR at the end may be half of one.
        lines = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        self._tail = lines.pop()
        for line in lines:
            self._line(line.decode(), found)
        return found

    def _line(self, line: str, found: list[Event]) -> None:
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if not line:
            self.last_id = self._id or self.last_id
            if self._data:
                found.append(Event(self._name or "message", "\n".join(self._data), self.last_id))
            self._data, self._name = [], ""
        elif name == "data":
            self._data.append(value)
        elif name == "event":
            self._name = value
        elif name == "id":
            self._id = value
        elif name == "retry":
            self.retry_ms = int(value)


class Opened:
    """An answer that is still being sent."""

    def __init__(self, status: int, headers: dict[str, str], body: AsyncIterator[bytes]) -> None:
        self.status = status
        self.headers = headers
        self.body = body
        self.reader = EventReader()
        self._events = self._read_events()

    async def rest(self) -> bytes:
        """What is left of the body."""
        return b"".join([piece async for piece in self.body])

    def events(self) -> AsyncIterator[Event]:
        """The events, as they come; asked again, it goes on."""
        return self._events

    async def aclose(self) -> None:
        """Read no more."""
        await self._events.aclose()

    async def _read_events(self) -> AsyncGenerator[Event]:
        async for piece in self.body:
            for event in self.reader.feed(piece):
                yield event


def _scope(path: str, method: str, headers: Mapping[str, str]) -> dict[str, Any]:
    path, _, query = path.partition("?")
    given = {"host": "localhost"} | {name.lower(): value for name, value in headers.items()}
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": query.encode(),
        "headers": [(name.encode(), value.encode("utf-8")) for name, value in given.items()],
        "client": None,
        "server": None,
    }


@asynccontextmanager
async def opened(
    app: ASGIApp,
    path: str,
    *,
    method: str = "GET",
    headers: Mapping[str, str] | None = None,
    patience_s: float = 30,
) -> AsyncGenerator[Opened]:
    """The answer of `app` once it begins; leaving the block closes the connection."""
    sender, receiver = anyio.create_memory_object_stream["_Message"](0)
    gone = anyio.Event()
    request: list[_Message] = [{"type": "http.request", "body": b"", "more_body": False}]

    async def receive() -> _Message:
        if request:
            return request.pop()
        await gone.wait()
        return {"type": "http.disconnect"}

    async def run() -> None:
        async with sender:
            await app(_scope(path, method, headers or {}), receive, sender.send)

    async def body() -> AsyncGenerator[bytes]:
        async for message in receiver:
            yield message.get("body", b"")
            if not message.get("more_body", False):
                return

    with anyio.fail_after(patience_s), sender, receiver:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run)
            start = await receiver.receive()
            told = {name.decode(): value.decode() for name, value in start["headers"]}
            pieces = body()
            answer = Opened(start["status"], told, pieces)
            try:
                yield answer
            finally:
                await answer.aclose()
                await pieces.aclose()
                gone.set()
                tasks.cancel_scope.cancel()


async def ask(
    app: ASGIApp, path: str, *, method: str = "GET", headers: Mapping[str, str] | None = None
) -> Answer:
    """The whole answer of `app`."""
    async with opened(app, path, method=method, headers=headers) as answer:
        return Answer(answer.status, answer.headers, await answer.rest())
