"""Compass shows whoever tails an agent session what went wrong.

::

    from compass_agent import open_session

    async with open_session("s1") as session:
        async for event in agent_events:
            session.feed(event)

Names are imported when they are first used, so that `import compass_agent` costs an agent nothing.
"""

from __future__ import annotations

__all__ = (
    "ErrorCode",
    "EventMapper",
    "FrameSink",
    "OperationError",
    "Pump",
    "Session",
    "SinkStatistics",
    "UnmappedEvent",
    "__version__",
    "open_session",
)

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from compass_agent.errors import ErrorCode, OperationError
    from compass_agent.mapping import EventMapper, UnmappedEvent
    from compass_agent.publish import Pump
    from compass_agent.runtime import Session, open_session
    from compass_agent.sink import FrameSink, SinkStatistics

__version__ = "0.1.0"

_HOMES = {
    "ErrorCode": "compass_agent.errors",
    "EventMapper": "compass_agent.mapping",
    "FrameSink": "compass_agent.sink",
    "OperationError": "compass_agent.errors",
    "Pump": "compass_agent.publish",
    "Session": "compass_agent.runtime",
    "SinkStatistics": "compass_agent.sink",
    "UnmappedEvent": "compass_agent.mapping",
    "open_session": "compass_agent.runtime",
}


def __getattr__(name: str) -> object:
    """Import a public name from its home, once."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'compass_agent' has no attribute {name!r}")
    import importlib  # noqa: PLC0415 - only needed here

    value = globals()[name] = getattr(importlib.import_module(home), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
