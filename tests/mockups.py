"""Sessions that show what people are to see, and how `compass tail` prints them in each form.

    PYTHONPATH=src:gen:tests python tests/mockups.py    writes docs/terminal/ anew

The captures there are for the eye; `tests/cli/test_mockups.py` holds the command to them.
"""

from __future__ import annotations

__all__ = ("CAPTURES", "EXITS", "FORMS", "capture", "record_mockups")

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import anyio

from compass_agent.frames import (
    FrameBuilder,
    SessionFileDiff,
)
from compass_agent.log import open_log
from compass_agent.wire import Batch, EndMark, SessionMeta
from frame_words import (
    ABORTED,
    COMPLETED,
    ERROR,
    ERRORED,
    FAILED,
    FIXED,
    LIMIT,
    READY,
    STEER,
    STOPPED,
    TEST,
    WORKING,
)
from terminals import COMMAND, PATIENCE_S, environment, on_terminal

if TYPE_CHECKING:
    from compass_agent.frames import SessionFrame

CAPTURES = Path(__file__).resolve().parents[1] / "docs" / "terminal"


_START_MS = 1_796_035_957_890  # 2026-11-30 10:52:37.890 UTC
_NO_FRAME = 317


class _Clock:
    """Steps as the builder stamps."""

    def __init__(self) -> None:
        self.now_ms = _START_MS

    def __call__(self) -> int:
        self.now_ms += 700
        return self.now_ms


def _runs() -> tuple[dict[str, list[SessionFrame | int]], dict[str, int]]:
    """Return each session's frames (a number: as many are missing), and the states they end in."""
    build = FrameBuilder(_Clock())
    read = "\n".join(f"{number:>3}  line {number} of the test" for number in range(1, 41))
    diff = SessionFileDiff(path="tests/test_retry.py", old_text=TEST, new_text=FIXED)
    trace = (
        "tests/test_retry.py:6: in test_retry\n    assert c.get() == 3\nE   AssertionError: 2 != 3"
    )
    frames: dict[str, list[SessionFrame | int]] = {
        "s-run": [
            build.lifecycle(WORKING),
            build.prompt("Fix the flaky retry test and keep the public API", "p1"),
            build.thinking(
                "The test sleeps for a fixed time, so a slow machine makes it fail. ", "1"
            ),
            build.assistant_text("I'll read the test first, then replace the sleep with the ", "1"),
            build.assistant_text("**fake clock** of the other tests.\nThat keeps the API.", "1"),
            build.tool_call("t1", "read tests/test_retry.py"),
            build.tool_call_update("t1", COMPLETED, read),
            build.tool_call("t2", "edit tests/test_retry.py"),
            build.tool_call_update("t2", COMPLETED, diffs=[diff]),
            build.session_injection(STEER, "m1", "user"),
            build.tool_call("t3", "bash: pytest -q tests/test_retry.py"),
            build.lifecycle(STOPPED),
        ],
        "s-429": [
            build.lifecycle(WORKING),
            build.tool_call("t1", "bash: pytest -q tests/test_retry.py"),
            build.tool_call_update("t1", FAILED, trace),
            build.assistant_text("One more try with", "2"),
            build.session_error(
                ERROR,
                LIMIT,
                status=429,
                retry_after_ms=42_000,
                code="rate_limit_error",
                request_id="req_011CUx",
            ),
            build.lifecycle(ERRORED),
        ],
        "s-empty": [
            build.lifecycle(WORKING),
            build.tool_call("t1", "bash: pytest -q tests/test_retry.py"),
            build.session_error(ERROR, ""),
            build.lifecycle(ERRORED),
        ],
        "s-abort": [
            build.lifecycle(WORKING),
            build.tool_call("t1", "bash: git commit --all"),
            build.session_injection(STEER, "m2", "user"),
            build.session_error(ABORTED, "Request was aborted", stopped_by="user (steer)"),
            build.lifecycle(READY),
            build.lifecycle(STOPPED),
        ],
        "s-drop": [
            build.lifecycle(WORKING),
            build.assistant_text("Long output follows: ", "3"),
            _NO_FRAME,
            build.assistant_text("and that was all of it.", "3"),
            build.lifecycle(READY),
            build.lifecycle(STOPPED),
        ],
    }
    return frames, {"s-429": ERRORED, "s-empty": ERRORED}


EXITS = {"s-run": 0, "s-429": 75, "s-empty": 3, "s-abort": 0, "s-drop": 0}
"""The sessions, and the exit status of their tail."""


async def _record(url: str) -> None:
    log = open_log(url)
    runs, ends = _runs()
    for number, (session, parts) in enumerate(runs.items()):
        epoch = f"{number:016x}"
        await log.open(session, epoch, SessionMeta(f"title of {session}", "pi", "1.0"))
        batch, seq, last = Batch(session, epoch, 1), 0, 0
        for part in parts:
            if isinstance(part, int):
                seq += part
                continue
            seq += 1
            event = part.typed_event.WhichOneof("event")
            priority = part.state or event in {"session_error", "session_injection"}
            lane = batch.priority if priority else batch.trace
            lane.append((seq, part.SerializeToString()))
            last = seq if priority else last
        await log.append(
            Batch(session, epoch, 1, batch.priority, batch.trace, through=seq, prev_priority=0)
        )
        end = EndMark(ends.get(session, STOPPED), "", seq, last)
        answer = await log.append(
            Batch(session, epoch, 2, through=seq, prev_priority=last, end=end)
        )
        assert answer.code is None
    await log.aclose()


def record_mockups(url: str) -> None:
    """Record the sessions in an empty log."""
    anyio.run(_record, url)


class Form(NamedTuple):
    """How the command is run; `columns` is None in a pipe."""

    columns: int | None
    arguments: tuple[str, ...] = ()
    variables: tuple[tuple[str, str], ...] = ()


FORMS = {
    "80-columns": Form(80, variables=(("NO_COLOR", "1"),)),
    "200-columns": Form(200, variables=(("NO_COLOR", "1"),)),
    "colour": Form(80),
    "ascii": Form(80, ("--ascii", "--color", "never")),
    "pipe": Form(None),
}


def capture(form: Form, url: str) -> str:
    """Return what every session's tail prints in this form, with commands and exit statuses.

    Escape characters of colours stand as `␛`, so that a capture can be read anywhere.
    """
    out = ""
    for session in EXITS:
        arguments = ["tail", session, "--log", url, "--no-follow", "--no-pager", *form.arguments]
        if form.columns is None:
            done = subprocess.run(
                [*COMMAND, *arguments],
                capture_output=True,
                timeout=PATIENCE_S,
                check=False,
                env=environment(),
            )
            text, status = done.stdout.decode(), done.returncode
        else:
            variables = dict(form.variables)
            text, status = on_terminal(*arguments, columns=form.columns, **variables)
        options = "".join(f" {word}" for word in form.arguments)
        piped = " | cat" if form.columns is None else ""
        out += f"$ compass tail {session}{options}{piped}\n{text}(exit status {status})\n\n"
    return out.replace("\x1b", "␛").rstrip("\n") + "\n"


def main() -> int:
    """Write the captures."""
    CAPTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:{folder}/log.db"
        record_mockups(url)
        for name, form in FORMS.items():
            (CAPTURES / f"{name}.txt").write_text(capture(form, url), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
