"""Ways from a pump to a log."""

from __future__ import annotations

__all__ = ("LocalTransport",)

from compass_agent.transport.local import LocalTransport
