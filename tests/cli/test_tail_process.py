"""`compass tail` as a process: on a terminal, into a pipe, interrupted, with its reader gone."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
from typing import IO, TYPE_CHECKING

import pytest

from compass_agent.frames import (
    AgentSessionState,
    FrameBuilder,
    SessionErrorKind,
    SessionFrame,
)
from compass_agent.view.widths import cell_width

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Record = Callable[[str, Sequence[SessionFrame], int | None], str]

WORKING = AgentSessionState.AGENT_SESSION_STATE_WORKING
ERRORED = AgentSessionState.AGENT_SESSION_STATE_ERRORED
STOPPED = AgentSessionState.AGENT_SESSION_STATE_STOPPED
COMMAND = [sys.executable, "-c", "import sys; from compass_agent.cli import main; sys.exit(main())"]
PATIENCE_S = 20

build = FrameBuilder(lambda: 1_700_000_000_000)

EVIL = "10:50:19 ✖ ERROR    forged\r\x1b[2J\x1b]0;owned\x07\u202e " + "word " * 40
FRAMES = [
    build.lifecycle(WORKING),
    build.assistant_text(EVIL, "1"),
    build.assistant_text("\n" + EVIL, "1"),
    build.session_error(SessionErrorKind.SESSION_ERROR_KIND_ERROR, "slow " * 40, status=429),
    build.lifecycle(ERRORED),
]


def _environment(**more: str) -> dict[str, str]:
    # Without PYTHONUNBUFFERED, as users have it: what is not flushed must show.
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    return {**inherited, "TERM": "xterm-256color", "PYTHONUTF8": "1", **more}


def _read_all(descriptor: int) -> bytes:
    """Read a terminal to its end, which Linux tells as an error."""
    data = b""
    while select.select([descriptor], [], [], PATIENCE_S)[0]:
        try:
            piece = os.read(descriptor, 65536)
        except OSError:
            break
        if not piece:
            break
        data += piece
    return data


def _until(stream: IO[bytes], wanted: str) -> str:
    """Read until `wanted` has come; past the stream's own buffer, so that nothing waits in it."""
    out = b""
    while wanted.encode() not in out:
        assert select.select([stream], [], [], PATIENCE_S)[0], "nothing came in time"
        piece = os.read(stream.fileno(), 65536)
        assert piece, "the stream ended"
        out += piece
    return out.decode()


def _on_terminal(*arguments: str, **environment: str) -> tuple[str, int]:
    main, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    with subprocess.Popen(
        [*COMMAND, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=terminal,
        stderr=subprocess.DEVNULL,
        env=_environment(**environment),
    ) as process:
        os.close(terminal)
        out = _read_all(main)
        status = process.wait(PATIENCE_S)
    os.close(main)
    return out.decode().replace("\r\n", "\n"), status


def test_on_a_terminal_lines_are_coloured_and_no_text_leaves_its_place(record: Record) -> None:
    record("s1", FRAMES, ERRORED)
    out, status = _on_terminal("tail", "s1")
    assert status == 75
    assert "\x1b[31m" in out
    plain = re.sub("\x1b\\[[0-9]*m", "", out)
    assert not set(plain) & set("\x1b\r\x07\u202e")
    lines = plain.splitlines()
    assert max(map(cell_width, lines)) <= 79
    # The forged line is there twice, each time behind a header or a bar.
    assert plain.count("forged") == 2
    starts = [line for line in lines if re.match(r"[0-9]{2}:", line)]
    assert [line.split()[2] for line in starts] == ["state", "text", "ERROR", "state", "end"]
    assert all(re.match(r" {9}[│┃](?: |$)", line) for line in lines if line not in starts)


def test_no_color_and_a_dumb_terminal_mean_no_colour(record: Record) -> None:
    record("s1", FRAMES, ERRORED)
    assert "\x1b" not in _on_terminal("tail", "s1", NO_COLOR="1")[0]
    assert "\x1b" not in _on_terminal("tail", "s1", TERM="dumb")[0]


@pytest.mark.usefixtures("log_url")
def test_into_a_pipe_lines_come_at_once_and_the_tail_may_start_first(record: Record) -> None:
    with subprocess.Popen(
        [*COMMAND, "tail", "s1", "--wait", "20"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=_environment(),
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        _until(process.stderr, "waiting up to 20 s for it\n")
        record("s1", [build.lifecycle(WORKING), build.notice("hello")], None)
        _until(process.stdout, "i notice   hello\n")
        record("s1", [build.notice("again")], STOPPED)
        out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0
    assert "again" in out.decode()
    assert "the session was opened again" in out.decode()
    assert err == b""


@pytest.mark.parametrize("extra", [[], ["--json"]])
def test_ctrl_c_exits_130_without_a_traceback(record: Record, extra: list[str]) -> None:
    record("s1", [build.assistant_text("half a line", "1")], None)
    with subprocess.Popen(
        [*COMMAND, "tail", "s1", *extra],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=_environment(),
    ) as process:
        assert process.stdout is not None
        out = _until(process.stdout, "half a line")
        process.send_signal(signal.SIGINT)
        rest, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130
    assert err == b""
    assert (out + rest.decode()).endswith("\n")


@pytest.mark.parametrize("extra", [[], ["--json"]])
@pytest.mark.usefixtures("log_url")
def test_a_reader_that_is_gone_ends_the_tail_quietly(record: Record, extra: list[str]) -> None:
    with subprocess.Popen(
        [*COMMAND, "tail", "s1", "--wait", "20", *extra],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=_environment(),
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        _until(process.stderr, "waiting up to 20 s for it" + ('"}\n' if extra else "\n"))
        process.stdout.close()
        record("s1", FRAMES, None)
        assert process.wait(PATIENCE_S) == 141
        assert process.stderr.read() == b""


def test_a_stdout_that_is_not_utf8_gets_ascii_symbols_and_escapes(record: Record) -> None:
    record("s1", [build.assistant_text("schön 日", "1"), *FRAMES[3:]], ERRORED)
    done = subprocess.run(
        [*COMMAND, "tail", "s1"],
        capture_output=True,
        env=_environment(PYTHONIOENCODING="ascii", PYTHONUTF8="0"),
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 75
    assert done.stderr == b""
    assert b"T text     sch\\xf6n \\u65e5" in done.stdout


def test_help_is_quick_to_import() -> None:
    dear = (
        "anyio google compass_agent.view compass_agent.log compass_agent.errors compass_agent.wire"
    )
    program = (
        "import sys; from compass_agent.cli import main; main(['--help'])\n"
        f"sys.exit(str([name for name in '{dear}'.split() if name in sys.modules] or '') or None)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, timeout=PATIENCE_S, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")
