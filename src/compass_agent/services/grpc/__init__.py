"""Reading over gRPC, both ends: what a hub gives its readers, and a hub's log read from afar.

Needs the extra `grpc`, and asyncio. Nothing else of Compass imports this before it is used.
"""

from __future__ import annotations

__all__ = ("Catalog", "Guard", "HubReader", "Subscribers")

from compass_agent.services.grpc.catalog import Catalog
from compass_agent.services.grpc.guard import Guard
from compass_agent.services.grpc.reader import HubReader
from compass_agent.services.grpc.subscribers import Subscribers
