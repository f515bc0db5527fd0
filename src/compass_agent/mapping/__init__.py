"""The mapper: inner events in, session frames out."""

from __future__ import annotations

__all__ = ("EventMapper", "UnmappedEvent")

from compass_agent.mapping.mapper import EventMapper, UnmappedEvent
