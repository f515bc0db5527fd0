"""The pump: from the sink to a log."""

from __future__ import annotations

__all__ = ("Pump",)

from compass_agent.publish.pump import Pump
