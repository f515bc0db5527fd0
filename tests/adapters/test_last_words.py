"""What a command that no format knows says last, as JSON, is why it failed."""

from __future__ import annotations

import json

import pytest

from compass_agent.adapters import adapter_for
from compass_agent.mapping import EventMapper
from reading_frames import described

pytestmark = pytest.mark.requirement("G-AGENT-1")
EXITED = "notice The agent exited with code 1"
SECRET = f"sk-ant-{'x1' * 16}"


def told(
    *lines: object,
    exit_code: int | None = 1,
    form: str = "auto",
    stopped_by: str = "",
    stderr: str = "",
) -> list[str]:
    """Return what is told of the end, after the notices of the lines themselves."""
    adapter, mapper = adapter_for(form), EventMapper(now=lambda: 0)
    for line in lines:
        text = line if isinstance(line, str) else json.dumps(line)
        adapter.feed(f"{text}\n".encode())
    events = adapter.end(exit_code, stderr, stopped_by=stopped_by)
    return described([frame for event in events for frame in mapper.map(event)])


@pytest.mark.parametrize("form", ["auto", "text", "claude-code"])
@pytest.mark.parametrize(
    ("line", "failure"),
    [
        ({"type": "error", "error": {"message": "model not found"}}, "- model not found"),
        ({"error": "bad key"}, "- bad key"),
        ({"level": "ERROR", "msg": "kaput"}, "- kaput"),
        ({"success": False, "message": "no luck"}, "- no luck"),
        ({"event": "error", "data": {"message": "deep"}}, "- deep"),
        ({"error": {"message": "Slow down", "status": 429}}, "429 Slow down"),
        ({"error": f"bad key {SECRET}"}, "- bad key [redacted]"),
    ],
)
def test_the_last_object_says_why_a_command_failed(
    line: dict[str, object], failure: str, form: str
) -> None:
    assert told(line, "and then words", form=form) == [EXITED, f"ERROR {failure}", "state ERRORED"]


@pytest.mark.parametrize(
    "lines",
    [
        [{"error": "bad key"}, {"type": "retry"}],
        [{"error": None, "message": "fine"}],
        [{"type": "error"}],
        [{"test": "adds", "status": "failed"}],
        ["{not json", "words"],
        [],
    ],
)
def test_what_is_no_failure_leaves_the_exit_code_alone(lines: list[object]) -> None:
    assert told(*lines) == ["ERROR - The agent exited with code 1", "state ERRORED"]


def test_a_failure_that_a_command_got_over_is_none() -> None:
    (notice, state) = told({"error": "bad key"}, exit_code=0)
    assert (notice, state) == ("notice The agent exited with code 0", "state STOPPED")


def test_neither_a_signal_nor_a_stop_is_explained_by_it() -> None:
    killed = "ERROR - The agent was killed by SIGKILL, possibly out of memory"
    assert told({"error": "bad key"}, exit_code=-9)[0] == killed
    stopped = told({"error": "bad key"}, stopped_by="user")
    assert stopped == ["ABORTED - Stopped by user", "state STOPPED"]


LAID_OUT = [
    json.dumps({"error": {"message": "Slow down", "status": 429}, "at": [{}]}, indent=2),
    '{"error":\n  {"message": "Slow down", "status": 429}}',
]


@pytest.mark.parametrize("form", ["auto", "text"])
@pytest.mark.parametrize("laid_out", LAID_OUT)
def test_an_object_that_is_laid_out_on_lines_is_one(laid_out: str, form: str) -> None:
    failed = ["ERROR 429 Slow down", "state ERRORED"]
    assert told("begins", laid_out, "and then words", form=form) == [EXITED, *failed]
    # Lines that only look like the beginning of one do not hide it.
    assert told("{no", laid_out, form=form) == [EXITED, *failed]
    assert told({"error": "first"}, laid_out, form=form) == [EXITED, *failed]
    assert told(laid_out, {"type": "retry"}, form=form)[-2:] == [
        "ERROR - The agent exited with code 1",
        "state ERRORED",
    ]


@pytest.mark.parametrize("form", ["auto", "claude-code"])
@pytest.mark.parametrize("said", [*LAID_OUT, '{"error": {"message": "Slow down", "status": 429}}'])
def test_an_object_at_the_end_of_standard_error_says_why(said: str, form: str) -> None:
    lines = told("words", stderr=f"starting {{\n{said}\n", form=form)
    assert lines[-2:] == ["ERROR 429 Slow down", "state ERRORED"]
    assert lines[0].startswith(EXITED)
    after = told("words", stderr=f"{said}\nTraceback: boom", form=form)
    assert after[0].startswith("ERROR - The agent exited with code 1: {")
    both = told({"error": "bad key"}, stderr=said, form=form)
    assert both[-2:] == ["ERROR - bad key", "state ERRORED"]
