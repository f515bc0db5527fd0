"""A session as Markdown and as JSON Lines: whole, in order, and nothing in it acts."""

from __future__ import annotations

import re

import pytest
from google.protobuf.json_format import Parse

from compass.v1.compass_pb2 import AgentSessionFrame, SessionFileDiff
from compass_agent.frames import AgentPlanEntryStatus, SessionInjectionKind
from compass_agent.view.jsonl import jsonl
from compass_agent.view.markdown import MarkdownRenderer, fenced
from compass_agent.wire import (
    End,
    Gap,
    GapReason,
    Item,
    Reset,
    ResetReason,
    StateSignal,
    item_to_subscriber_frame,
)
from rendering import (
    ABORTED,
    COMPLETED,
    EPOCH,
    ERROR,
    ERRORED,
    STOPPED,
    WORKING,
    build,
    placed,
)


def markdown(*items: Item, title: str = "") -> str:
    renderer = MarkdownRenderer("s1", title)
    return renderer.render(items) + renderer.finish()


def everything() -> list[Item]:
    diff = SessionFileDiff(path="a.py", old_text="old\n", new_text="new\n")
    steer = SessionInjectionKind.SESSION_INJECTION_KIND_STEER
    done = AgentPlanEntryStatus.AGENT_PLAN_ENTRY_STATUS_COMPLETED
    frames = placed(
        build.prompt("Do it", "p1"),
        build.lifecycle(WORKING),
        build.thinking("Hm", "1"),
        build.assistant_text("Good ", "1"),
        build.assistant_text("day", "1"),
        build.tool_call("t1", "bash: ls"),
        build.tool_call_update("t1", COMPLETED, output="a\nb", diffs=[diff]),
        build.plan([("Look", done)]),
        build.notice("Careful", link="https://example.com"),
        build.session_injection(steer, "m2", from_handle="user"),
        build.session_error(
            ERROR, "Slow down", status=429, retry_after_ms=20_000, request_id="req_1"
        ),
        build.lifecycle(ERRORED),
        build.session_error(ABORTED, "Stop", stopped_by="user"),
    )
    return [
        *frames,
        Gap(EPOCH, 14, 16, GapReason.DROPPED),
        End(EPOCH, 16, STOPPED, "done"),
        Reset("f" * 16, ResetReason.NEW_EPOCH),
        StateSignal("f" * 16, 6),
    ]


def test_every_entry_has_its_heading_in_reading_order() -> None:
    text = markdown(*everything(), title="Fix it")
    assert re.findall(r"^#+ (.+)$", text, re.MULTILINE) == [
        "Session `s1`",
        "Prompt",
        "State WORKING",
        "Thinking",
        "Answer",
        "Tool: completed",
        "Plan",
        "Notice",
        "Injected: steer",
        "Rate limited (HTTP 429 Too Many Requests)",
        "State ERRORED",
        "Turn aborted",
        "3 frames are missing here",
        "End: STOPPED",
        "The session goes on",
        "State DISCONNECTED",
    ]
    for part in (
        "`Fix it`",
        "```text\nGood day\n```",
        "```text\na\nb\n```",
        "`a.py`: +1 -1",
        "[x] Look",
        "- Retry: yes; the provider asked to wait 20 s",
        "- Request: `req_1`",
        "- Stopped by: `user`",
        "2023-11-14 22:13:20 UTC",
    ):
        assert part in text


def test_what_may_still_change_waits_until_it_is_settled() -> None:
    renderer = MarkdownRenderer("s1")
    first, second, third = placed(
        build.assistant_text("Good ", "1"),
        build.assistant_text("day", "1"),
        build.tool_call("t1", "bash"),
    )
    assert "##" not in renderer.render([first])
    assert "##" not in renderer.render([second])
    settled = renderer.render([third])
    assert "Good day" in settled
    assert "Tool" not in settled
    assert "## Tool: running" in renderer.finish()


HOSTILE = [
    "```\n# forged\n```",
    "````\n<script>alert(1)</script>",
    "![x](https://evil.example/beacon.png)",
    "\x1b]0;title\x07\u202e",
    "\r## forged",
    "\n\n## forged\n",
]


@pytest.mark.parametrize("words", HOSTILE)
def test_text_of_others_cannot_leave_its_fence(words: str) -> None:
    text = markdown(*placed(build.assistant_text(words, "1"), build.notice(words)), title=words)
    outside: list[str] = []
    fence = ""
    for line in text.split("\n"):
        run = re.match(r"`{3,}", line)
        if not fence and run:
            fence = run[0]
        elif fence and line == fence:
            fence = ""
        elif not fence:
            outside.append(re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", line))
    assert fence == ""
    assert "forged" not in "".join(outside)
    assert "evil" not in "".join(outside)
    assert "script" not in "".join(outside)
    assert not re.search(r"[\x00-\x09\x0b-\x1f\u202e]", text)


def test_a_fence_is_longer_than_any_within_it() -> None:
    assert fenced("a ````` b").startswith("``````text\n")
    assert fenced("") == "```text\n\n```\n"


def test_json_lines_read_back_as_they_were() -> None:
    items = everything()
    lines = jsonl("s1", items).split("\n")
    assert lines.pop() == ""
    assert [Parse(line, AgentSessionFrame()) for line in lines] == [
        item_to_subscriber_frame("s1", item) for item in items
    ]


@pytest.mark.parametrize("words", ["\u2028", "\u0085", "\x00", "\r\n", "\x0b\x0c\x1c"])
def test_no_character_breaks_a_json_line(words: str) -> None:
    text = jsonl("s1", placed(build.assistant_text(words, "1")))
    assert len(text.splitlines()) == 1
    assert Parse(text, AgentSessionFrame()).event.assistant_text.text == words
