"""What to make of a failure stands beside its frame, in pages and in streams."""

from __future__ import annotations

from typing import TYPE_CHECKING

from asgi import ask, opened
from compass_agent.log.memory import MemoryLog
from compass_agent.services.http import http_app
from writing_logs import E1, S, aborted, batch, failed, state

if TYPE_CHECKING:
    from asgi import Event

SEQS = {2: failed("Too many requests"), 3: state(5), 4: aborted("stop")}


async def with_failures() -> MemoryLog:
    log = MemoryLog()
    await log.open(S, E1)
    await log.append(batch(1, priority=SEQS, trace=[1], through=4))
    return log


async def test_a_page_of_frames_says_what_to_make_of_its_failures() -> None:
    answer = await ask(http_app(await with_failures()), f"/v1/sessions/{S}/frames")
    causes = answer.json["causes"]
    assert [*causes] == [f"{E1}-2", f"{E1}-4"]
    assert causes[f"{E1}-2"]["title"] == "Rate limited"
    assert causes[f"{E1}-2"]["retryable"] is True
    assert causes[f"{E1}-2"]["guidance"]
    assert causes[f"{E1}-4"]["title"] == "Turn aborted"
    row = (await ask(http_app(await with_failures()), "/v1/sessions")).json["sessions"][0]
    assert row["lastError"] == causes[f"{E1}-4"]


async def test_a_page_without_failures_has_no_causes() -> None:
    path = f"/v1/sessions/{S}/frames?before={E1}-2"
    assert (await ask(http_app(await with_failures()), path)).json["causes"] == {}


async def test_in_a_stream_it_comes_before_the_frame_and_moves_no_place() -> None:
    told: list[Event] = []
    async with opened(http_app(await with_failures()), f"/v1/sessions/{S}/events") as answer:
        async for event in answer.events():
            told.append(event)
            if event.name == "caught_up":
                break
    assert [(event.name, event.last_id) for event in told[:6]] == [
        ("message", f"{E1}-1"),
        ("cause", f"{E1}-1"),
        ("message", f"{E1}-2"),
        ("message", f"{E1}-3"),
        ("cause", f"{E1}-3"),
        ("message", f"{E1}-4"),
    ]
    cause = told[1].json
    assert (cause["sessionId"], cause["epoch"], cause["seq"]) == (S, E1, "2")
    assert (cause["title"], cause["message"]) == ("Rate limited", "Too many requests")
