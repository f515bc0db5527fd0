"""Feeds a session all that an agent's stream gives, for hosts that want no loop of their own."""

from __future__ import annotations

__all__ = ("Driven", "drive")

from typing import TYPE_CHECKING, Protocol

import anyio

if TYPE_CHECKING:
    from collections.abc import AsyncIterable, Awaitable, Callable

# What a source may take to close once its work was stopped.
_CLOSE_S = 2.0


class Driven(Protocol):
    """What is fed."""

    def feed(self, event: object) -> None:
        """Take one inner event."""
        ...

    def settle(self, error: BaseException | None) -> None:
        """Take how the stream ended."""
        ...


async def drive(session: Driven, events: AsyncIterable[object]) -> None:
    """Feed `session` every event as soon as it comes, then how the stream ended; close the stream.

    Raises:
        BaseException: What the stream raised, the same object.
    """
    try:
        async for event in events:
            session.feed(event)
    except BaseException as error:
        session.settle(error)
        raise
    else:
        session.settle(None)
    finally:
        close: Callable[[], Awaitable[object]] | None = getattr(events, "aclose", None)
        if close is not None:
            with anyio.move_on_after(_CLOSE_S, shield=True):
                await close()
