"""Streams of providers as plain mappings, and what readers see of them."""

from __future__ import annotations

from typing import Any

from compass_agent.adapters import openai
from compass_agent.events import InnerEvent
from compass_agent.mapping import EventMapper
from compass_agent.testing import check_events
from reading_frames import described


def told(events: list[InnerEvent]) -> list[str]:
    """Return what readers see of the events."""
    check_events(events)
    mapper = EventMapper(now=lambda: 0)
    return described(frame for event in events for frame in mapper.map(event))


def openai_run(*stream: dict[str, Any]) -> list[str]:
    run = openai.Run()
    return told([event for item in stream for event in run.feed(item)] + run.end())


def chunk(delta: dict[str, Any], reason: str | None = None, index: int = 0) -> dict[str, Any]:
    return {"choices": [{"index": index, "delta": delta, "finish_reason": reason}]}
