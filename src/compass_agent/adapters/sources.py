"""Opens what an SDK's call gives, so that a failure to begin is one of the stream."""

from __future__ import annotations

__all__ = ("Source", "items_of")

from collections.abc import AsyncGenerator, AsyncIterable, Awaitable
from contextlib import AbstractAsyncContextManager, aclosing
from inspect import isawaitable
from typing import Any, TypeAlias, TypeGuard

import anyio

from compass_agent.errors.closing import close_quietly, leave_quietly

Source: TypeAlias = (
    AsyncIterable[Any]
    | Awaitable[AsyncIterable[Any]]
    | AbstractAsyncContextManager[AsyncIterable[Any], Any]
)
"""A stream of an SDK's objects, or what gives one: to be awaited, or entered."""

# What a stream that is left early may take to close.
_CLOSE_S = 1.0


async def items_of(source: Source) -> AsyncGenerator[object, None]:
    """Yield what the stream gives; close it at the end, also when that comes early.

    Raises:
        BaseException: What the SDK raises, the same object. That a stream cannot be closed is no
            failure.
    """
    stream: Any = await source if isawaitable(source) else source
    if _is_entered(stream):
        async with aclosing(_entered(stream)) as items:
            async for item in items:
                yield item
        return
    try:
        async for item in stream:
            yield item
    finally:
        with anyio.move_on_after(_CLOSE_S, shield=True):
            await close_quietly(stream, "aclose", "close")


async def _entered(
    manager: AbstractAsyncContextManager[AsyncIterable[Any], Any],
) -> AsyncGenerator[object, None]:
    stream = await manager.__aenter__()
    try:
        async for item in stream:
            yield item
    except BaseException as error:
        await leave_quietly(manager, error)
        raise
    await leave_quietly(manager, None)


def _is_entered(stream: object) -> TypeGuard[AbstractAsyncContextManager[AsyncIterable[Any], Any]]:
    return hasattr(stream, "__aenter__")
