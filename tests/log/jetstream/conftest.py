"""A real server, one for all tests of a worker."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from compass_agent.log.jetstream import JetStreamLog
from compass_agent.log.retention import Retention
from nats_logs import fresh_stream
from nats_servers import NatsServer

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator


@pytest.fixture(scope="session")
def nats_server(tmp_path_factory: pytest.TempPathFactory) -> Generator[NatsServer]:
    server = NatsServer(tmp_path_factory.mktemp("nats"))
    server.start()
    yield server
    server.stop()


@pytest.fixture
async def two(nats_server: NatsServer) -> AsyncGenerator[tuple[JetStreamLog, JetStreamLog]]:
    """Two hubs: logs that know nothing of each other, on one stream, and keep all."""
    stream = await fresh_stream(nats_server)
    keep = Retention(ended_age_s=None, total_bytes=None)
    logs = tuple(JetStreamLog([nats_server.url], stream, retention=keep) for _ in range(2))
    yield logs[0], logs[1]
    for log in logs:
        await log.aclose()
