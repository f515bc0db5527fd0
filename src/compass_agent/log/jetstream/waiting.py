"""What was asked of a server, and waits for its answers. On the engine's event loop alone."""

from __future__ import annotations

__all__ = ("STATUS_NOBODY", "STATUS_NONE", "Asked", "Page", "Stored", "Waiting", "no_stream")

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import anyio

from compass_agent.errors.codes import ErrorCode
from compass_agent.log.jetstream.faults import EngineError

if TYPE_CHECKING:
    import asyncio

    from nats.aio.msg import Msg

STATUS_NONE = "404"
"""What an answer's header says when there is no such message."""

STATUS_NOBODY = "503"
"""Likewise, when nobody listens for the request."""

_STATUS_END, _STATUS_TOO_MANY = "204", "413"


@dataclass(frozen=True, slots=True)
class Stored:
    """A message as it is stored: its place in the stream, its subject, its bytes."""

    pos: int
    subject: str
    payload: bytes


@dataclass(slots=True)
class Page:
    """The messages of one batched request to `subject`, as they come in."""

    subject: str
    found: list[Stored] = field(default_factory=list[Stored])
    more: bool = False
    too_many: bool = False
    error: EngineError | None = None
    done: anyio.Event = field(default_factory=anyio.Event)

    def fail(self, error: EngineError) -> None:
        """Give it up."""
        self.error = error
        self.done.set()


@dataclass(frozen=True, slots=True)
class Asked:
    """A request that waits; when it is known that no answer comes, it is given up at once."""

    subject: str
    answer: asyncio.Future[Msg]

    def fail(self, error: EngineError) -> None:
        """Give it up."""
        if not self.answer.done():
            self.answer.set_exception(error)


class Waiting:
    """All that waits on one connection.

    Attributes:
        pages: Batched requests, by the subject at which their messages come in.
        asked: Requests of one answer, likewise.
    """

    def __init__(self) -> None:
        self.pages: dict[str, Page] = {}
        self.asked: dict[str, Asked] = {}

    def give_up(self, error: EngineError) -> None:
        """End all that waits for an answer."""
        for one in (*self.pages.values(), *self.asked.values()):
            one.fail(error)

    def denied(self, text: str) -> None:
        """End what the server did not let us publish; `text` is what it said, in small letters."""
        for one in (*self.pages.values(), *self.asked.values()):
            subject = one.subject.lower()
            if f'"{subject}"' in text:
                one.fail(EngineError(ErrorCode.PERMISSION_DENIED, f"not allowed: {subject}"))

    async def heard(self, message: Msg) -> None:
        """Take in an answer, or a message of a page."""
        asked = self.asked.get(message.subject)
        if asked is not None:
            if not asked.answer.done():
                asked.answer.set_result(message)
            return
        page = self.pages.get(message.subject)
        if page is None:
            return
        headers = message.headers or {}
        status = headers.get("Status")
        if status is None:
            place = Stored(int(headers["Nats-Sequence"]), headers["Nats-Subject"], message.data)
            page.found.append(place)
            page.more = int(headers.get("Nats-Num-Pending", "0")) > 0
            return
        page.too_many = status == _STATUS_TOO_MANY
        if status == STATUS_NOBODY:
            page.error = no_stream(page.subject.rpartition(".")[2])
        elif status not in (_STATUS_END, STATUS_NONE, _STATUS_TOO_MANY):
            text = f"{status} {headers.get('Description', '')}"
            page.error = EngineError(ErrorCode.UNAVAILABLE, text)
        page.done.set()


def no_stream(stream: str) -> EngineError:
    """Return the error for a request that nobody at the server listens for."""
    hint = "or no JetStream; `compass engine init` makes it"
    return EngineError(ErrorCode.UNAVAILABLE, f"the engine has no stream {stream} now, {hint}")
