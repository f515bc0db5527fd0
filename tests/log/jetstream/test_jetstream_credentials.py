"""A file of credentials opens the engine, and what it needs is told when it is missing."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from compass_agent.errors.extras import ExtraMissingError
from compass_agent.log import open_log
from compass_agent.log.extras import require_extra_of
from compass_agent.log.jetstream import servers_of
from compass_agent.log.jetstream.setup import init_engine, stream_settings
from nats_accounts import Accounts
from nats_servers import NatsServer
from writing_logs import E1, batch

if TYPE_CHECKING:
    from pathlib import Path


async def test_a_file_of_credentials_lets_a_log_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    accounts = Accounts()
    creds = tmp_path / "agent.creds"
    creds.write_text(accounts.credentials)
    monkeypatch.setenv("COMPASS_NATS_CREDS", str(creds))
    server = NatsServer(tmp_path / "server", extra=accounts.lines)
    server.start()
    try:
        servers, stream, options = servers_of(server.url.removeprefix("nats:") + "/compass")
        await init_engine(servers, stream_settings(stream), options)
        log = open_log(f"{server.url}/compass")
        await log.open("mine", E1)
        answer = await log.append(batch(1, priority=[1], trace=[2], through=2, session="mine"))
        assert answer.through == 2
        await log.aclose()
    finally:
        server.stop()


def test_the_extra_is_named_when_credentials_need_what_is_not_installed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "nkeys", None)
    require_extra_of("nats://127.0.0.1")
    monkeypatch.setenv("COMPASS_NATS_CREDS", "agent.creds")
    with pytest.raises(ExtraMissingError) as caught:
        require_extra_of("nats://127.0.0.1")
    assert "compass-agent[nats]" in caught.value.reason
