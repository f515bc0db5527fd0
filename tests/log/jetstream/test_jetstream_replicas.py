"""Of three servers one has a bad disk and leads: what the other two have is read and written on."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import anyio
import nats
import pytest

from compass_agent.log import SessionLog, open_log
from compass_agent.wire import SessionMeta
from nats_clusters import NatsCluster
from writing_logs import E1, S, batch, failed, read_all

if TYPE_CHECKING:
    from pathlib import Path

    from nats_servers import NatsServer

STREAM = "compass"


async def make_lead(cluster: NatsCluster, name: str) -> None:
    """Have that server lead the stream."""
    server: NatsServer = cluster.servers[name]
    client = await nats.connect(cluster.urls)  # pyright: ignore[reportUnknownMemberType] - of options that are not used
    asked = json.dumps({"placement": {"preferred": name}}).encode()
    with anyio.fail_after(60):
        while await cluster.leader(STREAM) is not server:
            await client.request(f"$JS.API.STREAM.LEADER.STEPDOWN.{STREAM}", asked, timeout=10)
    await client.close()


@pytest.mark.slow
@pytest.mark.requirement("G-NATS-4")
@pytest.mark.parametrize("marker", [b"NEWEST", b"SHEET"])
def test_what_two_servers_have_is_read_though_the_one_that_leads_lost_it(
    tmp_path: Path, marker: bytes
) -> None:
    cluster = NatsCluster(tmp_path)
    try:
        cluster.start(STREAM)
        anyio.run(write, cluster)
        for server in cluster.servers.values():
            server.stop()
        harm(tmp_path / "n2", marker)
        for server in cluster.servers.values():
            server.launch()
        for server in cluster.servers.values():
            server.wait()
        anyio.run(go_on, cluster)
    finally:
        cluster.stop()


def harm(folder: Path, marker: bytes) -> None:
    """Change one byte of a message of the stream as it lies on that server's disk."""
    blocks = folder.rglob(f"streams/{STREAM}/msgs/*.blk")
    (file,) = [one for one in blocks if marker in one.read_bytes()]
    data = bytearray(file.read_bytes())
    data[data.rindex(marker)] ^= 0xFF
    file.write_bytes(data)


async def write(cluster: NatsCluster) -> None:
    log = open_log(cluster.log_url(STREAM))
    await log.open(S, E1, SessionMeta(title="SHEET"))
    await log.append(batch(1, priority=[1], trace=[2], through=2))
    await log.append(batch(2, priority={3: failed("NEWEST")}, through=3, prev_priority=1))
    await log.open("other", E1)
    await log.aclose()


async def frames(log: SessionLog) -> list[str]:
    """What is read, apart from a writer that was away for too long."""
    return [word for word in await read_all(log) if not word.startswith("state")]


async def go_on(cluster: NatsCluster) -> None:
    await make_lead(cluster, "n2")
    log = open_log(cluster.log_url(STREAM))
    with anyio.fail_after(60):
        assert await frames(log) == ["p1", "t2", "p3"]
        found = {one.session: one for one in await log.sessions()}
        assert found[S].frames == 3
        assert found[S].title == "SHEET"
        answer = await log.append(batch(3, priority=[4], trace=[5], through=5, prev_priority=3))
        assert (answer.code, answer.through, answer.last_priority) == (None, 5, 4)
        await log.renew([(S, E1)])
        again = open_log(cluster.log_url(STREAM))
        assert await frames(again) == ["p1", "t2", "p3", "p4", "t5"]
        await again.delete(S)
        assert [one.session for one in await again.sessions()] == ["other"]
    await log.aclose()
    await again.aclose()
