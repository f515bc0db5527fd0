"""Reading over gRPC: what a hub gives its subscribers.

Needs the extra `grpc`, and asyncio. Nothing else of Compass imports this before it is used.
"""

from __future__ import annotations

__all__ = ("Guard", "Subscribers")

from compass_agent.services.grpc.guard import Guard
from compass_agent.services.grpc.subscribers import Subscribers
