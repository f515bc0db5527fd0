"""agent-client-protocol: the turns of any agent that speaks it, seen from the client.

    updates = Updates()
    connection = ClientSideConnection(client, …, observers=[updates])
    await session.drive(updates.turn(connection, session_id=…, prompt=[…]))

What the agent says is taken from the connection as it comes, in the order of the wire: handlers of
the client run as tasks of their own, so they may see it in another order.
"""

from __future__ import annotations

__all__ = ("Turn", "Updates")

import asyncio
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

import anyio

from compass_agent.adapters.acp_updates import UpdateReader, texts_of
from compass_agent.adapters.objects import text_of
from compass_agent.errors.foreign import attribute
from compass_agent.errors.shapes import as_object

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Iterable, Mapping

    from compass_agent.events.classes import InnerEvent


# What it may take to tell an agent that its turn was left.
_LEAVE_S = 0.5


class _Prompts(Protocol):
    """A connection to an agent."""

    def prompt(self, **request: object) -> Awaitable[object]:
        """Send a prompt; return the agent's response."""
        ...


class Updates:
    """Watches one connection: one of its `observers`.

    Args:
        secrets: Values that must not appear in failures and notices.
        grace: Seconds that an agent has to answer once it was asked to stop (`session/cancel`).
    """

    def __init__(self, secrets: Iterable[str] = (), *, grace: float = 2.0) -> None:
        self._secrets = tuple(secrets)
        self._grace = grace
        self._turns: dict[str, Turn] = {}

    def __call__(self, event: object) -> None:
        """Take one message of the connection. Never waits."""
        message = as_object(attribute(event, "message"))
        incoming = attribute(event, "direction") == "incoming"
        params = as_object(message.get("params"))
        turn = self._turns.get(text_of(params, "sessionId"))
        match text_of(message, "method"), incoming:
            case "session/update", True if turn is not None:
                turn.take(turn.reader.feed(params.get("update")))
            case "session/request_permission", True if turn is not None:
                turn.take(turn.reader.asked(message.get("id"), params))
            case "session/cancel", False if turn is not None:
                turn.cancelled(self._grace)
            case "", False:
                # The answer to a request of the agent; which turn's is known by the request's id.
                for each in self._turns.values():
                    result = as_object(message.get("result"))
                    each.take(each.reader.answered(message.get("id"), result))
            case _:
                pass

    def turn(self, connection: _Prompts, **request: object) -> Turn:
        """Return a turn, which begins when it is driven: `session.drive(updates.turn(…))`.

        Args:
            connection: To the agent, with `self` as one of its observers.
            request: As for `connection.prompt`: `session_id`, `prompt`, ….
        """
        reader = UpdateReader(texts_of(request.get("prompt")), self._secrets)
        return Turn(self._turns, connection, request, reader)


class Turn:
    """The inner events of one turn, from its prompt to the agent's response.

    Attributes:
        response: The agent's response; None while there is none, or when it never came.
        reader: Says what messages mean.
    """

    def __init__(
        self,
        turns: dict[str, Turn],
        connection: _Prompts,
        request: Mapping[str, object],
        reader: UpdateReader,
    ) -> None:
        self.response: object = None
        self.reader = reader
        self._turns = turns
        self._connection = connection
        self._request = request
        self._waiting: deque[InnerEvent] = deque()
        self._wake = asyncio.Event()
        self._late = False
        self._timer: asyncio.TimerHandle | None = None
        self._events = self._run()

    def __aiter__(self) -> AsyncIterator[InnerEvent]:
        return self._events

    async def aclose(self) -> None:
        """End the turn; nothing more is taken from the connection for it."""
        await self._events.aclose()

    def take(self, events: Iterable[InnerEvent]) -> None:
        """Keep events until the turn goes on."""
        self._waiting.extend(events)
        self._wake.set()

    def cancelled(self, grace: float) -> None:
        """Note that the agent was asked to stop; it has `grace` seconds to answer."""
        self.reader.cancelled = True
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(grace, self._give_up)

    def _give_up(self) -> None:
        self._late = True
        self._wake.set()

    async def _run(self) -> AsyncGenerator[InnerEvent, None]:
        name = self._request.get("session_id")
        session_id = name if isinstance(name, str) else ""
        self._turns[session_id] = self
        for event in self.reader.begin():
            yield event
        prompted = asyncio.ensure_future(self._connection.prompt(**self._request))
        prompted.add_done_callback(lambda _: self._wake.set())
        try:
            while not (prompted.done() or self._late):
                await self._wake.wait()
                self._wake.clear()
                while self._waiting:
                    yield self._waiting.popleft()
            for event in self._end(prompted):
                yield event
            if prompted.done() and prompted.exception() is not None:
                prompted.result()
        except asyncio.CancelledError:
            # The host stopped the turn, which the session tells.
            for event in [*self._waiting, *self.reader.withdrawn()]:
                yield event
            raise
        finally:
            await self._leave(prompted, session_id)
            if self._timer is not None:
                self._timer.cancel()
            self._turns.pop(session_id, None)

    async def _leave(self, prompted: asyncio.Future[object], session_id: str) -> None:
        """Let an agent whose turn is left early know that nobody waits for it."""
        early = not (prompted.done() or self.reader.cancelled)
        prompted.cancel()
        cancel = getattr(self._connection, "cancel", None)
        if early and cancel is not None:
            with anyio.move_on_after(_LEAVE_S, shield=True), suppress(Exception):
                await cancel(session_id=session_id)

    def _end(self, prompted: asyncio.Future[object]) -> list[InnerEvent]:
        left = [*self._waiting, *self.reader.withdrawn()]
        self._waiting.clear()
        if not prompted.done():
            return [*left, *self.reader.late()]
        error = prompted.exception()
        if error is None:
            self.response = prompted.result()
            reason = attribute(self.response, "stop_reason")
            return [*left, *self.reader.finish(reason if isinstance(reason, str) else "")]
        return [*left, *self.reader.fail(error)] if isinstance(error, Exception) else left
