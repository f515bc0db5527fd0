"""What adapters of SDKs share: objects instead of lines, and exceptions instead of exit codes.

Nothing of an SDK is imported: its objects are known by the names of their classes and attributes.
"""

from __future__ import annotations

__all__ = ("SdkReader", "fields_of", "is_kind", "read_sdk")

from typing import TYPE_CHECKING

from compass_agent.adapters.telling import Telling
from compass_agent.errors.foreign import attribute
from compass_agent.events.classes import Noticed

if TYPE_CHECKING:
    from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable

    from compass_agent.events.classes import InnerEvent


class SdkReader(Telling):
    """Turns one SDK's objects into inner events; a subclass says what an object means."""

    def begin(self) -> list[InnerEvent]:
        """Return the events of a run that begins, before the SDK does anything."""
        return self._begin()

    def read(self, item: object) -> list[InnerEvent]:
        """Return the events of one object. Never raises."""
        try:
            return self._cleaned(self._item(item))
        except Exception as error:  # noqa: BLE001 - nothing that an SDK gives may stop its stream
            kind, why = type(item).__name__, type(error).__name__
            return [Noticed(f"An object of the class {kind} could not be read: {why}")]

    def fail(self, error: Exception) -> list[InnerEvent]:
        """Return what is left to tell before `error` goes on to the caller.

        The failure itself is told by the session, from the exception; only what was told before it
        and says more is told here.
        """
        del error
        return self._flushed()

    def end(self) -> list[InnerEvent]:
        """Return what is left to tell at the normal end of the SDK's iterator."""
        return self._flushed()

    def _item(self, item: object) -> list[InnerEvent]:
        """Return the events of one object; an unknown one is a notice."""
        raise NotImplementedError

    def _unknown(self, item: object) -> list[InnerEvent]:
        return [Noticed(f"An object of the class {type(item).__name__} is not known")]


async def read_sdk(stream: AsyncIterable[object], reader: SdkReader) -> AsyncIterator[InnerEvent]:
    """Yield the events of an SDK's iterator, and close it.

    Args:
        stream: The SDK's own iterator. What it raises goes on, the same object.
        reader: Says what its objects mean.
    """
    for event in reader.begin():
        yield event
    try:
        async for item in stream:
            for event in reader.read(item):
                yield event
    except Exception as error:
        for event in reader.fail(error):
            yield event
        raise
    finally:
        close: Callable[[], Awaitable[object]] | None = getattr(stream, "aclose", None)
        if close is not None:
            await close()
    for event in reader.end():
        yield event


def is_kind(item: object, *names: str) -> bool:
    """Tell whether `item` is of a class with one of these names, or of one derived from it."""
    return any(kind.__name__ in names for kind in type(item).__mro__)


def fields_of(item: object, *names: str) -> dict[str, object]:
    """Return the attributes of `item` by these names, without those that are missing or None."""
    found = {name: attribute(item, name) for name in names}
    return {name: value for name, value in found.items() if value is not None}
