"""The trace context of an injection arrives by every way in, letter for letter."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import anyio
import pytest

from asgi import ask, opened
from compass_agent import open_session
from compass_agent.client import Frame, tail
from compass_agent.services import read_entries
from compass_agent.services.grpc import HubReader
from compass_agent.telemetry import context_of
from compass_agent.wire import FrameItem, decode_frame
from hubs import subscribed
from ways_in import FailingLog, opened_ways
from writing_logs import S

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from compass.v1.compass_pb2 import SessionInjection
    from ways_in import Ways

GIVEN = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
EVENTS = f"/v1/sessions/{S}/events"


def found_in(value: object) -> list[str]:
    """Every trace context anywhere in a JSON value."""
    found: list[str] = []

    def note(pairs: list[tuple[str, object]]) -> None:
        found.extend(str(inner) for name, inner in pairs if name == "traceparent")

    json.loads(json.dumps(value), object_pairs_hook=note)
    return found


def of_injections(told: Iterable[SessionInjection]) -> list[str]:
    # The context that its receiver makes of it is one, too.
    return [one.traceparent for one in told if one.traceparent and context_of(one)]


def of_objects(objects: Iterable[object]) -> list[str]:
    found = [getattr(one, "traceparent", "") for one in objects]
    return [one for one in found if one]


async def in_the_log(ways: Ways) -> list[str]:
    pages = [page async for page in ways.log.read(S, None, follow=False)]
    items = [item for page in pages for item in page.items]
    frames = [decode_frame(item.data) for item in items if isinstance(item, FrameItem)]
    return of_injections(frame.typed_event.session_injection for frame in frames)


async def by_grpc(ways: Ways) -> list[str]:
    async with subscribed(ways.target, session_id=S, follow=True) as reader:
        return of_injections(one.event.session_injection for one in await reader.rest())


async def by_the_client(ways: Ways) -> list[str]:
    items = [item async for item in tail(ways.target, S)]
    return of_objects(item.content for item in items if isinstance(item, Frame))


async def as_entries(ways: Ways) -> list[str]:
    reader = HubReader(ways.target)
    try:
        return of_objects((await read_entries(reader, S)).entries)
    finally:
        await reader.aclose()


async def as_json_frames(ways: Ways) -> list[str]:
    return found_in((await ask(ways.app, f"/v1/sessions/{S}/frames")).json)


async def as_json_items(ways: Ways) -> list[str]:
    return found_in((await ask(ways.app, f"/v1/sessions/{S}/items")).json)


async def in_an_export(ways: Ways) -> list[str]:
    answer = await ask(ways.app, f"/v1/sessions/{S}/transcript")
    return found_in([json.loads(line) for line in answer.body.splitlines()])


async def as_events(ways: Ways) -> list[str]:
    async with opened(ways.app, f"/v1/sessions/{S}/events") as answer:
        return found_in([event.json async for event in answer.events()])


async def by_mcp(ways: Ways) -> list[str]:
    result = await ways.client.call_tool("read_session", {"session_id": S})
    return found_in(result.structured_content)


READERS = (
    in_the_log,
    by_grpc,
    by_the_client,
    as_entries,
    as_json_frames,
    as_json_items,
    in_an_export,
    as_events,
    by_mcp,
)


@pytest.mark.requirement("G-OTEL-2")
async def test_the_trace_context_of_an_injection_arrives_by_every_way_in(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with anyio.fail_after(30):
        async with opened_ways(FailingLog(), place, monkeypatch) as ways:
            # It comes through the hub, too.
            async with open_session(S, log=f"unix:{place}") as session:
                session.inject("steer", "m1", "@me", GIVEN)
            assert session.statistics().priority.delivered == 3
            arrived = {read.__name__: await read(ways) for read in READERS}
    assert arrived == {read.__name__: [GIVEN] for read in READERS}
