"""A real server, one for all tests of a worker."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from nats_servers import NatsServer

if TYPE_CHECKING:
    from collections.abc import Generator


@pytest.fixture(scope="session")
def nats_server(tmp_path_factory: pytest.TempPathFactory) -> Generator[NatsServer]:
    server = NatsServer(tmp_path_factory.mktemp("nats"))
    server.start()
    yield server
    server.stop()
