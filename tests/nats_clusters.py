"""Three NATS servers on the loopback that keep every message three times."""

from __future__ import annotations

__all__ = ("NatsCluster",)

import time
from typing import TYPE_CHECKING

import anyio

from compass_agent.errors.codes import OperationError
from compass_agent.log.jetstream.setup import init_engine, stream_leader, stream_settings
from nats_servers import NatsServer, free_port

if TYPE_CHECKING:
    from pathlib import Path

NAMES = ("n1", "n2", "n3")


class NatsCluster:
    """The servers, and which of them leads a stream.

    Args:
        folder: Where they keep their files.
    """

    def __init__(self, folder: Path) -> None:
        ports = {name: free_port() for name in NAMES}
        routes = ", ".join(f'"nats://127.0.0.1:{port}"' for port in ports.values())
        self.servers = {
            name: NatsServer(
                folder / name,
                name=name,
                extra=[
                    f"cluster {{ name: demo, listen: 127.0.0.1:{port}, routes: [{routes}] }}",
                ],
            )
            for name, port in ports.items()
        }

    @property
    def urls(self) -> list[str]:
        return [server.url for server in self.servers.values()]

    def log_url(self, stream: str) -> str:
        """What `open_log` takes."""
        places = ",".join(url.removeprefix("nats://") for url in self.urls)
        return f"nats://{places}/{stream}"

    def start(self, stream: str, seconds: float = 30.0) -> None:
        """Start all, and make the stream once they have found each other."""
        for server in self.servers.values():
            server.launch()
        for server in self.servers.values():
            server.wait()
        until = time.monotonic() + seconds
        while True:
            try:
                anyio.run(init_engine, self.urls, stream_settings(stream, replicas=3))
            except OperationError:
                assert time.monotonic() < until, "the cluster does not come about"
                continue
            return

    async def leader(self, stream: str) -> NatsServer:
        """The server that leads the stream now."""
        with anyio.fail_after(30):
            while True:
                try:
                    name = await stream_leader(self.urls, stream)
                except OperationError:
                    continue
                if name:
                    return self.servers[name]

    def stop(self) -> None:
        for server in self.servers.values():
            server.stop()
