"""Publishing over gRPC, both ends: an agent's process sends batches, a hub puts them into a log.

Needs the extra `grpc`, and asyncio. Nothing else of Compass imports this before it is used.
"""

from __future__ import annotations

__all__ = ("GrpcTransport", "Ingest", "hub_transport")

from compass_agent.transport.grpc.client import GrpcTransport, hub_transport
from compass_agent.transport.grpc.ingest import Ingest
