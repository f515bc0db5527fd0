"""A file of credentials opens the engine, and what it needs is told when it is missing."""

from __future__ import annotations

import os
import sys
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio
import anyio.lowlevel
import pytest

from compass_agent.errors.codes import ErrorCode, OperationError
from compass_agent.errors.extras import ExtraMissingError
from compass_agent.log import open_log
from compass_agent.log.extras import require_extra_of
from compass_agent.log.jetstream import servers_of
from compass_agent.log.jetstream.faults import EngineError
from compass_agent.log.jetstream.setup import init_engine, stream_settings
from nats_accounts import Accounts
from nats_servers import NatsServer
from writing_logs import E1, batch

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable
    from pathlib import Path

    from compass_agent.log import SessionLog


@asynccontextmanager
async def log_with_credentials(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncGenerator[tuple[SessionLog, NatsServer, Path]]:
    """Give a log with a session open, its server, and the file that lets it in."""
    accounts = Accounts()
    creds = folder / "agent.creds"
    creds.write_text(accounts.credentials)
    monkeypatch.setenv("COMPASS_NATS_CREDS", str(creds))
    server = NatsServer(folder / "server", extra=accounts.lines)
    server.start()
    try:
        servers, stream, options = servers_of(server.url.removeprefix("nats:") + "/compass")
        await init_engine(servers, stream_settings(stream), options)
        log = open_log(f"{server.url}/compass")
        await log.open("mine", E1)
        yield log, server, creds
        await log.aclose()
    finally:
        server.stop()


async def test_a_file_of_credentials_lets_a_log_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with log_with_credentials(tmp_path, monkeypatch) as (log, _, _):
        answer = await log.append(batch(1, priority=[1], trace=[2], through=2, session="mine"))
        assert answer.through == 2


def test_the_extra_is_named_when_credentials_need_what_is_not_installed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "nkeys", None)
    require_extra_of("nats://127.0.0.1")
    monkeypatch.setenv("COMPASS_NATS_CREDS", "agent.creds")
    with pytest.raises(ExtraMissingError) as caught:
        require_extra_of("nats://127.0.0.1")
    assert "compass-agent[nats]" in caught.value.reason


def _cut(text: str) -> bytes:
    return text.partition("-----BEGIN USER NKEY")[0].encode()


def _nothing(path: Path) -> None:
    """Make none at all."""
    assert not path.exists()


def _torn(text: str) -> bytes:
    """The key's line, but not all of it."""
    return text[: text.index("------END USER NKEY") - 20].encode()


def _mistyped(text: str) -> bytes:
    head, begin, tail = text.partition("BEGIN USER NKEY SEED-----\n")
    return f"{head}{begin}SUA{tail[20:]}".encode()


@pytest.mark.parametrize(
    ("broken", "why"),
    [
        (_cut, "there is no key"),
        (_torn, "there is no key"),
        (_mistyped, "its key is not valid"),
        (b"junk\n", "there is no user's token"),
        (b"", "there is no user's token"),
        (bytes(range(256)) * 8, "there is no user's token"),
    ],
    ids=["cut", "torn", "mistyped", "junk", "empty", "binary"],
)
async def test_a_file_of_credentials_that_is_broken_is_named_at_once(
    broken: Callable[[str], bytes] | bytes,
    why: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    creds = tmp_path / "agent.creds"
    text = broken if isinstance(broken, bytes) else broken(Accounts().credentials)
    creds.write_bytes(text)
    monkeypatch.setenv("COMPASS_NATS_CREDS", str(creds))
    await _refused(creds, why)


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (_nothing, "No such file or directory"),
        (os.mkdir, "it is no file"),
        (os.mkfifo, "it is no file"),
    ],
    ids=["missing", "directory", "pipe"],
)
async def test_what_is_no_file_of_credentials_is_named_at_once(
    made: Callable[[Path], object], why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    creds = tmp_path / "agent.creds"
    made(creds)
    monkeypatch.setenv("COMPASS_NATS_CREDS", str(creds))
    await _refused(creds, why)


async def _refused(creds: Path, why: str) -> None:
    """No server is needed for that: none is asked."""
    with anyio.fail_after(1.5):
        log = open_log("nats://127.0.0.1:9/compass")
        try:
            with pytest.raises(EngineError) as caught:
                await log.open("mine", E1)
        finally:
            await log.aclose()
    assert caught.value.code is ErrorCode.PERMISSION_DENIED
    assert str(creds) in caught.value.reason
    assert why in caught.value.reason


async def test_credentials_that_break_while_the_engine_is_away_are_used_once_they_are_mended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with log_with_credentials(tmp_path, monkeypatch) as (log, server, creds):
        good = creds.read_text()
        creds.write_text("junk\n")
        server.stop()
        server.start()
        with pytest.raises(OperationError):
            await log.append(batch(1, priority=[1], through=1, session="mine"))
        creds.write_text(good)
        with anyio.fail_after(20):
            while True:
                try:
                    answer = await log.append(batch(1, priority=[1], through=1, session="mine"))
                except OperationError:
                    await anyio.lowlevel.checkpoint()
                else:
                    break
        assert answer.through == 1
