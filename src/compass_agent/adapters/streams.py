"""The events of an agent's stream, for those who hand them on, as `Session.drive` does."""

from __future__ import annotations

__all__ = ("events_of",)

from typing import TYPE_CHECKING

from compass_agent.adapters.auto import adapter_for

if TYPE_CHECKING:
    from collections.abc import AsyncIterable, AsyncIterator, Mapping

    from compass_agent.adapters.auto import AgentAdapter
    from compass_agent.events.classes import InnerEvent


async def events_of(
    stream: AsyncIterable[bytes | str | Mapping[str, object]], adapter: AgentAdapter | None = None
) -> AsyncIterator[InnerEvent]:
    """Yield the events of a stream, and at its end how it ended.

    Args:
        stream: Pieces of the agent's output, of any size, or the objects of its lines. What it
            raises goes on unchanged.
        adapter: Of the agent; None: one that looks for the format.
    """
    adapter = adapter or adapter_for("auto")
    async for piece in stream:
        for event in adapter.feed(piece):
            yield event
    for event in adapter.end():
        yield event
