"""The runtime: a session joins mapper, sink and publishing."""

from __future__ import annotations

__all__ = ("Session", "open_session")

from compass_agent.runtime.session import Session, open_session
