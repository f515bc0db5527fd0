"""The session log on NATS JetStream. Needs the extra `nats`."""

from __future__ import annotations

__all__ = ("JetStreamLog", "open_url", "servers_of")

import os
from typing import TYPE_CHECKING, Any

from compass_agent.log.jetstream.log import JetStreamLog
from compass_agent.log.jetstream.rights import inbox_of

if TYPE_CHECKING:
    from compass_agent.log.retention import Retention

_STREAM = "compass"


def open_url(rest: str, retention: Retention, *, one_loop: bool = False) -> JetStreamLog:
    """Return the log that `nats:` and `rest` name."""
    servers, stream, options = servers_of(rest)
    return JetStreamLog(servers, stream, retention=retention, options=options, one_loop=one_loop)


def servers_of(rest: str) -> tuple[list[str], str, dict[str, Any]]:
    """Return the servers, the stream and the client's options that a URL without its scheme names.

    A user and password may stand in the URL; `COMPASS_NATS_CREDS` names a file of credentials.
    Answers come below `_INBOX_USER` of the user in the URL, or where `COMPASS_NATS_INBOX` says.
    """
    hosts, _, stream = rest.removeprefix("//").partition("/")
    user, at, places = hosts.rpartition("@")
    servers = [f"nats://{user}{at}{place}" for place in places.split(",")]
    creds = os.environ.get("COMPASS_NATS_CREDS")
    options: dict[str, Any] = {"user_credentials": creds} if creds else {}
    name, has_password, _ = user.partition(":")
    inbox = os.environ.get("COMPASS_NATS_INBOX") or (inbox_of(name) if has_password else "")
    if inbox:
        options["inbox_prefix"] = inbox
    return servers, stream or _STREAM, options
