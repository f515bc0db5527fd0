"""200,000 damaged lines of real recordings: a list each time, never an exception."""

from __future__ import annotations

import json
import os
import random
from typing import Any

import pytest

from compass_agent.adapters.pi import Adapter
from compass_agent.errors.shapes import is_list, is_object
from compass_agent.frames import SessionFrame
from compass_agent.mapping import EventMapper, UnmappedEvent
from recordings import recordings

COUNT = int(os.environ.get("COMPASS_TEST_MUTATIONS", "200000"))
ODD: list[Any] = [
    None,
    True,
    -1,
    0,
    2**70,
    1e308,
    float("nan"),
    "",
    "\ud800",
    [],
    {},
    [[]],
    {"": 1},
]
LONGEST_LINE = 20_000


def damaged_value(value: Any, rng: random.Random) -> Any:
    """A copy with one place changed: replaced, removed, or doubled."""
    if rng.random() < 0.15 or not value:
        return rng.choice(ODD)
    if is_object(value):
        copy = dict(value)
        key = rng.choice([*copy])
        if rng.random() < 0.2:
            del copy[key]
        else:
            copy[key] = damaged_value(copy[key], rng)
        return copy
    if not is_list(value):
        return rng.choice(ODD)
    items = list(value)
    index = rng.randrange(len(items))
    items[index] = damaged_value(items[index], rng)
    return items if rng.random() < 0.9 else items * 2


def damaged_line(line: bytes, rng: random.Random) -> bytes:
    """A copy with some bytes changed, cut or inserted."""
    data = bytearray(line.rstrip(b"\n"))
    for _ in range(rng.randint(1, 3)):
        place = rng.randrange(len(data) + 1)
        data[place : place + rng.randint(0, 3)] = rng.randbytes(rng.randint(0, 2))
    return bytes(data).replace(b"\n", b" ") + b"\n"


@pytest.mark.slow
def test_no_damaged_line_raises() -> None:
    rng = random.Random(20_261_130)  # noqa: S311 - the same damage each time
    lines = [
        line for recorded in recordings() for line in recorded.lines() if len(line) < LONGEST_LINE
    ]
    adapter, mapper = Adapter(), EventMapper(now=lambda: 0)
    for number in range(COUNT):
        line = rng.choice(lines)
        if number % 2:
            mapped = [
                item
                for event in adapter.feed(damaged_line(line, rng))
                for item in mapper.map(event)
            ]
        else:
            value = (
                damaged_value(json.loads(line), rng) if line.endswith(b"\n") else rng.choice(ODD)
            )
            mapped = mapper.map(value)
        for item in mapped:
            if isinstance(item, UnmappedEvent):
                assert not item.reason.startswith("could not be mapped"), line
            else:
                assert isinstance(item, SessionFrame)
