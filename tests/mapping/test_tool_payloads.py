"""Tool payloads of any shape, and tool calls that repeat, reopen or never begin."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from compass_agent.frames import SessionFrame
from compass_agent.mapping import EventMapper
from inner_events import tool_end, tool_start, tool_update
from reading_frames import described, frames_of, updates_of


class Unprintable:
    def __repr__(self) -> str:
        raise RuntimeError

    __str__ = __repr__


class HostileError(Exception):
    def __str__(self) -> str:
        raise RuntimeError


def cyclic() -> list[Any]:
    cycle: list[Any] = []
    cycle.append(cycle)
    return cycle


def update(result: Any) -> Any:
    (frame,) = frames_of(EventMapper(now=lambda: 0).map(tool_update(result)))
    return frame.typed_event.tool_call_update


@pytest.mark.parametrize(
    ("result", "text"),
    [
        (" plain\n", "plain"),
        (ValueError("bad value"), "bad value"),
        (ValueError(), "ValueError"),
        (HostileError(), "HostileError"),
        ({"text": "t", "message": "m"}, "t"),
        ({"errorMessage": "e", "message": "m"}, "e"),
        ({"text": 5, "message": "m"}, "m"),
        ([{"type": "text", "text": "a"}, {"type": "image"}, {"type": "text", "text": "b"}], "a\nb"),
        ({"content": [{"type": "text", "text": " a "}]}, "a"),
        ({"content": []}, ""),
        ({"content": "str"}, "str"),
        ({"a": [1, None, True]}, '{"a":[1,null,true]}'),
        ([1, 2], "[1,2]"),
        ([{"a": 1}], '[{"a":1}]'),
        (None, ""),
        (5, "5"),
        (False, "false"),
        ({"x": b"1"}, '{"x":{"$unserializable":"bytes"}}'),
        ({"x": {1, 2}}, '{"x":{"$unserializable":"set"}}'),
        ({"x": dt.date(2026, 1, 1)}, '{"x":{"$unserializable":"date"}}'),
        ({"x": Unprintable()}, '{"x":{"$unserializable":"Unprintable"}}'),
        ({"x": float("nan")}, '{"$unserializable":"dict"}'),
        ({"x": 10**5000}, '{"$unserializable":"dict"}'),
        (cyclic(), '{"$unserializable":"list"}'),
        ({(1, 2): 3}, '{"$unserializable":"dict"}'),
    ],
    ids=map(str, range(25)),
)
def test_output_is_read_from_any_shape(result: Any, text: str) -> None:
    assert update(result).output == text


def test_output_of_4000_characters_is_kept_and_one_more_is_cut() -> None:
    kept = update("x" * 4_000)
    cut = update("x" * 4_001)

    assert len(kept.output) == 4_000
    assert not kept.HasField("full_output_chars")
    assert cut.output == "x" * 3_999 + "…"
    assert cut.full_output_chars == 4_001


def test_lone_surrogates_are_made_valid() -> None:
    assert update("a\ud83d\ude00b\ud83d").output == "a😀b\ufffd"


def test_diffs_are_read_from_details_or_its_files() -> None:
    one = update({"details": {"path": "a.py", "oldText": "1", "newText": "2"}})
    many = update(
        {
            "details": {
                "path": "ignored",
                "newText": "x",
                "perFileResults": [
                    {"path": "new.py", "newText": "n"},
                    {"path": "gone.py", "oldText": "o"},
                    {"path": "bad.py", "newText": "x", "isError": True},
                    {"path": "", "newText": "x"},
                    {"path": "none.py"},
                    "nonsense",
                ],
            }
        }
    )

    assert [(d.path, d.old_text, d.new_text) for d in one.diffs] == [("a.py", "1", "2")]
    assert [(d.path, d.HasField("old_text")) for d in many.diffs] == [
        ("new.py", False),
        ("gone.py", True),
    ]


@pytest.mark.parametrize("details", [None, 5, [], "x", {"perFileResults": []}, {"path": 5}])
def test_details_of_another_shape_give_no_diff(details: Any) -> None:
    assert len(update({"details": details}).diffs) == 0


@pytest.mark.parametrize(
    ("details", "plan"),
    [
        (None, None),
        ({"phases": "x"}, None),
        ({"phases": []}, "plan "),
        ({"phases": [5, {"tasks": [5, {"status": "completed"}]}]}, "plan "),
        ({"phases": [{"tasks": [{"content": "a"}]}]}, "plan PENDING a"),
    ],
)
def test_a_plan_of_another_shape_is_no_plan(details: Any, plan: str | None) -> None:
    lines = described(EventMapper(now=lambda: 0).map(tool_end({"details": details}, name="todo")))

    assert lines[1:] == ([] if plan is None else [plan])


def run(*events: Any) -> list[SessionFrame]:
    mapper = EventMapper(now=lambda: 0)
    return [frame for event in events for frame in frames_of(mapper.map(event))]


def test_a_tool_that_has_ended_never_reopens() -> None:
    frames = run(tool_start(), tool_end("a"), tool_update("late"), tool_end("again"))

    assert updates_of(frames) == ["t1 COMPLETED"]


def test_an_id_that_is_used_again_is_a_new_call() -> None:
    frames = run(tool_start(), tool_end("a"), tool_start(), tool_update("b"), tool_end("b"))

    assert updates_of(frames) == ["t1 COMPLETED", "t1 IN_PROGRESS", "t1 COMPLETED"]


def test_two_open_calls_with_one_id_both_end() -> None:
    frames = run(tool_start(), tool_start(), tool_end("a"), tool_end("b"), tool_end("c"))

    assert updates_of(frames) == ["t1 COMPLETED", "t1 COMPLETED"]


def test_a_call_that_was_never_started_still_ends() -> None:
    assert updates_of(run(tool_end("a", failed=True))) == ["t1 FAILED"]


@pytest.mark.parametrize("call", [None, 5, "", ["x"]])
def test_ids_of_another_type_are_taken(call: Any) -> None:
    frames = run(tool_start(call=call), tool_end("a", call=call))

    assert len(frames) == 2
