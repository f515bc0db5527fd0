"""The text of a tail: readable, complete, and no text of others can pass for a line of ours."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from compass.v1.compass_pb2 import SessionFileDiff
from compass_agent.frames import (
    AgentPlanEntryStatus,
    AgentSessionState,
    FrameBuilder,
    SessionErrorKind,
    SessionInjectionKind,
)
from compass_agent.view.style import Style
from compass_agent.view.text import TextRenderer, Thinking
from compass_agent.wire import (
    CaughtUp,
    End,
    FrameItem,
    Gap,
    GapReason,
    Reset,
    ResetReason,
    StateSignal,
)

if TYPE_CHECKING:
    pass
from rendering import (
    ABORTED,
    AT_MS,
    CLOCK,
    COMPLETED,
    EPOCH,
    ERROR,
    ERRORED,
    FAILED,
    RUNNING,
    STOPPED,
    WORKING,
    build,
    placed,
    rendered,
)


def test_pieces_of_one_message_flow_on_and_a_new_message_has_a_new_header() -> None:
    text = rendered(
        *placed(
            build.assistant_text("Good d", "1"),
            build.assistant_text("ay\nthere\n", "1"),
            build.assistant_text("Bye", "2"),
        )
    )
    assert text == f"{CLOCK} ¶ text     Good day\n         │ there\n{CLOCK} ¶ text     Bye\n"


def test_a_piece_is_printed_before_its_message_ends() -> None:
    renderer = TextRenderer(Style(), width=80)
    assert renderer.render(placed(build.assistant_text("I will", "1"))).endswith("I will")
    assert renderer.render(placed(build.assistant_text(" read it", "1"))) == " read it"
    assert renderer.finish() == "\n"


def test_another_kind_closes_the_line_and_the_message_goes_on_under_its_own_header() -> None:
    text = rendered(
        *placed(
            build.assistant_text("one", "1"), build.notice("note"), build.assistant_text("two", "1")
        )
    )
    assert text.splitlines() == [
        f"{CLOCK} ¶ text     one",
        f"{CLOCK} i notice   note",
        f"{CLOCK} ¶ text     two",
    ]


def test_output_of_a_running_tool_does_not_cut_the_message() -> None:
    text = rendered(
        *placed(
            build.tool_call("t", "x"),
            build.assistant_text("one ", "1"),
            build.tool_call_update("t", RUNNING, "part"),
            build.assistant_text("two", "1"),
        )
    )
    assert "one two" in text
    assert "part" not in text.split("FAILED")[0]


def test_a_failed_turn_shows_title_status_message_retry_and_what_to_do() -> None:
    text = rendered(
        *placed(
            build.lifecycle(WORKING),
            build.assistant_text("half", "1"),
            build.session_error(
                ERROR,
                "429 slow down\nplease",
                status=429,
                retry_after_ms=42_000,
                code="rate_limit_error",
                request_id="req_1",
            ),
            build.lifecycle(ERRORED),
        )
    )
    lines = text.splitlines()
    card = lines.index(f"{CLOCK} ✖ ERROR    Rate limited (HTTP 429 Too Many Requests)")
    assert lines[card + 1 : card + 3] == [
        "         ┃ message  429 slow down",
        "         ┃          please",
    ]
    assert lines[card + 3] == "         ┃ retry    yes; the provider asked to wait 42 s"
    assert lines[card + 4].startswith("         ┃ to do    ")
    assert "         ┃ code     rate_limit_error" in lines
    assert "         ┃ request  req_1" in lines
    assert f"         ┃ place    {EPOCH}-3" in lines
    assert "         │ the answer above is not complete" in lines
    assert lines[-1] == f"{CLOCK} ✖ state    ERRORED"


@pytest.mark.parametrize("message", ["", "\n \n"])
def test_an_error_without_a_message_says_so(message: str) -> None:
    text = rendered(*placed(build.session_error(ERROR, message)))
    assert "┃ message  (the agent reported no message)" in text
    assert "HTTP" not in text
    assert "✖ ERROR    " in text


@pytest.mark.requirement("G-TURN-4")
def test_a_status_of_zero_is_shown_and_an_absent_one_is_not() -> None:
    assert "(HTTP 0)" in rendered(*placed(build.session_error(ERROR, "x", status=0)))
    assert "(HTTP" not in rendered(*placed(build.session_error(ERROR, "x")))
    assert "(HTTP 529)" in rendered(*placed(build.session_error(ERROR, "x", status=529)))


def test_an_abort_is_grey_and_no_crash() -> None:
    text = rendered(
        *placed(build.session_error(ABORTED, "Request was aborted", stopped_by="user (steer)")),
        style=Style(color=True),
    )
    plain = re.sub("\x1b\\[[0-9]*m", "", text)
    assert f"{CLOCK} ■ ABORTED  Turn aborted" in plain
    assert "┃ meaning  stopped on purpose, not a crash" in plain
    assert "┃ by       user (steer)" in plain
    assert "\x1b[31m" not in text
    assert "\x1b[90m" in text
    assert "retry" not in plain


def test_an_unknown_kind_of_error_is_no_success() -> None:
    text = rendered(
        *placed(build.session_error(SessionErrorKind.SESSION_ERROR_KIND_UNSPECIFIED, "odd"))
    )
    assert "✖ ENDED    Turn ended, not successful" in text


def test_errored_without_a_reason_says_that_there_was_none() -> None:
    text = rendered(*placed(build.lifecycle(WORKING), build.lifecycle(ERRORED)))
    assert "no reason was reported" in text
    told = rendered(
        *placed(build.lifecycle(WORKING), build.session_error(ERROR, "x"), build.lifecycle(ERRORED))
    )
    assert "no reason" not in told


@pytest.mark.parametrize(
    ("kind", "line"),
    [(ABORTED, "■ tool     sleep 9  interrupted"), (ERROR, "✖ tool     sleep 9  FAILED")],
)
def test_a_tool_open_at_the_end_of_its_turn_is_closed_before_the_card(
    kind: SessionErrorKind.ValueType, line: str
) -> None:
    text = rendered(
        *placed(
            build.tool_call("t", "sleep 9"),
            build.tool_call_update("t", RUNNING, "so far"),
            build.session_error(kind, "x"),
            build.tool_call_update("t", COMPLETED, "late"),
        )
    )
    assert line in text
    assert text.index(line) < text.index("┃ message")
    assert "so far" in text
    assert "late" not in text


def test_long_output_shows_head_and_tail_and_its_own_colours_are_gone() -> None:
    output = "\n".join(f"\x1b[31mline {n}\x1b[0m" for n in range(30))
    text = rendered(
        *placed(build.tool_call("t", "make"), build.tool_call_update("t", FAILED, output))
    )
    assert "FAILED in 0 ms, 30 lines" in text
    assert "│ … 20 more lines\n" in text
    assert "│ line 4\n" in text
    assert "│ line 25\n" in text
    assert "line 10" not in text


def test_cut_output_and_very_long_lines_say_so() -> None:
    text = rendered(
        *placed(
            build.tool_call("t", "x"),
            build.tool_call_update("t", COMPLETED, "y" * 700, full_output_chars=9000),
        )
    )
    assert "output cut from 9000 characters" in text
    assert "(200 more characters)" in text


def test_a_diff_shows_its_counts_and_its_lines() -> None:
    diffs = [
        SessionFileDiff(path="a.py", old_text="x\n", new_text="y\n"),
        SessionFileDiff(path="b.py", new_text="z\n"),
    ]
    text = rendered(
        *placed(build.tool_call("t", "edit"), build.tool_call_update("t", COMPLETED, "", diffs))
    )
    assert "│ a.py  +1 -1\n         │ @@ -1,1 +1,1 @@\n         │ -x\n         │ +y\n" in text
    assert "│ b.py  created  +1 -0\n" in text


def test_plan_injection_prompt_state_and_end_have_their_lines() -> None:
    text = rendered(
        *placed(
            build.prompt("do it", "1"),
            build.plan(
                [
                    ("one", AgentPlanEntryStatus.AGENT_PLAN_ENTRY_STATUS_COMPLETED),
                    ("two", AgentPlanEntryStatus.AGENT_PLAN_ENTRY_STATUS_UNSPECIFIED),
                ]
            ),
            build.plan([]),
            build.session_injection(
                SessionInjectionKind.SESSION_INJECTION_KIND_STEER, "2", "alice"
            ),
        ),
        StateSignal(EPOCH, AgentSessionState.AGENT_SESSION_STATE_DISCONNECTED),
        Reset("f" * 16, ResetReason.NEW_EPOCH),
        End(EPOCH, 9, STOPPED, "closed"),
    )
    for line in (
        "» prompt   do it\n",
        "☰ plan     1 of 2 done\n         │ ✓ one\n         │ ? two\n",
        "☰ plan     cleared\n",
        "→ injected steer from alice\n",
        "┄ state    DISCONNECTED  ",
        "· session  the session was opened again",
        "□ end      STOPPED  closed\n",
    ):
        assert line in text


@pytest.mark.parametrize(
    ("reason", "why"),
    [
        (GapReason.DROPPED, "log was away"),
        (GapReason.RETENTION, "no longer keeps"),
        (GapReason.WRITER_GONE, "went away"),
        (GapReason.LOG_LOSS, "fault"),
    ],
)
def test_missing_frames_are_told_at_their_place(reason: GapReason, why: str) -> None:
    text = rendered(
        *placed(build.assistant_text("a", "1")),
        Gap(EPOCH, 2, 318, reason),
        FrameItem(EPOCH, 319, build.assistant_text("b", "1").SerializeToString()),
    )
    first, gap, second = text.splitlines()
    assert first.endswith("a")
    assert "! missing  317 frames are missing here" in gap
    assert why in gap
    assert second.endswith("b")


def test_what_is_not_known_is_shown_as_unknown() -> None:
    newer = b"\x12\x06\x0a\x017\xfa\x3e\x00"
    frame = build.tool_call_update("t", COMPLETED)
    frame.typed_event.tool_call_update.status = 99  # pyright: ignore[reportAttributeAccessIssue] - from a newer writer
    text = rendered(FrameItem(EPOCH, 1, newer), *placed(frame))
    assert "? unknown  an event that this version does not know (8 bytes)" in text
    assert "? tool     t  status not known (99)" in text


def test_a_late_frame_is_marked() -> None:
    late = FrameItem(EPOCH, 1, build.session_error(ERROR, "x").SerializeToString(), late=True)
    errored = FrameItem(EPOCH, 2, build.lifecycle(ERRORED).SerializeToString(), late=True)
    text = rendered(*placed(build.tool_call("t", "sleep 9")), late, errored)
    assert text.count("arrived late") == 2
    assert text.count("sleep 9") == 1  # the tool that runs now is left alone


def test_reasoning_is_shortened_unless_asked_for() -> None:
    frames = placed(*(build.thinking("word\n" * 20, "1") for _ in range(4)))
    short = rendered(*frames)
    assert short.count("\n") == 1
    assert short.endswith("…\n")
    assert short.count("word") == 32
    assert rendered(*frames, full=True).count("word") == 80
    none = TextRenderer(Style(), thinking=Thinking.NONE)
    assert none.render(frames) + none.finish() == ""


def test_times_of_states_come_from_events_then_from_the_clock() -> None:
    renderer = TextRenderer(Style(), clock=lambda: AT_MS + 3_600_000)
    replayed = renderer.render([*placed(build.lifecycle(WORKING), build.notice("n"))])
    assert replayed.startswith(CLOCK)
    live = renderer.render([CaughtUp(EPOCH), *placed(build.lifecycle(ERRORED))])
    assert not live.startswith(CLOCK)
    assert rendered(*placed(build.lifecycle(WORKING))).startswith("--:--:-- ▶ state")


@pytest.mark.parametrize("at_ms", [2**62, -(2**62)])
def test_a_time_that_no_calendar_holds_is_left_out(at_ms: int) -> None:
    assert rendered(*placed(FrameBuilder(lambda: at_ms).notice("n"))).startswith("--:--:--")
