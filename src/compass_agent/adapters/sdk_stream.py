"""A run that is one iterator of an SDK: what it gives, how it ends, what it raises.

Nothing of an SDK is imported: its objects are known by the names of their classes and attributes.
"""

from __future__ import annotations

__all__ = ("StreamRun", "fields_of", "is_kind", "run_events")

from contextlib import aclosing
from typing import TYPE_CHECKING

from compass_agent.adapters.sdk_run import SdkRun
from compass_agent.adapters.sources import items_of
from compass_agent.errors.foreign import attribute

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from compass_agent.adapters.sources import Source
    from compass_agent.events.classes import InnerEvent


class StreamRun(SdkRun):
    """Turns the objects of an iterator into inner events, and its end."""

    def fail(self, error: Exception) -> list[InnerEvent]:
        """Return what is left to tell before `error` goes on to the caller.

        The failure itself is told by the session, from the exception; here comes only what was
        told before it and says more.
        """
        del error
        return self._flushed()

    def end(self) -> list[InnerEvent]:
        """Return what is left to tell at the normal end of the iterator."""
        return self._flushed()


async def run_events(run: StreamRun, source: Source) -> AsyncGenerator[InnerEvent, None]:
    """Yield the events of a run, as they come; close its source at the end.

    Raises:
        BaseException: What the source raises, the same object.
    """
    for event in run.begin():
        yield event
    try:
        async with aclosing(items_of(source)) as items:
            async for item in items:
                for event in run.feed(item):
                    yield event
    except Exception as error:
        for event in run.fail(error):
            yield event
        raise
    for event in run.end():
        yield event


def is_kind(item: object, *names: str) -> bool:
    """Tell whether `item` is of a class with one of these names, or of one derived from it."""
    return any(kind.__name__ in names for kind in type(item).__mro__)


def fields_of(item: object, *names: str) -> dict[str, object]:
    """Return the attributes of `item` by these names, without those that are missing or None."""
    found = {name: attribute(item, name) for name in names}
    return {name: value for name, value in found.items() if value is not None}
