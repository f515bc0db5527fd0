from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import anyio
import pytest

from certificates import write_certificate
from commands import compass, started
from compass_agent.log import open_log
from compass_agent.log.jetstream.setup import init_engine, stream_settings
from nats_servers import NatsServer, free_port
from writing_logs import E1, S, batch, read_all

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path


@pytest.fixture(scope="module")
def safe(tmp_path_factory: pytest.TempPathFactory) -> Generator[tuple[NatsServer, str]]:
    """A server that writes to the disk before it answers, and where it tells of itself."""
    port = free_port()
    monitor = f"127.0.0.1:{port}"
    server = NatsServer(tmp_path_factory.mktemp("safe"), extra=[f"http: {monitor}"])
    server.start()
    yield server, f"http://{monitor}"
    server.stop()


def test_a_stream_that_was_made_is_safe_and_takes_sessions(safe: tuple[NatsServer, str]) -> None:
    server, monitor = safe
    url = f"{server.url}/made"
    for _ in range(2):
        made = compass("engine", "init", "--log", url, "--max-bytes", "1GiB")
        assert made.returncode == 0, made.stderr
    checked = compass("engine", "check", "--log", url, "--monitor", monitor)
    assert (checked.returncode, checked.stdout) == (0, ""), checked.stdout

    async def use() -> None:
        log = open_log(url)
        await log.open(S, E1)
        await log.append(batch(1, priority=[1], trace=[2, 3, 4], through=4))
        await log.aclose()

    anyio.run(use)
    listed = compass("sessions", "--log", url)
    assert listed.returncode == 0
    assert S in listed.stdout
    dry = compass("engine", "trim", "--log", url, "--keep", "1", "--dry-run")
    assert dry.stdout == f"would trim {S}: 2 trace frames\n"
    assert compass("engine", "trim", "--log", url, "--keep", "1").stdout == (
        f"trimmed {S}: 2 trace frames\n"
    )

    async def kept() -> list[str]:
        log = open_log(url)
        try:
            return await read_all(log)
        finally:
            await log.aclose()

    # Whether its writer is taken for dead by now depends on how long all this took.
    assert [word for word in anyio.run(kept) if not word.startswith("state")] == [
        "p1",
        "gap 2-3 retention",
        "t4",
    ]


@pytest.mark.parametrize(
    ("changed", "word"),
    [
        ({"discard": "old"}, "discard is old, not new"),
        ({"storage": "memory"}, "storage is memory, not file"),
        ({"max_consumers": 1000}, "max_consumers is 1000"),
        ({"max_age": 3_600_000_000_000}, "max_age is 3600000000000, not 0"),
        ({"max_msgs_per_subject": 100}, "max_msgs_per_subject is 100, not -1"),
        ({"allow_direct": False}, "allow_direct is"),
        ({"allow_rollup_hdrs": False}, "allow_rollup_hdrs is"),
        ({"republish": None}, "republish is None"),
        ({"no_ack": True}, "no_ack is True"),
        ({"max_msg_size": 100_000}, "max_msg_size is 100000, not -1"),
        ({"sources": [{"name": "elsewhere"}]}, "sources is "),
        ({"allow_msg_ttl": True}, "allow_msg_ttl is True, not False"),
        ({"max_bytes": 1000}, "max_bytes is 1000, not 4194304 or more, or -1"),
        ({"max_bytes": 4_194_303}, "max_bytes is 4194303"),
        ({"subject_transform": {"src": ">", "dest": "x.>"}}, "subject_transform is "),
    ],
)
def test_a_setting_that_would_lose_frames_is_refused_with_the_reason(
    safe: tuple[NatsServer, str], changed: dict[str, object], word: str
) -> None:
    server, monitor = safe
    name = "odd-{}-{}".format(*next(iter(changed.items())))
    name = "".join(char if char.isalnum() else "-" for char in name)
    settings = {k: v for k, v in (stream_settings(name) | changed).items() if v is not None}
    anyio.run(init_engine, [server.url], settings)
    checked = compass("engine", "check", "--log", f"{server.url}/{name}", "--monitor", monitor)
    assert checked.returncode != 0
    assert [line for line in checked.stdout.splitlines() if line.startswith(word)], checked.stdout
    assert len(checked.stdout.splitlines()) == 1
    assert f"1 setting of {name} is not safe" in checked.stderr


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("nonsense", "--monitor nonsense: say http://HOST:PORT"),
        ("http://127.0.0.1:9", "--monitor http://127.0.0.1:9 does not tell of a server"),
        ("the server's own port", "does not tell of a server (is it its `http` port?)"),
    ],
)
def test_a_monitor_that_cannot_be_used_is_named(
    safe: tuple[NatsServer, str], given: str, said: str
) -> None:
    server, _ = safe
    url = f"{server.url}/monitored"
    assert compass("engine", "init", "--log", url).returncode == 0
    given = server.url.replace("nats:", "http:") if " " in given else given
    checked = compass("engine", "check", "--log", url, "--monitor", given)
    assert checked.returncode in (5, 65)
    assert said in checked.stderr


@pytest.mark.parametrize("number", ["-1", "many"])
def test_frames_to_keep_that_are_no_number_are_named(number: str) -> None:
    trimmed = compass("engine", "trim", "--log", "nats://127.0.0.1:9", f"--keep={number}")
    assert trimmed.returncode == 2
    assert "--keep" in trimmed.stderr
    assert "a number of frames, 0 or more" in trimmed.stderr


def test_a_server_that_writes_to_the_disk_now_and_then_is_refused(tmp_path: Path) -> None:
    port = free_port()
    server = NatsServer(tmp_path, sync='"2m"', extra=[f"http: 127.0.0.1:{port}"])
    server.start()
    try:
        url = f"{server.url}/made"
        assert compass("engine", "init", "--log", url).returncode == 0
        for more, word in (
            ([], "sync_interval is not known"),
            (["--monitor", f"http://127.0.0.1:{port}"], "sync_interval is 120 s, not always"),
        ):
            checked = compass("engine", "check", "--log", url, *more)
            assert checked.returncode != 0
            assert checked.stdout.startswith(word)
    finally:
        server.stop()


def test_a_server_that_takes_small_messages_alone_is_refused(tmp_path: Path) -> None:
    port = free_port()
    server = NatsServer(tmp_path, extra=["max_payload: 100000", f"http: 127.0.0.1:{port}"])
    server.start()
    try:
        url = f"{server.url}/made"
        assert compass("engine", "init", "--log", url).returncode == 0
        checked = compass("engine", "check", "--log", url, "--monitor", f"http://127.0.0.1:{port}")
        assert checked.stdout.startswith("max_payload is 100000, not 1048576 or more")
    finally:
        server.stop()


def test_a_server_that_keeps_the_stream_and_told_nothing_is_named(
    safe: tuple[NatsServer, str], tmp_path: Path
) -> None:
    server, _ = safe
    port = free_port()
    beside = NatsServer(tmp_path, name="n2", extra=[f"http: 127.0.0.1:{port}"])
    beside.start()
    try:
        url = f"{server.url}/asked"
        assert compass("engine", "init", "--log", url).returncode == 0
        of_another = f"http://127.0.0.1:{port}"
        more = ("--monitor", of_another, "--monitor", of_another)
        checked = compass("engine", "check", "--log", url, *more)
        assert checked.returncode != 0
        assert checked.stdout.startswith("sync_interval of n1 is not known, not always")
    finally:
        beside.stop()


@pytest.mark.parametrize("wrong", ["--replicas=2", "--replicas=0", "--max-bytes=0"])
def test_a_stream_is_not_made_as_nobody_can_mean_it(wrong: str) -> None:
    made = compass("engine", "init", "--log", "nats://127.0.0.1:9", wrong)
    assert made.returncode == 2
    assert wrong.partition("=")[0] in made.stderr


@pytest.mark.parametrize("place", ["h:99999", "h:abc", "h,", "h:", "u:p@", "a:1,b:65536"])
def test_a_url_that_names_no_server_is_refused_with_the_url(place: str) -> None:
    listed = compass("sessions", "--log", f"nats://{place}/compass")
    assert listed.returncode == 65
    assert f"nats://{place}/compass: no such log" in listed.stderr


def test_a_stream_that_is_not_there_or_is_there_otherwise_is_told(
    safe: tuple[NatsServer, str],
) -> None:
    server, _ = safe
    absent = compass("engine", "check", "--log", f"{server.url}/absent")
    assert absent.returncode == 5, absent.stderr
    assert "compass engine init" in absent.stderr
    anyio.run(init_engine, [server.url], stream_settings("other", storage="memory"))
    other = compass("engine", "init", "--log", f"{server.url}/other")
    assert other.returncode != 0
    assert "already in use" in other.stderr
    assert ": storage is memory, not file\n" in other.stderr
    nobody = compass("engine", "check", "--log", f"nats://127.0.0.1:{free_port()}")
    assert "the engine cannot be reached: " in nobody.stderr
    assert "Error(" not in nobody.stderr
    assert compass("engine", "check", "--log", "memory:").returncode != 0
    assert compass("engine").returncode == 2


@pytest.mark.parametrize("command", ["sessions", "tail s1", "show s1", "sessions rm s1"])
def test_a_stream_that_is_not_there_is_named_by_every_command(
    safe: tuple[NatsServer, str], command: str
) -> None:
    server, _ = safe
    asked = compass(*command.split(), "--log", f"{server.url}/absent")
    assert asked.returncode == 5, asked.stderr
    assert asked.stderr.count("`compass engine init` makes it") == 1


def test_a_server_without_jetstream_is_told(tmp_path: Path) -> None:
    server = NatsServer(tmp_path, stores=False)
    server.start()
    try:
        for command in (["sessions"], ["engine", "check"]):
            asked = compass(*command, "--log", f"{server.url}/absent")
            assert asked.returncode == 5, asked.stderr
            assert "JetStream" in asked.stderr
    finally:
        server.stop()


def test_a_hub_says_at_its_start_that_its_stream_is_not_there(
    safe: tuple[NatsServer, str], tmp_path: Path
) -> None:
    server, _ = safe
    with started("serve", "--log", f"{server.url}/absent", "--unix", tmp_path / "s") as hub:
        assert hub.stderr is not None
        assert "`compass engine init` makes it" in hub.stderr.readline()
        hub.terminate()
        hub.communicate(timeout=20)


def test_a_certificate_that_nobody_trusts_is_told_and_one_that_is_named_is_taken(
    tmp_path: Path,
) -> None:
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    write_certificate(cert, key)
    tls = f"tls {{ cert_file: {json.dumps(str(cert))}, key_file: {json.dumps(str(key))} }}"
    server = NatsServer(tmp_path / "server", extra=[tls])
    server.start()
    try:
        url = f"{server.url}/made"
        refused = compass("engine", "init", "--log", url)
        assert refused.returncode == 5, refused.stderr
        assert "SSL_CERT_FILE" in refused.stderr
        assert "eof_received" not in refused.stderr
        ran = compass("run", "--quiet", "--session", "s1", "--log", url, "--", "echo", "hi")
        assert "trying again: the engine cannot be reached: no safe connection" in ran.stderr
        trusting = {**os.environ, "SSL_CERT_FILE": str(cert)}
        made = compass("engine", "init", "--log", url, env=trusting)
        assert made.returncode == 0, made.stderr
        assert len(made.stderr.splitlines()) == 1, made.stderr
        ran = compass(
            "run", "--quiet", "--session", "s1", "--log", url, "--", "echo", "hi", env=trusting
        )
        assert (ran.returncode, ran.stderr) == (0, "")
        listed = compass("sessions", "--log", url, env=trusting)
        assert (listed.returncode, listed.stderr) == (0, "")
    finally:
        server.stop()
