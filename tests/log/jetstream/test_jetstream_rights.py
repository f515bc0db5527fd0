"""A writer's credentials are good for its own session alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import pytest

from compass_agent.errors.codes import ErrorCode, OperationError
from compass_agent.log.jetstream import JetStreamLog
from compass_agent.log.jetstream.rights import writer_rights
from compass_agent.log.jetstream.setup import init_engine, stream_settings
from nats_servers import NatsServer
from writing_logs import E1, batch

if TYPE_CHECKING:
    from pathlib import Path

STREAM = "owned"


@pytest.mark.requirement("G-NATS-5")
async def test_a_writer_that_may_write_its_session_is_denied_another_at_once(
    tmp_path: Path,
) -> None:
    rights = writer_rights(STREAM, "mine")
    mine = f"{{ user: mine, password: secret, permissions: {rights} }}"
    extra = [f"authorization {{ users: [{{ user: all, password: all }}, {mine}] }}"]
    server = NatsServer(tmp_path, extra=extra)
    server.start()
    place = server.url.removeprefix("nats://")
    try:
        await init_engine([f"nats://all:all@{place}"], stream_settings(STREAM))
        owner = JetStreamLog([f"nats://all:all@{place}"], STREAM)
        await owner.open("other", E1)
        writer = JetStreamLog([f"nats://mine:secret@{place}"], STREAM)
        await writer.open("mine", E1)
        answer = await writer.append(batch(1, priority=[1], trace=[2], through=2, session="mine"))
        assert answer.through == 2
        await writer.renew([("mine", E1)])
        began = anyio.current_time()
        for asked in (
            writer.append(batch(1, priority=[1], through=1, session="other")),
            writer.open("other", "2" * 16),
            writer.delete("mine"),
        ):
            with pytest.raises(OperationError) as caught:
                await asked
            assert caught.value.code is ErrorCode.PERMISSION_DENIED
        assert anyio.current_time() - began < 2
        assert (await owner.sessions())[0].session in ("mine", "other")
        stranger = JetStreamLog([f"nats://{place}"], STREAM)
        with pytest.raises(OperationError) as caught:
            await stranger.open("mine", E1)
        assert caught.value.code is ErrorCode.PERMISSION_DENIED
        for log in (owner, writer, stranger):
            await log.aclose()
    finally:
        server.stop()
