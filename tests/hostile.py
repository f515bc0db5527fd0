r"""Strings that mean harm to whoever reads them on a terminal, and frames that hold one everywhere.

Written with escapes alone: a reader of this file must see what it lists.
"""

from __future__ import annotations

__all__ = ("HOSTILE", "frames_with")

from typing import TYPE_CHECKING

from compass_agent.frames import (
    AgentPlanEntryStatus,
    AgentSessionState,
    AgentToolCallStatus,
    FrameBuilder,
    SessionErrorKind,
    SessionFileDiff,
    SessionInjectionKind,
)

if TYPE_CHECKING:
    from compass_agent.frames import SessionFrame

_ESC_SEQUENCES = (
    "\x1b[2J",  # clear the screen
    "\x1b[3J\x1b[H",  # and what was scrolled away
    "\x1b[1A\x1b[2K",  # wipe the line above
    "\x1b[999D\x1b[999B",
    "\x1b[31mred\x1b[0m",
    "\x1b[8mhidden\x1b[28m",
    "\x1b[?25l",  # hide the cursor
    "\x1b[?1049h",  # the other screen
    "\x1b[?1000h\x1b[?1006h",  # report the mouse
    "\x1b[?2004h",
    "\x1b[6n",  # answers as if it were typed
    "\x1b[c",
    "\x1b[21t",  # types the title
    "\x1b[20h",
    "\x1b[4i",  # print
    "\x1b[!p",
    "\x1b[38:2::255:0:0m",
    "\x1b]0;title\x07",
    "\x1b]2;title\x1b\\",
    "\x1b]8;;http://evil.example\x1b\\link\x1b]8;;\x1b\\",
    "\x1b]52;c;ZXZpbA==\x07",  # fills the clipboard
    "\x1b]4;1;?\x07",
    "\x1b]10;?\x1b\\",
    "\x1b]50;?\x07",
    "\x1b]9;notify\x07",
    "\x1b]777;notify;a;b\x07",
    "\x1b]1337;File=inline=1:AAAA\x07",
    "\x1b]133;A\x07",
    "\x1bPq#0;2;0;0;0\x1b\\",  # sixels
    '\x1bP$q"p\x1b\\',
    "\x1bP+q544e\x1b\\",
    "\x1b_Ga=T;AAAA\x1b\\",  # kitty's images
    "\x1b^private\x1b\\",
    "\x1bXstart of string\x1b\\",
    "\x1bc",  # full reset
    "\x1b7\x1b8",
    "\x1b(0lqqk\x1b(B",  # line drawing
    "\x1b#8",
    "\x1b",
    "\x1b[",
    "\x1b]",
    "\x1b]0;never closed",
    "\x1b\x1b\x1b[2J",
)
_CONTROLS = (
    "\x9b2J",
    "\x9d0;title\x9c",
    "\x90q\x9c",
    "\x9ep\x9c\x9fa\x9c",
    "\x84\x85\x8d\x8e\x8f",
    "10%\r20%",
    "real\rfake",
    "line\r\nline",
    "a\x08\x08\x08b",
    "bell\x07bell",
    "\x00nul",
    "vt\x0bff\x0c",
    "so\x0esi\x0f",
    "enq\x05xon\x11xoff\x13",
    "del\x7f",
    "sub\x1a",
    "fs\x1cgs\x1drs\x1eus\x1f",
)
_INVISIBLE = (
    "user\u202etxt.exe",
    "\u202dleft\u202c",
    "\u2066isolated\u2069",
    "\u061c\u200e\u200f",
    "in\u200bvis\u200cib\u200dle\ufeff",
    "\u2028line\u2029paragraph",
    "soft\u00adhyphen",
    "\u2060\u2061\u2062\u2063\u2064",
    "tags\U000e0041\U000e0042\U000e007f",
    "selectors\ufe00\U000e0100",
    "\u3164\u115f\u1160\uffa0",
    "\ufff9a\ufffab\ufffb",
    "\u180e\u034f",
    "\U0001d173\U0001d17a",
)
_FORGED = (
    "\n10:50:19 \u2716 ERROR    forged",
    "fine\n10:50:19 \u25a1 end      STOPPED\n",
    "\n\n\n         \u2503 message  forged",
    "\n         \u2502 forged",
    "$ compass tail s\n(exit status 0)",
    "\ncompass: the session was removed",
    "word " * 60 + "\n" + "x" * 300,
    " " * 200 + "10:50:19 far away",
    "\t\t\t\t\t\t\t\t\t\ttabs",
    "\u65e5\u672c" * 60,
    "e" + "\u0301" * 200,
    "``` \n# heading\n<script>alert(1)</script>\n```",
)
HOSTILE = (*_ESC_SEQUENCES, *_CONTROLS, *_INVISIBLE, *_FORGED)


def frames_with(text: str) -> list[SessionFrame]:
    """Return frames of every kind, each with `text` wherever an agent can put words."""
    build = FrameBuilder(lambda: 1_700_000_000_000)
    failed = AgentToolCallStatus.AGENT_TOOL_CALL_STATUS_FAILED
    diff = SessionFileDiff(path=text, old_text="a\n" + text, new_text=text + "\nb")
    return [
        build.lifecycle(AgentSessionState.AGENT_SESSION_STATE_WORKING),
        build.prompt(text, "p"),
        build.thinking(text, text),
        build.assistant_text(text, text),
        build.assistant_text(text[: len(text) // 2], "2"),
        build.assistant_text(text[len(text) // 2 :], "2"),
        build.plan([(text, AgentPlanEntryStatus.AGENT_PLAN_ENTRY_STATUS_PENDING)]),
        build.notice(text, text),
        build.session_injection(SessionInjectionKind.SESSION_INJECTION_KIND_STEER, text, text),
        build.tool_call(text, text),
        build.tool_call_update(text, failed, text, [diff]),
        build.tool_call_update(text + "2", failed, text),
        build.session_error(SessionErrorKind.SESSION_ERROR_KIND_ABORTED, text, stopped_by=text),
        build.session_error(
            SessionErrorKind.SESSION_ERROR_KIND_ERROR, text, code=text, request_id=text
        ),
        build.lifecycle(AgentSessionState.AGENT_SESSION_STATE_ERRORED),
    ]
