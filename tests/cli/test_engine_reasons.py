"""What keeps a log on NATS from being used is named by each command, `compass run` too."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from commands import compass
from nats_accounts import Accounts
from nats_servers import NatsServer

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

_RUN = ("--", "echo", "hi")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[NatsServer]:
    one = NatsServer(tmp_path_factory.mktemp("server"))
    one.start()
    yield one
    one.stop()


def test_each_command_names_a_file_of_credentials_that_is_cut_off(
    server: NatsServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    creds = tmp_path / "agent.creds"
    creds.write_text(Accounts().credentials.partition("-----BEGIN USER NKEY")[0])
    monkeypatch.setenv("COMPASS_NATS_CREDS", str(creds))
    url = f"{server.url}/compass"
    for command in (("sessions",), ("show", "s1"), ("engine", "init"), ("engine", "check")):
        done = compass(*command, "--log", url)
        assert done.returncode == 77, (command, done.stderr)
        assert f"the file of credentials {creds} cannot be used: there is no key" in done.stderr

    ran = compass("run", "--quiet", "--session", "s1", "--log", url, *_RUN)
    assert f"trying again: the file of credentials {creds} cannot be used" in ran.stderr


def test_a_run_says_once_that_the_engine_has_no_such_stream(server: NatsServer) -> None:
    ran = compass("run", "--quiet", "--session", "s1", "--log", f"{server.url}/none", *_RUN)

    assert ran.stderr.count("published, trying again: the engine has no such stream") == 1


def test_a_run_says_that_the_engine_refuses_its_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, others = Accounts(), Accounts()
    creds = tmp_path / "agent.creds"
    creds.write_text(others.credentials)
    monkeypatch.setenv("COMPASS_NATS_CREDS", str(creds))
    server = NatsServer(tmp_path / "server", extra=ours.lines)
    server.start()
    try:
        ran = compass("run", "--quiet", "--session", "s1", "--log", f"{server.url}/one", *_RUN)
    finally:
        server.stop()

    assert "trying again: the engine cannot be reached: it refuses this user" in ran.stderr


@pytest.mark.parametrize(
    ("asked", "why"),
    [("--replicas=3", "replicas > 1 not supported"), ("--max-bytes=900000GiB", "insufficient")],
)
def test_a_stream_that_the_servers_cannot_keep_is_refused_with_the_reason_alone(
    server: NatsServer, asked: str, why: str
) -> None:
    made = compass("engine", "init", "--log", f"{server.url}/large", asked)

    assert made.returncode == 11
    assert why in made.stderr
    assert "Try again" not in made.stderr
    assert "cannot be reached" not in made.stderr
