"""Feeds a session all that an agent's stream gives, for hosts that want no loop of their own."""

from __future__ import annotations

__all__ = ("Driven", "drive")

import asyncio
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Protocol

import anyio

from compass_agent.errors.closing import close_quietly

if TYPE_CHECKING:
    from collections.abc import AsyncIterable, Generator

# What a source may take to close once its work was stopped.
_CLOSE_S = 2.0
# How long a cancellation may have no effect before it is told, and how often that is looked at.
_PATIENCE_S = 1.0
_LOOK_S = 0.25


class Driven(Protocol):
    """What is fed."""

    def feed(self, event: object) -> None:
        """Take one inner event."""
        ...

    def settle(self, error: BaseException | None, *, stopped: bool = False) -> None:
        """Take how the stream ended; `stopped`: after it was cancelled."""
        ...


async def drive(session: Driven, events: AsyncIterable[object]) -> None:
    """Feed `session` every event as soon as it comes, then how the stream ended; close the stream.

    A cancellation that a tool swallows is told as the stop that it is, although the stream goes on:
    within two seconds, where asyncio says that it was asked for. What a library raises in place
    of a cancellation is a stop as well.

    Raises:
        BaseException: What the stream raised, the same object. That it cannot be closed is no
            failure.
    """
    watch: _Watch | None = None
    try:
        with _watched(session) as watch:
            async for event in events:
                session.feed(event)
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

    def __init__(self, session: Driven, task: asyncio.Task[object]) -> None:
        self._session = session
        self._task = task
        self._before = task.cancelling()
        self._loop = task.get_loop()
        self._since: float | None = None
        self._next = self._loop.call_later(_LOOK_S, self._look)

    @property
    def cancelled(self) -> bool:
        """Whether the task was cancelled since."""
        return self._task.cancelling() > self._before

    def _look(self) -> None:
        if not self.cancelled:
            self._since = None
        elif self._since is None:
            self._since = self._loop.time()
        elif self._loop.time() - self._since >= _PATIENCE_S:
            self._session.settle(asyncio.CancelledError())
            return
        self._next = self._loop.call_later(_LOOK_S, self._look)

    def cancel(self) -> None:
        self._next.cancel()


@contextmanager
def _watched(session: Driven) -> Generator[_Watch | None, None, None]:
    task: asyncio.Task[object] | None = None
    with suppress(RuntimeError):  # not asyncio: there, who was cancelled is cancelled again
        task = asyncio.current_task()
    watch = None if task is None else _Watch(session, task)
    try:
        yield watch
    finally:
        if watch is not None:
            watch.cancel()
