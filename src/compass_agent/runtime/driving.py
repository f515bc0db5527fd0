"""Feeds a session all that an agent's stream gives, for hosts that want no loop of their own."""

from __future__ import annotations

__all__ = ("Driven", "drive")

import asyncio
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Protocol

import anyio

from compass_agent.errors.closing import close_quietly
from compass_agent.events import Noticed, ToolEnded, ToolUpdated
from compass_agent.runtime.stalls import Stall, StallTold

if TYPE_CHECKING:
    from collections.abc import AsyncIterable, Generator

# What a source may take to close once its work was stopped.
_CLOSE_S = 2.0
# How long a cancellation may have no effect before it is told, and how often that is looked at.
_PATIENCE_S = 1.0
_LOOK_S = 0.25


_LEFT = (Noticed, ToolEnded, ToolUpdated)


class Driven(StallTold, Protocol):
    """What is fed."""

    def feed(self, event: object) -> None:
        """Take one inner event."""
        ...

    def settle(self, error: BaseException | None, *, stopped: bool = False) -> None:
        """Take how the stream ended; `stopped`: after it was cancelled."""
        ...


async def drive(session: Driven, events: AsyncIterable[object], stall: float | None = None) -> None:
    """Feed `session` every event as soon as it comes, then how the stream ended; close the stream.

    A stream that says nothing at its work for a minute is told, once for each silence, where
    asyncio drives; one that says nothing for `stall` seconds is stopped.

    A cancellation that a tool swallows is told as the stop that it is, although the stream goes on:
    within two seconds, where asyncio says that it was asked for. What a library raises in place
    of a cancellation is a stop as well.

    Raises:
        BaseException: What the stream raised, the same object. That it cannot be closed is no
            failure.
        TimeoutError: It stalled.
    """
    watch: _Watch | None = None
    silence = Stall(session, stall)
    try:
        with _watched(session, silence) as watch, silence.watched():
            async for event in events:
                # It is over when it stalled; only what it leaves behind is told.
                if not silence.over or isinstance(event, _LEFT):
                    session.feed(event)
                silence.heard()
    except BaseException as error:
        session.settle(error, stopped=watch is not None and watch.cancelled)
        raise
    else:
        session.settle(None)
    finally:
        with anyio.move_on_after(_CLOSE_S, shield=True):
            await close_quietly(events, "aclose")


class _Watch:
    """Looks whether the task was cancelled and goes on nevertheless."""

    def __init__(self, session: Driven, silence: Stall, task: asyncio.Task[object]) -> None:
        self._session = session
        self._silence = silence
        self._task = task
        self._before = task.cancelling()
        self._loop = task.get_loop()
        self._since: float | None = None
        self._next: asyncio.Handle = self._loop.call_soon(self._look)

    @property
    def cancelled(self) -> bool:
        """Whether the task was cancelled since."""
        return self._task.cancelling() > self._before

    def _look(self) -> None:
        again = min(_LOOK_S, self._silence.look())
        if not self.cancelled:
            self._since = None
        elif self._since is None:
            self._since = self._loop.time()
        elif self._loop.time() - self._since >= _PATIENCE_S:
            self._session.settle(asyncio.CancelledError())
            return
        self._next = self._loop.call_later(again, self._look)

    def cancel(self) -> None:
        self._next.cancel()


@contextmanager
def _watched(session: Driven, silence: Stall) -> Generator[_Watch | None, None, None]:
    task: asyncio.Task[object] | None = None
    with suppress(RuntimeError):  # not asyncio: there, who was cancelled is cancelled again
        task = asyncio.current_task()
    watch = None if task is None else _Watch(session, silence, task)
    try:
        yield watch
    finally:
        if watch is not None:
            watch.cancel()
