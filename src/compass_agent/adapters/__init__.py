"""Adapters: the stream of one kind of agent, in its raw bytes, to inner events.

One module for each kind. An adapter's `feed` takes chunks or objects and `end` closes the stream;
both return inner events and never raise. `detect` tells which adapter a stream needs.
"""

from __future__ import annotations

__all__ = ("detect",)

from compass_agent.adapters.detect import detect
