"""Event streams: every frame once and in order over any cut, everything told, ended well."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING

import anyio
import pytest
from google.protobuf.json_format import Parse

from asgi import EventReader, ask, opened
from compass.v1.compass_pb2 import AgentSessionFrame
from compass_agent.errors.codes import TABLE, ErrorCode, OperationError
from compass_agent.frames import Cursor
from compass_agent.log.memory import MemoryLog
from compass_agent.services.http import Pace, Shared, http_app
from writing_logs import E1, E2, Clock, S, batch, end, failed, state, text

if TYPE_CHECKING:
    from asgi import Event
    from compass_agent.log.read import SessionSummary
    from compass_agent.log.reading import Place, View
    from compass_agent.services.http import HttpApp

EVENTS = f"/v1/sessions/{S}/events"
QUICK = Pace(linger_s=0.0)


def quick_app(log: MemoryLog, pace: Pace = QUICK) -> HttpApp:
    return http_app(log, shared=Shared(pace))


async def stored(frames: int, *, ended: bool = True) -> MemoryLog:
    log = MemoryLog()
    await log.open(S, E1)
    await log.append(batch(1, trace=range(1, frames + 1), through=frames))
    if ended:
        await log.append(end(2, frames))
    return log


def word(event: Event) -> str:
    """One event in few words."""
    frame = Parse(event.data, AgentSessionFrame()) if event.name != "hb" else None
    seq = frame.seq if frame is not None and frame.seq else ""
    return f"{event.name} {seq}".strip()


async def test_a_session_is_told_from_its_first_frame_to_its_end() -> None:
    log = MemoryLog(now_ms=Clock())
    await log.open(S, E1)
    await log.append(batch(1, trace=[1, 2, 5], through=5))
    await log.append(end(2, 5))
    await log.open(S, E2)
    await log.append(batch(1, priority={1: failed("boom"), 2: state(5)}, through=2, epoch=E2))
    async with opened(quick_app(log), EVENTS) as answer:
        assert answer.status == 200
        assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-accel-buffering"] == "no"
        told: list[Event] = []
        async for event in answer.events():
            told += [] if event.name == "cause" else [event]
            if event.name == "caught_up":
                await log.append(end(2, 2, 2, epoch=E2))
    assert answer.reader.retry_ms == 2000
    assert [word(event) for event in told] == [
        "message 1",
        "message 2",
        "gap 4",
        "message 5",
        "ended 5",
        "reset",
        "message 1",
        "message 2",
        "caught_up",
        "end 2",
    ]
    places = [event.last_id for event in told]
    assert places[:4] == [f"{E1}-1", f"{E1}-2", f"{E1}-4", f"{E1}-5"]
    assert places[5:8] == [f"{E2}-0", f"{E2}-1", f"{E2}-2"]
    assert told[2].json["gap"]["count"] == "2"
    assert told[6].json["event"]["sessionError"]["message"] == "boom"


async def read_until_cut(app: HttpApp, last_id: str, room: int) -> tuple[list[str], str]:
    """What a browser gets of the next `room` bytes, or until it has caught up, and its last id."""
    told: list[str] = []
    reader = EventReader(last_id)
    headers = {"Last-Event-ID": last_id} if last_id else {}
    async with opened(app, EVENTS, headers=headers) as answer:
        async for piece in answer.body:
            events = [word(event) for event in reader.feed(piece[:room])]
            told += [event for event in events if event != "caught_up"]
            room -= len(piece)
            if room <= 0 or "caught_up" in events:
                break
    return told, reader.last_id


@pytest.mark.requirement("G-READ-3", "G-HTTP-1")
@pytest.mark.parametrize("cuts", [60, pytest.param(200, marks=pytest.mark.slow)])
async def test_a_client_cut_many_times_reads_every_frame_once_and_in_order(cuts: int) -> None:
    chance = random.Random(cuts)  # noqa: S311 - where to cut is no secret
    log = MemoryLog()
    app = http_app(log, shared=Shared(Pace(linger_s=0.0)))
    await log.open(S, E1)
    written = 0
    told: list[str] = []
    last_id = ""
    for cut in range(1, cuts + 2):
        # One frame in seven is lost, and told as such.
        frames = [seq for seq in range(written + 1, written + 16) if seq % 7]
        written += 15
        await log.append(batch(cut, trace=frames, through=written))
        events, last_id = await read_until_cut(app, last_id, chance.randrange(1, 4_000))
        told += events
    await log.append(end(cuts + 2, written))
    events, _ = await read_until_cut(app, last_id, 10**9)
    told += events
    expected = [f"gap {n}" if n % 7 == 0 else f"message {n}" for n in range(1, written + 1)]
    assert told == [*expected, f"end {written}"]


@pytest.mark.requirement("G-HTTP-1")
@pytest.mark.parametrize("by_header", [True, False])
async def test_an_ended_session_read_at_its_end_is_told_so(*, by_header: bool) -> None:
    app = quick_app(await stored(3))
    headers = {"Last-Event-ID": f"{E1}-3"} if by_header else {}
    path = EVENTS if by_header else f"{EVENTS}?after={E1}-3"
    async with opened(app, path, headers=headers) as answer:
        told = [event async for event in answer.events()]
    assert [event.name for event in told] == ["end"]
    assert told[0].json["end"] == {
        "state": "AGENT_SESSION_STATE_STOPPED",
        "reason": "done",
        "lastSeq": "3",
    }


async def test_the_last_id_wins_over_the_cursor_of_the_address() -> None:
    app, headers = quick_app(await stored(9)), {"Last-Event-ID": f"{E1}-7"}
    async with opened(app, f"{EVENTS}?after={E1}-2", headers=headers) as answer:
        told = [word(event) async for event in answer.events()]
    assert told == ["message 8", "message 9", "end 9"]


async def test_an_unknown_cursor_is_answered_with_a_reset() -> None:
    async with opened(quick_app(await stored(1)), f"{EVENTS}?after={'f' * 16}-7") as answer:
        told = [event async for event in answer.events()]
    assert [word(event) for event in told] == ["reset", "message 1", "end 1"]
    assert told[0].json["reset"]["reason"] == "SESSION_RESET_REASON_UNKNOWN_EPOCH"


HOSTILE = [
    "a\rb",
    "a\nb",
    "a\r\nb\r\n\r\ndata: forged\n\n",
    "\u2028a\u2029",
    "a\u0085b",
    "a\x00b",
    "\ufeff: x",
    "\n\nevent: end\ndata: {}\n\n",
    "\U0001f600 é \x1b[31m",
]


@pytest.mark.requirement("G-HTTP-1")
async def test_text_with_line_ends_of_every_kind_survives() -> None:
    log = MemoryLog()
    await log.open(S, E1)
    frames = [text(words) for words in HOSTILE]
    await log.append(batch(1, priority=dict(enumerate(frames, 1)), through=len(frames)))
    await log.append(end(2, len(frames), len(frames)))
    async with opened(quick_app(log), EVENTS) as answer:
        told = [event async for event in answer.events()]
    texts = [event.json["event"]["assistantText"]["text"] for event in told[:-1]]
    assert texts == HOSTILE
    assert told[-1].name == "end"


async def test_silence_is_broken_by_heartbeats() -> None:
    app = quick_app(await stored(1, ended=False), Pace(linger_s=0.0, heartbeat_s=0.01))
    async with opened(app, EVENTS) as answer:
        told: list[Event] = []
        async for event in answer.events():
            told.append(event)
            if len(told) == 5:
                break
    assert [event.name for event in told] == ["message", "caught_up", "hb", "hb", "hb"]
    assert told[-1].json["t"].isdigit()
    assert told[-1].last_id == f"{E1}-1"


class Failing(MemoryLog):
    """Fails once it is told to."""

    error: Exception | None = None

    async def look(self, session: str, place: Place, page_frames: int) -> View | None:
        if self.error is not None and place.seq:
            await anyio.lowlevel.checkpoint()
            raise self.error
        return await super().look(session, place, page_frames)

    async def sessions(self) -> list[SessionSummary]:
        if self.error is not None:
            await anyio.lowlevel.checkpoint()
            raise self.error
        return await super().sessions()


@pytest.mark.requirement("G-HTTP-3")
@pytest.mark.parametrize("code", ErrorCode)
async def test_a_failure_after_the_first_event_is_an_event_with_the_same_object(
    code: ErrorCode,
) -> None:
    log = Failing()
    await log.open(S, E1)
    await log.append(batch(1, trace=[1, 2], through=2))
    told: list[Event] = []
    async with opened(quick_app(log), EVENTS) as answer:
        async for event in answer.events():
            told.append(event)
            if event.name == "caught_up":
                log.error = OperationError(code)
                await log.append(batch(2, trace=[3], through=3))
    assert told[-1].name == "error"
    failure = told[-1].json
    row = TABLE[code]
    assert (failure["status"], failure["code"]) == (row.http_status, code.value)
    assert (failure["error"], failure["retryable"]) == (row.message, row.retryable)
    assert failure["guidance"] == row.guidance
    assert failure["cursor"] == f"{E1}-2"


@pytest.mark.requirement("G-HTTP-4")
async def test_a_tail_that_stops_without_the_end_is_an_error_that_can_be_tried_again() -> None:
    log = await stored(2, ended=False)
    app = quick_app(log)
    told: list[Event] = []
    async with opened(app, EVENTS) as answer:
        async for event in answer.events():
            told.append(event)
            if event.name == "caught_up":
                app.stop()
    assert [event.name for event in told if event.name != "hb"][-2:] == ["caught_up", "error"]
    assert (told[-1].json["code"], told[-1].json["retryable"]) == ("unavailable", True)
    assert (await ask(app, EVENTS)).status == 503


async def test_one_reader_too_many_is_asked_to_come_again_later() -> None:
    app = quick_app(await stored(1, ended=False), Pace(readers=2))
    async with opened(app, EVENTS) as one, opened(app, EVENTS) as two:
        assert [one.status, two.status] == [200, 200]
        refused = await ask(app, EVENTS)
        assert (refused.status, refused.headers["retry-after"]) == (503, "5")
        assert (refused.json["code"], refused.json["retry_after_s"]) == ("unavailable", 5.0)
    with anyio.fail_after(10):
        async with opened(app, EVENTS) as three:
            assert three.status == 200


@pytest.mark.requirement("G-READ-4")
async def test_a_reader_that_leaves_or_stands_still_frees_its_place_and_delays_nobody() -> None:
    shared = Shared(Pace(linger_s=0.0))
    log = await stored(5_000, ended=False)
    app = http_app(log, shared=shared)
    async with opened(app, EVENTS) as still:
        assert still.status == 200
        async with opened(app, EVENTS) as other:
            told = 0
            async for event in other.events():
                told += event.name == "message"
                if event.name == "caught_up":
                    break
        assert told == 5_000
        assert shared.streams.count == 1
    assert shared.streams.count == 0


async def test_a_burst_goes_in_writes_of_at_most_64_frames() -> None:
    async with opened(http_app(await stored(200)), EVENTS) as answer:
        sizes = [piece.count(b"\ndata: ") async for piece in answer.body]
    assert sizes == [64, 64, 64, 9, 0]


async def test_what_comes_within_the_linger_goes_in_one_write() -> None:
    log = await stored(1, ended=False)
    app = http_app(log, shared=Shared(Pace(linger_s=0.2)))
    async with opened(app, EVENTS) as answer:
        pieces = aiter(answer.body)
        await anext(pieces)
        for number in range(2, 6):
            await log.append(batch(number, trace=[number], through=number))
            await anyio.lowlevel.checkpoint()
        assert (await anext(pieces)).count(b"\ndata: ") == 4


async def test_what_no_longer_fits_into_a_write_goes_with_the_next_one() -> None:
    log = await stored(1, ended=False)
    app = http_app(log, shared=Shared(Pace(linger_s=0.2)))
    told: list[str] = []
    writes: list[int] = []
    async with opened(app, EVENTS) as answer:
        async for piece in answer.body:
            events = [word(event) for event in answer.reader.feed(piece)]
            told += events
            writes.append(sum(event.startswith("message") for event in events))
            if "caught_up" in events:
                await log.append(batch(2, trace=range(2, 42), through=41))
                await anyio.wait_all_tasks_blocked()
                await log.append(batch(3, trace=range(42, 82), through=81))
            if "message 81" in events:
                break
    assert [one for one in told if one != "caught_up"] == [f"message {n}" for n in range(1, 82)]
    assert max(writes) <= 64


async def two_sessions() -> MemoryLog:
    log = await stored(3)
    await log.open("s2", E2)
    await log.append(batch(1, trace=[1, 2], through=2, epoch=E2, session="s2"))
    return log


async def test_one_connection_carries_several_sessions_and_resumes_all_of_them() -> None:
    app = quick_app(await two_sessions())
    reader = EventReader()
    told: list[Event] = []
    async with opened(app, f"/v1/events?s={S}@{E1}-1&s=s2") as answer:
        async for piece in answer.body:
            told += reader.feed(piece)
            if {"caught_up", "end"} <= {event.name for event in told}:
                break
    seen = sorted((e.json["sessionId"], e.json["seq"]) for e in told if e.name == "message")
    assert seen == [(S, "2"), (S, "3"), ("s2", "1"), ("s2", "2")]
    assert reader.last_id == f"{S}@{E1}-3,s2@{E2}-2"
    headers = {"Last-Event-ID": reader.last_id}
    async with opened(app, f"/v1/events?s={S}@{E1}-1&s=s2", headers=headers) as answer:
        names: set[str] = set()
        async for event in answer.events():
            names.add(event.name)
            if {"caught_up", "end"} <= names:
                break
    assert "message" not in names


async def test_of_several_sessions_one_that_fails_does_not_stop_the_others() -> None:
    app = quick_app(await two_sessions())
    async with opened(app, f"/v1/events?s=nobody&s={S}") as answer:
        told = [event async for event in answer.events()]
    assert sum(event.name == "message" for event in told) == 3
    failures = [event.json for event in told if event.name == "error"]
    assert [(one["sessionId"], one["code"]) for one in failures] == [("nobody", "not_found")]


async def test_the_board_tells_all_sessions_then_what_changes() -> None:
    clock = Clock()
    log = MemoryLog(now_ms=clock)
    await log.open(S, E1)
    await log.append(batch(1, priority={1: state(3)}, through=1))
    told: list[Event] = []
    async with opened(quick_app(log), "/v1/board/events") as answer:
        async for event in answer.events():
            told.append(event)
            if event.name == "caught_up":
                priority = {2: failed("boom"), 3: state(5)}
                await log.append(batch(2, priority=priority, through=3, prev_priority=1))
            elif len(told) == 3:
                await log.delete(S)
            elif event.name == "removed":
                break
    assert [event.name for event in told] == ["session", "caught_up", "session", "removed"]
    assert told[0].json["state"] == "AGENT_SESSION_STATE_WORKING"
    assert told[2].json["lastError"]["message"] == "boom"
    assert told[3].json == {"sessionId": S}


async def test_a_frame_that_arrives_late_is_told_without_an_id() -> None:
    log = MemoryLog()
    await log.open(S, E1)
    await log.append(batch(1, trace=[1], through=1))
    told: list[Event] = []
    async with opened(quick_app(log), EVENTS) as answer:
        async for event in answer.events():
            told.append(event)
            if event.name == "caught_up" and len(told) < 4:
                await log.open(S, E2)
                await log.append(batch(1, trace=[1], through=1, epoch=E2))
            if event.name == "message" and event.json["epoch"] == E2:
                await log.append(batch(2, priority={2: failed("late")}, through=2))
            if event.name == "message" and event.json.get("late"):
                break
    assert json.loads(told[-1].data)["event"]["sessionError"]["message"] == "late"
    cause = told[-2].json
    assert (cause["epoch"], cause["seq"], bool(cause["guidance"])) == (E1, "2", True)
    assert told[-1].last_id == str(Cursor(E2, 1))
