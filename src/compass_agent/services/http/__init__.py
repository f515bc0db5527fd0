"""Reading over HTTP: JSON, server-sent events and exports, as an ASGI application.

Needs the extra `serve` (starlette; a server is the caller's choice). Nothing else of Compass
imports this before it is used.
"""

from __future__ import annotations

__all__ = ("LOOPBACK_HOSTS", "HttpApp", "Pace", "Shared", "http_app")

from compass_agent.services.http.app import HttpApp, Shared, http_app
from compass_agent.services.http.guard import LOOPBACK_HOSTS
from compass_agent.services.http.streams import Pace
