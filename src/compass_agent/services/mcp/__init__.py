"""Sessions for other agents, over the Model Context Protocol: read-only tools, served on stdio.

Needs the extra `mcp`. Nothing else of Compass imports this before it is used.
"""

from __future__ import annotations

__all__ = ("mcp_server", "serve_stdio")

from compass_agent.services.mcp.server import mcp_server, serve_stdio
