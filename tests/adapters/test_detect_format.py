"""The format of a stream is known from a line."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compass_agent.adapters import FORMATS, detect
from recordings import COMMANDS

DATA = Path(__file__).parent.parent / "data"
RECORDINGS = sorted(path for path in DATA.glob("*/*.jsonl*") if path.suffix != ".json")


@pytest.mark.parametrize("path", RECORDINGS, ids=[f"{p.parent.name}/{p.name}" for p in RECORDINGS])
def test_every_line_of_a_recording_is_known(path: Path) -> None:
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    *lines, rest = data.split(b"\n")
    lines += [rest] if rest.endswith(b"}") else []
    for line in lines:
        if len(line) < 100_000:
            assert detect(line) == "pi", line[:200]


@pytest.mark.parametrize(
    "line",
    [
        "",
        "words",
        "[]",
        "1",
        "{}",
        '{"type":1}',
        '{"type":"system","subtype":"init"}',
        '{"type":"assistant","message":{"role":"assistant"}}',
        '{"type":"result","is_error":false}',
        '{"type":"thread.started"}',
        '{"type":"item.completed","item":"x"}',
        '{"type":"result","status":"success"}',
        '{"type":"message","role":"user","content":"x"}',
        '{"type":"error","message":"x"}',
        '{"type":"error","error":{"type":"overloaded_error","message":"x"}}',
        '{"type":"message_start","message":{"type":"message","role":"assistant"}}',
        '{"type":"response","id":"resp_1"}',
        "[" * 100_000,
    ],
)
def test_other_lines_are_not_claimed(line: str) -> None:
    assert detect(line[:200_000]) is None
    assert detect(line.encode()) is None


def test_objects_and_bytes_are_taken_too() -> None:
    event = {"type": "agent_start"}
    assert detect(event) == detect(json.dumps(event).encode()) == "pi"


@given(st.text() | st.binary() | st.none() | st.integers() | st.dictionaries(st.text(), st.text()))
def test_nothing_raises(line: object) -> None:
    assert detect(line) in (*FORMATS, None)


COMMANDS_LINES = sorted(COMMANDS.glob("*/*.jsonl"))


@pytest.mark.parametrize("path", COMMANDS_LINES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_every_line_of_a_command_is_known_as_its_own(path: Path) -> None:
    for line in path.read_bytes().splitlines():
        # Codex's errors hold nothing that is its own.
        if not (path.parent.name == "codex" and line.startswith(b'{"type":"error"')):
            assert detect(line) == path.parent.name, line[:200]
