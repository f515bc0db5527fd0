"""What the options of `compass tail` choose: from where, until when, what of it, in which form."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from compass_agent.cli import main
from compass_agent.frames import (
    AgentPlanEntryStatus,
    FrameBuilder,
    SessionFileDiff,
)
from frame_words import ABORTED, COMPLETED, ERROR, ERRORED, FAILED, READY, STOPPED, WORKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from compass_agent.frames import SessionFrame

    Record = Callable[[str, Sequence[SessionFrame], int | None], str]
    Capture = pytest.CaptureFixture[str]


_now_ms = iter(range(1_700_000_000_000, 1_800_000_000_000, 60_250))
build = FrameBuilder(lambda: next(_now_ms))
OUTPUT = "\n".join(f"row {number}" for number in range(30))
DIFF = SessionFileDiff(path="app.py", old_text="old\n", new_text="new\n")
FRAMES = [
    build.lifecycle(WORKING),
    build.prompt("do the task", "p"),
    build.thinking("hm " * 100, "1"),
    build.assistant_text("the first ", "1"),
    build.assistant_text("answer", "1"),
    build.tool_call("t1", "bash: make"),
    build.tool_call_update("t1", FAILED, OUTPUT),
    build.tool_call("t2", "edit app.py"),
    build.tool_call_update("t2", COMPLETED, "", [DIFF]),
    build.plan([("step", AgentPlanEntryStatus.AGENT_PLAN_ENTRY_STATUS_PENDING)]),
    build.notice("a notice"),
    build.session_error(ERROR, "overloaded", status=529),
    build.lifecycle(ERRORED),
    build.lifecycle(WORKING),
    build.assistant_text("the second answer", "2"),
    build.session_error(ABORTED, "stop", stopped_by="user"),
    build.lifecycle(READY),
]
HEAD = re.compile(r"^[0-9:]{8} . (\w+) ", re.MULTILINE)


@pytest.fixture
def heads(record: Record, capsys: Capture) -> Callable[..., list[str]]:
    """Returns `heads(*options)`: the words of the entries that the tail of FRAMES shows."""
    record("s1", FRAMES, STOPPED)

    def tail(*options: str) -> list[str]:
        main(["tail", "s1", *options])
        return HEAD.findall(capsys.readouterr().out)

    return tail


ALL = [
    *("state", "prompt", "thinking", "text", "tool", "tool", "tool", "tool", "plan", "notice"),
    *("ERROR", "state", "state", "text", "ABORTED", "state", "end"),
]


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        ([], ALL),
        (["-n", "all"], ALL),
        (["-n", "0"], ["end"]),
        (["-n", "2"], ALL[-2:]),
        (["--tail", "4"], ALL[-4:]),
        (["-n", "1000"], ALL),
        (["--kind", "error"], ["ERROR", "ABORTED", "end"]),
        (["--kind", "text,plan"], ["text", "plan", "text", "end"]),
        (["--kind", "assistant_text"], ["text", "text", "end"]),
        (["--kind", "tool"], ["tool"] * 4 + ["end"]),
        (["--not-kind", "tool,state,thinking,text"], [*ALL[1:2], *ALL[8:11], "ABORTED", "end"]),
        (["--problems"], ["tool", "ERROR", "state", "ABORTED", "end"]),
        (["--problems", "--not-kind", "tool"], ["ERROR", "state", "ABORTED", "end"]),
        (["--grep", "first answer"], ["text", "end"]),
        (["--grep", "row 17"], ["tool", "end"]),
        (["--grep", "app"], ["tool", "tool", "end"]),
        (["--grep", "(?i)OVERLOADED|HTTP 529"], ["ERROR", "end"]),
        (["--thinking", "none"], [word for word in ALL if word != "thinking"]),
        (["--kind", "text", "-n", "2"], ["text", "end"]),
        (["--since", "2023-11-14T22:23:00+00:00"], ALL[-7:]),
        (["--since", "1m"], ["end"]),
        (["--since", "2001-01-01", "-n", "3"], ALL[-3:]),
    ],
    ids=lambda value: " ".join(value) if value and value[0].startswith("-") else None,
)
def test_options_choose_what_is_shown(
    options: list[str], shown: list[str], heads: Callable[..., list[str]]
) -> None:
    assert heads(*options) == shown


def test_what_is_not_shown_still_explains_what_is(record: Record, capsys: Capture) -> None:
    record("s1", FRAMES[:7], STOPPED)
    main(["tail", "s1", "-n", "1", "--kind", "tool"])
    assert "bash: make  FAILED" in capsys.readouterr().out
    record("s2", FRAMES[:5], ERRORED)
    assert main(["tail", "s2", "-n", "1"]) == 3


def test_text_that_is_followed_begins_with_the_last_fifty(record: Record, capsys: Capture) -> None:
    record("s1", [build.notice(f"notice {number}") for number in range(3_000)], STOPPED)
    main(["tail", "s1"])
    out, err = capsys.readouterr()
    assert out.count("notice   ") == 49
    assert "what is older than the last 50 entries is not shown" in err
    for options in (["-n", "all"], ["--no-follow"], ["--json"]):
        main(["tail", "s1", *options])
        out, err = capsys.readouterr()
        assert len(out.splitlines()) == 3_001
        assert err == ""
    main(["tail", "s1", "-n", "2500"])
    assert capsys.readouterr().out.count("notice   ") == 2_499


def test_json_is_chosen_by_frame(record: Record, capsys: Capture) -> None:
    record("s1", FRAMES, STOPPED)
    main(["tail", "s1", "-o", "json", "--problems"])
    seqs = [int(json.loads(line)["seq"]) for line in capsys.readouterr().out.splitlines()]
    assert seqs == [7, 12, 13, 16, 17]
    main(["tail", "s1", "--json", "--grep", "second", "-n", "all"])
    assert len(capsys.readouterr().out.splitlines()) == 2


def test_markdown_is_chosen_too(record: Record, capsys: Capture) -> None:
    record("s1", FRAMES, STOPPED)
    main(["tail", "s1", "-o", "md", "--kind", "plan,notice"])
    headings = [line for line in capsys.readouterr().out.splitlines() if line.startswith("## ")]
    assert headings == ["## Plan", "## Notice", "## End: STOPPED"]
    main(["tail", "s1", "-o", "md", "-n", "2"])
    out = capsys.readouterr().out
    assert [line for line in out.splitlines() if line.startswith("#")] == [
        "# Session `s1`",
        "## State READY",
        "## End: STOPPED",
    ]


def test_how_much_of_long_entries_is_shown(record: Record, capsys: Capture) -> None:
    record("s1", FRAMES, STOPPED)

    def shown(*options: str) -> str:
        main(["tail", "s1", *options])
        return capsys.readouterr().out

    assert shown().count("row ") == 10
    assert "… 20 more lines" in shown()
    assert shown("--output-lines", "3").count("row ") == 3
    assert shown("--output-lines", "0").count("row ") == 0
    assert shown("-v").count("row ") == 30
    assert shown("-v", "--output-lines", "2").count("row ") == 2
    assert "hm…" not in shown("-v")
    assert "… " in shown("-v", "--thinking", "short")
    assert "│ +new" in shown()
    assert "app.py  +1 -1" in shown("--diff", "stat")
    assert "│ +new" not in shown("--diff", "stat")
    assert "+1 -1" not in shown("--diff", "none")


@pytest.mark.parametrize(
    ("form", "time"),
    [
        ("clock", "22:14:20 » prompt"),
        ("iso", r"2023-11-14T22:14:20\.250Z » prompt"),
        ("rel", r"\+0:00:00\.0 » prompt"),
        ("delta", r"\+0:01:00\.2 … thinking"),
        ("none", "» prompt"),
    ],
)
def test_times_come_in_five_forms(form: str, time: str, record: Record, capsys: Capture) -> None:
    frames = [FrameBuilder(lambda: 1_700_000_060_250).prompt("x", "p")]
    frames.append(FrameBuilder(lambda: 1_700_000_120_500).thinking("a\nb", "1"))
    record("s1", frames, STOPPED)
    main(["tail", "s1", "--utc", "--time", form, "--thinking", "full"])
    out = capsys.readouterr().out
    assert re.search(f"^ *{time}", out, re.MULTILINE)
    bar = next(line for line in out.splitlines() if "│" in line)
    head = next(line for line in out.splitlines() if "thinking" in line)
    assert bar.index("│") == head.index("…")


@pytest.mark.requirement("G-TERM-3")
@pytest.mark.parametrize(
    ("frames", "fail_on", "status"),
    [
        (FRAMES, None, 0),
        (FRAMES, "abort", 7),
        (FRAMES, "tool", 3),
        (FRAMES, "error", 75),
        (FRAMES, "gap", 0),
        (FRAMES, "abort,tool,error,gap", 75),
        (FRAMES[:11], "abort,error", 0),
        (FRAMES[:13], "abort,gap", 75),
    ],
)
def test_what_counts_as_a_failure_is_the_users_to_say(
    frames: list[SessionFrame], fail_on: str | None, status: int, record: Record
) -> None:
    record("s1", frames, ERRORED if frames == FRAMES[:13] else STOPPED)
    assert main(["tail", "s1", *(["--fail-on", fail_on] if fail_on else [])]) == status


@pytest.mark.parametrize(
    "options",
    [
        ["-n", "-1"],
        ["-n", "few"],
        ["--since", "yesterday"],
        ["--since", "99999999999999999999d"],
        ["--timeout", "soon"],
        ["--kind", "nonsense"],
        ["--kind", ""],
        ["--grep", "("],
        ["--fail-on", "everything"],
        ["--follow", "--no-follow"],
        ["--until", "tomorrow"],
        ["--until", "idle", "--no-follow"],
        ["--time", "stardate"],
        ["--output-lines", "-3"],
    ],
    ids=" ".join,
)
def test_options_that_cannot_be_are_bad_usage(options: list[str], capsys: Capture) -> None:
    assert main(["tail", "s1", *options]) == 2
    assert capsys.readouterr().err


def test_with_o_json_errors_are_objects_too(log_url: str, capsys: Capture) -> None:
    for form in (["-o", "json"], ["--output=json"], ["-ojson"]):
        assert main(["tail", "nobody", "--log", log_url, "--no-follow", *form]) == 4
        assert json.loads(capsys.readouterr().err)["code"] == "not_found"


def test_a_place_to_begin_at_is_the_only_one(capsys: Capture) -> None:
    for more in (["-n", "3"], ["--since", "1m"]):
        assert main(["tail", "s1", "--after", f"{'0' * 16}-4", *more]) == 2
        assert "leave -n and --since out" in capsys.readouterr().err


@pytest.mark.requirement("G-TERM-3")
def test_a_choice_shows_soon_what_fits_and_says_what_it_did_not_look_at(
    record: Record, capsys: Capture
) -> None:
    failed = [build.session_error(ERROR, "long ago", status=500), build.lifecycle(ERRORED)]
    pieces = [build.assistant_text("x ", "1") for _ in range(5_000)]
    record("long", [*failed, build.lifecycle(WORKING), *pieces], READY)
    assert main(["tail", "long", "--problems"]) == 0
    out, err = capsys.readouterr()
    assert HEAD.findall(out) == ["end"]
    assert "long is WORKING; of its last 4256 frames none fits." in err
    assert "were not looked through: -n 50 looks further" in err
    main(["tail", "long", "--problems", "-n", "50"])
    assert HEAD.findall(capsys.readouterr().out) == ["ERROR", "state", "end"]
