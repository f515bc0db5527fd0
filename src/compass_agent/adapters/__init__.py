"""Adapters: the stream of one kind of agent, in its raw bytes, to inner events.

One module for each kind, with a class `Adapter`: its `feed` takes chunks or objects and its `end`
closes the stream; both return inner events and never raise. `detect` tells which adapter a stream
needs, `adapter_for` makes one by name, or one that looks by itself.

The modules of SDKs, such as `openai` and `pydantic_ai`, have a function `events` instead, which
yields inner events for what the SDK gives. They import no SDK.
"""

from __future__ import annotations

__all__ = ("FORMATS", "AgentAdapter", "adapter_for", "detect", "events_of")

from compass_agent.adapters.auto import FORMATS, AgentAdapter, adapter_for
from compass_agent.adapters.detect import detect
from compass_agent.adapters.streams import events_of
