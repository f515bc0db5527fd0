"""The page folds frames as the server does: the same items, whatever it was given first."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

import pytest

from compass_agent.adapters.pi import Adapter
from compass_agent.frames import (
    AgentSessionState,
    AgentToolCallStatus,
    FrameBuilder,
    SessionErrorKind,
    as_state,
)
from compass_agent.mapping import EventMapper
from compass_agent.services.as_json import entry_to_dict
from compass_agent.services.http.causes import causes_of
from compass_agent.view.fold import fold
from compass_agent.wire import (
    End,
    FrameItem,
    Gap,
    GapReason,
    Reset,
    ResetReason,
    StateSignal,
    item_to_json,
)
from reading_frames import frames_of
from recordings import recordings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Page

    from browsing import Tabs
    from compass_agent.frames import SessionFrame
    from compass_agent.wire import Item
    from pane_sites import Site

E1, E2 = "1" * 16, "2" * 16
LARGEST = 200_000
# As text in and out: the driver takes its time over every value of an object.
FOLD = """async (cases) => {
  const { Model } = await import("/static/model.js");
  return JSON.stringify(JSON.parse(cases).map(([frames, causes, cut]) => {
    const model = new Model();
    model.learn(causes);
    model.take(frames.slice(cut));
    if (cut) model.prepend(frames.slice(0, cut), null);
    return model.items;
  }));
}"""


def recorded() -> Iterator[list[SessionFrame]]:
    for one in recordings():
        adapter, mapper = Adapter(), EventMapper(now=lambda: 1_796_035_957_890)
        yield [
            frame
            for line in one.lines()
            for event in adapter.feed(line)
            for frame in frames_of(mapper.map(event))
        ]


def made_up(rng: random.Random) -> list[Item]:
    """A session of two runs with everything in it, in an order that no agent would take."""
    items: list[Item] = []
    for epoch in (E1, E2):
        if epoch == E2:
            items.append(Reset(E2, ResetReason.NEW_EPOCH))
        seq = 0
        build = FrameBuilder(lambda: 1_796_035_957_890)
        for _ in range(rng.randrange(5, 60)):
            seq += 1
            if rng.random() < 0.08:
                last = seq + rng.randrange(3)
                items.append(Gap(epoch, seq, last, GapReason.DROPPED))
                seq = last
                continue
            signalled = bool(items) and isinstance(items[-1], StateSignal)
            if rng.random() < 0.04 and not signalled:
                items.append(StateSignal(epoch, AgentSessionState.AGENT_SESSION_STATE_DISCONNECTED))
                seq -= 1
                continue
            frame = any_frame(rng, build)
            items.append(FrameItem(epoch, seq, frame.SerializeToString()))
        if rng.random() < 0.7:
            items.append(End(epoch, seq, AgentSessionState.AGENT_SESSION_STATE_STOPPED))
    return items


def any_frame(rng: random.Random, build: FrameBuilder) -> SessionFrame:
    call, message = f"t{rng.randrange(3)}", f"m{rng.randrange(2)}"
    kind = SessionErrorKind.SESSION_ERROR_KIND_ABORTED
    error = SessionErrorKind.SESSION_ERROR_KIND_ERROR
    status = AgentToolCallStatus.ValueType(rng.choice([0, 1, 2, 3, 4, 16, 99]))
    return rng.choice(
        [
            lambda: build.assistant_text(f"words {rng.random()} ", message),
            lambda: build.assistant_text("more ", message),
            lambda: build.thinking("hm ", message),
            lambda: build.tool_call(call, f"run {call}"),
            lambda: build.tool_call_update(call, status, rng.choice(["", "out"])),
            lambda: build.session_error(kind, "stopped", stopped_by="user"),
            lambda: build.session_error(error, "boom", status=429, retry_after_ms=5),
            lambda: build.lifecycle(as_state(rng.randrange(1, 7))),
            lambda: build.prompt("do it", "p"),
            lambda: build.notice("note", "https://a.example"),
            lambda: build.plan([]),
        ]
    )()


def shown(item: dict[str, Any]) -> dict[str, Any]:
    """An item of the page in the server's form."""
    kind = item["kind"]
    out: dict[str, Any] = {"kind": kind, "epoch": item["epoch"], "seq": str(item["seq"])}
    out["lastSeq"] = str(item["lastSeq"])
    if item.get("at") is not None:
        out["atUnixMs"] = str(item["at"])
    if item.get("late"):
        out["late"] = True
    if kind in {"assistantText", "thinking"}:
        return out | {kind: {name: item[name] for name in ("text", "messageId", "status")}}
    if kind == "toolCall":
        names = ("toolCallId", "title", "output", "diffs", "fullOutputChars")
        content = {name: item[name] for name in names if item.get(name) is not None}
        if item.get("ended") is not None:
            content["endedUnixMs"] = str(item["ended"])
        return out | {kind: content | {"status": item["status"]}}
    return out | {kind: item[kind]}


def expected(item: dict[str, Any]) -> dict[str, Any]:
    """An item of the server, without what the frames alone do not say in the same way."""
    content = item[item["kind"]]
    match item["kind"]:
        case "toolCall":
            status = content["status"]
            content["status"] = str(status or "UNSPECIFIED").removeprefix("AGENT_TOOL_CALL_STATUS_")
        case "gap":
            content["count"] = int(content["count"])
        case "unknown":
            content.clear()
        case _:
            pass
    return item


def same(kind: str, one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether both hold the same, where what is empty may be left out."""
    empty: tuple[Any, ...] = (None, "", [], {}, "0", 0, "SESSION_INJECTION_KIND_UNSPECIFIED")
    names = {*one, *other} - ({"lastSeq", "prevPriority"} if kind == "end" else set())
    found = [
        name
        for name in names
        if one.get(name) != other.get(name)
        and not (one.get(name) in empty and other.get(name) in empty)
    ]
    return not found


def folded(page: Page, sessions: list[tuple[list[Item], int]]) -> list[list[dict[str, Any]]]:
    """The page's items of each session, given in two parts: what is behind a place first."""
    return evaluated(page, [[as_json(one), causes_of(one), cut] for one, cut in sessions])


def evaluated(page: Page, cases: list[list[Any]]) -> list[list[dict[str, Any]]]:
    return json.loads(page.evaluate(FOLD, json.dumps(cases)))


def as_json(items: list[Item]) -> list[dict[str, Any]]:
    return [json.loads(item_to_json("s", item)) for item in items]


def assert_alike(items: list[Item], got: list[dict[str, Any]]) -> None:
    mine = [shown(item) for item in got]
    theirs = [expected(entry_to_dict(entry)) for entry in fold(items)]
    assert [(one["kind"], one["seq"]) for one in mine] == [
        (one["kind"], one["seq"]) for one in theirs
    ]
    for one, other in zip(mine, theirs, strict=True):
        kind = one["kind"]
        assert same(kind, one[kind], other[kind]), (one, other)
        apart = {name: value for name, value in one.items() if name != kind}
        assert apart == {name: value for name, value in other.items() if name != kind}


@pytest.fixture
def page(tabs: Tabs, site: Site) -> Page:
    return tabs.open(site.page())


def test_every_recorded_run_folds_as_on_the_server(page: Page) -> None:
    sessions: list[tuple[list[Item], int]] = []
    for frames in recorded():
        data = [frame.SerializeToString() for frame in frames]
        if data and sum(map(len, data)) < LARGEST:
            items: list[Item] = [FrameItem(E1, seq, one) for seq, one in enumerate(data, 1)]
            sessions.append((items, len(items) // 2))
    assert len(sessions) > 40
    for (items, _), got in zip(sessions, folded(page, sessions), strict=True):
        assert_alike(items, got)


def test_any_order_of_frames_folds_as_on_the_server_wherever_it_is_cut(page: Page) -> None:
    rng = random.Random(6)  # noqa: S311 - the same session each time
    sessions = [(made_up(rng), rng.randrange(10)) for _ in range(100)]
    for (items, _), got in zip(sessions, folded(page, sessions), strict=True):
        assert_alike(items, got)


def test_what_comes_again_is_let_through_once(page: Page) -> None:
    rng = random.Random(7)  # noqa: S311 - likewise
    cases: list[list[Any]] = []
    for _ in range(50):
        frames = as_json([item for item in made_up(rng) if not isinstance(item, StateSignal)])
        again: list[dict[str, Any]] = []
        for number in range(0, len(frames), 5):
            again += frames[max(0, number - rng.randrange(9)) : number + 5]
        cases += [[again, {}, 0], [frames, {}, 0]]
    got = evaluated(page, cases)
    assert got[::2] == got[1::2]
