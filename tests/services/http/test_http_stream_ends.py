"""Event streams that stop: cut anywhere, refused, or given up by the server; each says where."""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING, Any

import pytest

from asgi import EventReader, ask, opened
from compass_agent.log.memory import MemoryLog
from compass_agent.services.http import Pace, Shared, http_app
from ways_in import FailingLog
from writing_logs import E1, E2, E3, S, batch, end

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from asgi import Event

EVENTS = f"/v1/sessions/{S}/events"
SESSIONS = ("s1", "s2", "s3")
ALL = "/v1/events?" + "&".join(f"s={name}" for name in SESSIONS)
QUICK = Pace(linger_s=0.0)
FRAMES = 700
BATCH = 64


async def with_losses() -> FailingLog:
    """Three sessions of more frames than a page holds; of each, one frame in seven is missing."""
    log = FailingLog()
    log.ahead_s = 0.01
    for name in SESSIONS:
        await log.open(name, E1)
        trace = [seq for seq in range(1, FRAMES + 1) if seq % 7]
        await log.append(batch(1, trace=trace, through=FRAMES, session=name))
    return log


def key_of(event: Event) -> tuple[str, int]:
    """What a client knows a frame or a gap by: its session and its last place."""
    told = event.json
    gap = told.get("gap")
    return told["sessionId"], int(gap["lastSeq"] if gap else told["seq"])


async def read_until_cut(app: ASGIApp, last_id: str, room: int) -> tuple[list[Event], str]:
    told: list[Event] = []
    reader = EventReader(last_id)
    headers = {"Last-Event-ID": last_id} if last_id else {}
    caught_up = 0
    async with opened(app, ALL, headers=headers) as answer:
        async for piece in answer.body:
            for event in reader.feed(piece[: max(room, 0)]):
                caught_up += event.name == "caught_up"
                told += [event] if event.name in {"message", "gap"} else []
            room -= len(piece)
            if room <= 0 or caught_up == len(SESSIONS):
                break
    return told, reader.last_id


@pytest.mark.requirement("G-HTTP-1")
@pytest.mark.parametrize("seed", range(4))
async def test_a_client_of_several_sessions_cut_anywhere_reads_all_and_at_most_a_write_again(
    seed: int,
) -> None:
    chance = random.Random(seed)  # noqa: S311 - where to cut is no secret
    app = http_app(await with_losses(), shared=Shared(QUICK))
    told: dict[tuple[str, int], None] = {}
    last_id, cuts = "", 0
    while len(told) < FRAMES * len(SESSIONS):
        cuts += 1
        assert cuts < 200, "no cut brings it any further"
        events, last_id = await read_until_cut(app, last_id, chance.randrange(1, 60_000))
        keys = [key_of(event) for event in events]
        for name in SESSIONS:
            again = [key for key in keys if key in told and key[0] == name]
            # Of the write that was cut: up to 64 frames, and the gaps among them.
            assert len(again) <= BATCH + BATCH // 6 + 1
        told |= dict.fromkeys(keys)
    for name in SESSIONS:
        places = [place for session, place in told if session == name]
        assert places == list(range(1, FRAMES + 1))
    assert cuts > 5


async def test_every_write_of_several_sessions_ends_with_an_id() -> None:
    app = http_app(await with_losses(), shared=Shared(QUICK))
    reader = EventReader()
    async with opened(app, ALL) as answer:
        async for piece in answer.body:
            before = reader.last_id
            events = reader.feed(piece)
            if any(event.name in {"message", "gap"} for event in events):
                assert reader.last_id != before
            if len([name for name in SESSIONS if f"{name}@{E1}-{FRAMES}" in reader.last_id]) == 3:
                break


def given_up(name: str, app: ASGIApp) -> tuple[ASGIApp, list[asyncio.Task[Any]]]:
    """An application whose requests a server can cancel by hand."""
    tasks: list[asyncio.Task[Any]] = []

    async def cancelled_by_hand(scope: Scope, receive: Receive, send: Send) -> None:
        tasks.append(asyncio.ensure_future(app(scope, receive, send)))
        tasks[-1].set_name(name)
        await asyncio.wait(tasks)

    return cancelled_by_hand, tasks


@pytest.mark.requirement("G-HTTP-4")
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("path", [EVENTS, ALL, "/v1/board/events"])
@pytest.mark.parametrize("whole", [True, False])
async def test_a_stream_that_is_cancelled_within_the_server_says_so(
    path: str, *, whole: bool
) -> None:
    log = await with_losses()
    app, tasks = given_up("stream", http_app(log, shared=Shared(QUICK)))
    told: list[Event] = []
    async with opened(app, path) as answer:
        async for event in answer.events():
            told.append(event)
            if event.name == "caught_up":
                log.error = asyncio.CancelledError
                if whole:
                    tasks[0].cancel()
                else:
                    for name in SESSIONS:
                        log.wake.fire(name)
    failures = [event.json for event in told if event.name == "error"]
    assert failures
    assert told[-1].name == "error"
    for failure in failures:
        assert (failure["code"], failure["retryable"]) == ("unavailable", True)
    if path == EVENTS:
        assert (failures[0]["sessionId"], failures[0]["cursor"]) == (S, f"{E1}-{FRAMES}")
    if path == ALL and not whole:
        assert sorted(one["sessionId"] for one in failures) == [*SESSIONS]


@pytest.mark.requirement("G-HTTP-4")
async def test_a_stop_says_how_far_its_reader_came() -> None:
    app = http_app(await with_losses(), shared=Shared(QUICK))
    told: list[Event] = []
    async with opened(app, EVENTS) as answer:
        async for event in answer.events():
            told.append(event)
            if len(told) == 100:
                app.stop()
    failure = told[-1].json
    assert (told[-1].name, failure["code"], failure["sessionId"]) == ("error", "unavailable", S)
    assert failure["cursor"] == told[-2].last_id


async def test_a_stop_gives_no_place_of_several_sessions_that_its_reader_was_not_sent() -> None:
    app = http_app(await with_losses(), shared=Shared(QUICK))
    reader = EventReader()
    told: set[tuple[str, int]] = set()
    async with opened(app, ALL) as answer:
        async for piece in answer.body:
            events = reader.feed(piece)
            told |= {key_of(event) for event in events if event.name in {"message", "gap"}}
            if len(told) > 200:
                app.stop()
    for text in reader.last_id.split(","):
        name, _, cursor = text.partition("@")
        seq = int(cursor.partition("-")[2] or 0)
        assert {place for session, place in told if session == name} >= {*range(1, seq + 1)}


@pytest.mark.parametrize(
    ("path", "status"),
    [
        (EVENTS, 200),
        (f"{EVENTS}?after={E1}-{FRAMES}", 200),
        (f"{EVENTS}?after={E2}-1", 200),
        (f"{EVENTS}?after={E1}-{FRAMES + 1}", 409),
        (f"{EVENTS}?after=x", 400),
        ("/v1/sessions/nobody/events", 404),
        ("/v1/sessions/-no-id/events", 422),
        (ALL, 200),
        ("/v1/events?s=nobody", 200),
        ("/v1/board/events", 200),
    ],
)
async def test_the_headers_alone_have_the_status_that_the_stream_has(
    path: str, status: int
) -> None:
    log = await with_losses()
    app = http_app(log, shared=Shared(Pace(readers=1)))
    async with opened(app, path) as answer:
        assert answer.status == status
    assert (await ask(app, path, method="HEAD")).status == status


async def test_the_headers_alone_of_a_stream_that_cannot_be_opened_say_so() -> None:
    app = http_app(await with_losses(), shared=Shared(Pace(readers=1)))
    async with opened(app, EVENTS) as answer:
        assert answer.status == 200
        assert (await ask(app, EVENTS, method="HEAD")).status == 503
    app.stop()
    assert (await ask(app, EVENTS, method="HEAD")).status == 503


@pytest.mark.requirement("G-HTTP-1")
@pytest.mark.parametrize("path", [EVENTS, f"/v1/events?s={S}"])
async def test_who_closes_on_end_has_read_every_run(path: str) -> None:
    log = MemoryLog()
    for epoch in (E1, E2, E3):
        await log.open(S, epoch)
        await log.append(batch(1, trace=[1, 2], through=2, epoch=epoch))
        await log.append(end(2, 2, epoch=epoch))
    told: list[str] = []
    async with opened(http_app(log, shared=Shared(QUICK)), path) as answer:
        async for event in answer.events():
            told.append(event.name)
            if event.name == "end":
                break
    run = ["message", "message"]
    assert told == [*run, "ended", "reset", *run, "ended", "reset", *run, "end"]
