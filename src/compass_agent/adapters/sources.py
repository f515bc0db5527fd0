"""Opens what an SDK's call gives, so that a failure to begin is one of the stream."""

from __future__ import annotations

__all__ = ("Source", "items_of")

from collections.abc import AsyncGenerator, AsyncIterable, Awaitable
from contextlib import AbstractAsyncContextManager
from inspect import isawaitable
from typing import Any, TypeAlias, TypeGuard

import anyio

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
        BaseException: What the SDK raises, the same object.
    """
    stream: Any = await source if isawaitable(source) else source
    if _is_entered(stream):
        async with stream as entered:
            async for item in entered:
                yield item
        return
    try:
        async for item in stream:
            yield item
    finally:
        close = getattr(stream, "aclose", None) or getattr(stream, "close", None)
        if close is not None:
            with anyio.move_on_after(_CLOSE_S, shield=True):
                await close()


def _is_entered(stream: object) -> TypeGuard[AbstractAsyncContextManager[AsyncIterable[Any], Any]]:
    return hasattr(stream, "__aenter__")
